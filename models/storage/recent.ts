// Values that were asked for lately, in two generations. A value that is asked for moves into the
// younger generation; the older one is forgotten as a whole when the younger one is full or its
// time is over. So values that nobody asks for, such as the secret of a removed device, make room
// for others.

const GENERATION_MS = 120_000;

/** Values by key, each kept for one to two generations after it was last asked for. */
export class Recent<V> {
  readonly #max: number;
  readonly #now: () => number;
  #younger = new Map<string, V>();
  #older = new Map<string, V>();
  #begunAt: number;

  /** At most `max` values in a generation; `now` is a monotonic clock in ms. */
  constructor(max: number, now: () => number = () => performance.now()) {
    this.#max = max;
    this.#now = now;
    this.#begunAt = now();
  }

  get(key: string): V | undefined {
    this.#age();
    const young = this.#younger.get(key);
    if (young !== undefined) return young;
    const value = this.#older.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#age();
    this.#older.delete(key);
    this.#younger.set(key, value);
  }

  /** Begins a generation where it is time; after a long pause both are too old. */
  #age(): void {
    const now = this.#now();
    const age = now - this.#begunAt;
    if (age < GENERATION_MS && this.#younger.size < this.#max) return;
    this.#older = age < 2 * GENERATION_MS ? this.#younger : new Map<string, V>();
    this.#younger = new Map();
    this.#begunAt = now;
  }
}
