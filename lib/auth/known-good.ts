// Which tokens and sessions this process has found good, and from where they came: a client that
// shows one is no stranger, without a question to the database. Being known opens nothing: the
// token or session of each request is still checked, and is forgotten here if it is found bad. A
// token or session that is used only where nothing checks it is looked up again after a minute.

/** Whose a token or a session is. */
export interface Somebody {
  readonly userId: string;
  readonly isAdministrator: boolean;
  /** A session waits as long as a second factor was not shown. */
  readonly by: 'token' | 'session' | 'waiting session';
}

/** What is known of a token or a session. */
interface Credential {
  /** When it was found good. */
  readonly foundMs: number;
  readonly somebody: Somebody;
}

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
  /** By the SHA-256 of tokens and of secrets of sessions, in the order of their last use. */
  readonly #credentials = new Map<string, Credential>();
  /** When a good one came from an address last, in the same order. */
  readonly #addresses = new Map<string, number>();

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /**
   * Whose a token or a session was when it was seen last; null: not known. Notes that it is used
   * now.
   */
  find(sha256: string): Somebody | null {
    const credential = this.#credentials.get(sha256);
    if (credential === undefined) return null;
    this.#keep(sha256, credential);
    return credential.somebody;
  }

  /** A token or a session is good. */
  add(sha256: string, somebody: Somebody): void {
    this.#keep(sha256, { foundMs: this.#nowMs(), somebody });
    const [oldest] = this.#credentials.keys();
    if (this.#credentials.size > CREDENTIALS_MAX && oldest !== undefined)
      this.#credentials.delete(oldest);
  }

  /**
   * Whether a known token or session must be looked up again; true once, for the caller that does
   * it.
   */
  mustLookAgain(sha256: string): boolean {
    const credential = this.#credentials.get(sha256);
    if (credential === undefined || this.#nowMs() - credential.foundMs <= FRESH_MS) return false;
    this.#credentials.set(sha256, { ...credential, foundMs: this.#nowMs() });
    return true;
  }

  /** A token or a session is good no more. */
  forget(sha256: string): void {
    this.#credentials.delete(sha256);
  }

  /** A good token or session came from an address. */
  addAddress(scope: string): void {
    this.#addresses.delete(scope);
    this.#addresses.set(scope, this.#nowMs());
    const [oldest] = this.#addresses.keys();
    if (this.#addresses.size > ADDRESSES_MAX && oldest !== undefined)
      this.#addresses.delete(oldest);
  }

  /** Whether a good token or session came from an address within the last hour. */
  hasAddress(scope: string): boolean {
    const sinceMs = this.#addresses.get(scope);
    return sinceMs !== undefined && this.#nowMs() - sinceMs <= ADDRESS_MS;
  }

  #keep(sha256: string, credential: Credential): void {
    this.#credentials.delete(sha256);
    this.#credentials.set(sha256, credential);
  }
}
