// What is used of the package bcrypt, which brings no types.

declare module 'bcrypt' {
  /** Hashes on a thread of libuv's pool. */
  export function hash(data: string, cost: number): Promise<string>;
  /** Compares on a thread of libuv's pool. */
  export function compare(data: string, hash: string): Promise<boolean>;
  const bcrypt: { hash: typeof hash; compare: typeof compare };
  export default bcrypt;
}
