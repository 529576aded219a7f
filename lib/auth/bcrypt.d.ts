// Types of the functions that are used of the package bcrypt, which brings none.

declare module 'bcrypt' {
  /** Hashes on a thread of libuv's pool. */
  export function hash(data: string, cost: number): Promise<string>;
  /** Compares on a thread of libuv's pool. */
  export function compare(data: string, hash: string): Promise<boolean>;
  /** The cost of a hash. */
  export function getRounds(hash: string): number;

  const bcrypt: { hash: typeof hash; compare: typeof compare; getRounds: typeof getRounds };
  export default bcrypt;
}
