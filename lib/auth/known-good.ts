// Which tokens and sessions this process has found good, and from where they came: whoever shows
// one is no stranger, without a question to the database. Being known opens nothing: each request
// is judged by its token or session all the same, and one that is found bad then is known no more.
// What is used only where nothing judges it is looked up again after a minute.

/** The most tokens and sessions that are known; then those unused for longest are forgotten. */
export const CREDENTIALS_MAX = 10_000;
/** The most addresses that are known, in the same way. */
export const ADDRESSES_MAX = 10_000;
/** So long after its last good token or session an address is known. */
export const ADDRESS_MS = 3_600_000;
/** So long after it was found good, one that is used is looked up again. */
export const FRESH_MS = 60_000;

/** What one server knows. */
export class KnownGood {
  readonly #nowMs: () => number;
  /** When it was found good, by the SHA-256 of a token or of a session's secret; by last use. */
  readonly #credentials = new Map<string, number>();
  /** When a good one came from an address last, in the same order. */
  readonly #addresses = new Map<string, number>();

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Whether a token or a session was good when it was seen last; it counts as used now. */
  has(sha256: string): boolean {
    const foundMs = this.#credentials.get(sha256);
    if (foundMs === undefined) return false;
    this.#keep(sha256, foundMs);
    return true;
  }

  /** A token or a session is good. */
  add(sha256: string): void {
    this.#keep(sha256, this.#nowMs());
    const [oldest] = this.#credentials.keys();
    if (this.#credentials.size > CREDENTIALS_MAX && oldest !== undefined)
      this.#credentials.delete(oldest);
  }

  /** Whether one that is known must be looked up again; true once, for whoever does it. */
  mustLookAgain(sha256: string): boolean {
    const foundMs = this.#credentials.get(sha256);
    if (foundMs === undefined || this.#nowMs() - foundMs <= FRESH_MS) return false;
    this.#credentials.set(sha256, this.#nowMs());
    return true;
  }

  /** A token or a session is good no more. */
  forget(sha256: string): void {
    this.#credentials.delete(sha256);
  }

  /** A good one came from an address. */
  addAddress(scope: string): void {
    this.#addresses.delete(scope);
    this.#addresses.set(scope, this.#nowMs());
    const [oldest] = this.#addresses.keys();
    if (this.#addresses.size > ADDRESSES_MAX && oldest !== undefined)
      this.#addresses.delete(oldest);
  }

  /** Whether a good one came from an address within the last hour. */
  hasAddress(scope: string): boolean {
    const sinceMs = this.#addresses.get(scope);
    return sinceMs !== undefined && this.#nowMs() - sinceMs <= ADDRESS_MS;
  }
  #keep(sha256: string, foundMs: number): void {
    this.#credentials.delete(sha256);
    this.#credentials.set(sha256, foundMs);
  }
}
