// How often the gateway may say what nobody is owed, to each peer or in all: some in a row, then
// one in a while. A number per slot, no list.

/** Paces by slot: that of a peer, or the only one. */
export class Pace {
  /** By slot: when as much would have been said as may be, at the pace alone. */
  readonly #spentUntil: Float64Array;
  readonly #intervalMs: number;
  readonly #burstMs: number;

  constructor(slots: number, burst: number, intervalMs: number) {
    this.#spentUntil = new Float64Array(slots);
    this.#intervalMs = intervalMs;
    this.#burstMs = (burst - 1) * intervalMs;
  }

  /** Whether one more may be said now; if so, it is counted. */
  allows(slot: number, now: number): boolean {
    const spentUntil = Math.max(this.#spentUntil[slot]!, now);
    if (spentUntil - now > this.#burstMs) return false;
    this.#spentUntil[slot] = spentUntil + this.#intervalMs;
    return true;
  }
}
