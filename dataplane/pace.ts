// Limits how often the gateway sends what it need not send, to each peer or to all: some at once,
// then one in each interval. It keeps one number per slot. `allows` asks and counts: it is an act,
// never part of a verdict.

/** One pace for each slot. A slot is a peer, a hash, or the only one. */
export class Pace {
  /**
   * By slot: the time at which everything sent so far would have been sent, one per interval.
   * Undefined until something was sent.
   */
  #spentUntil: Float64Array | undefined;
  readonly #slots: number;
  readonly #intervalMs: number;
  readonly #burstMs: number;

  constructor(slots: number, burst: number, intervalMs: number) {
    this.#slots = slots;
    this.#intervalMs = intervalMs;
    this.#burstMs = (burst - 1) * intervalMs;
  }

  /** Whether one more may be sent now; if so, it is counted. */
  allows(slot: number, now: number): boolean {
    const all = (this.#spentUntil ??= new Float64Array(this.#slots));
    const spentUntil = Math.max(all[slot]!, now);
    if (spentUntil - now > this.#burstMs) return false;
    all[slot] = spentUntil + this.#intervalMs;
    return true;
  }
}
