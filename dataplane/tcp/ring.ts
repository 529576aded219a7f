// A list of slots, each at most once: those with something to do, in the order in which they came.

/** The list; slots begin at 1. */
export class SlotRing {
  readonly #slots: Int32Array;
  readonly #isListed: Uint8Array;
  #first = 0;
  #count = 0;

  constructor(slots: number) {
    this.#slots = new Int32Array(slots + 1);
    this.#isListed = new Uint8Array(slots + 1);
  }

  get count(): number {
    return this.#count;
  }

  /** Adds a slot, unless it is there. */
  add(slot: number): void {
    if (this.#isListed[slot] !== 0) return;
    this.#isListed[slot] = 1;
    const end = this.#first + this.#count++;
    const room = this.#slots.length;
    this.#slots[end < room ? end : end - room] = slot;
  }

  /** Takes the first slot; 0 where there is none. */
  take(): number {
    if (this.#count === 0) return 0;
    const slot = this.#slots[this.#first]!;
    this.#first = this.#first + 1 < this.#slots.length ? this.#first + 1 : 0;
    this.#count--;
    this.#isListed[slot] = 0;
    return slot;
  }
}
