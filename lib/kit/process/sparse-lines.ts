// Holds back lines of the log that repeat: now and then a line says how many were left out.

/** Lines that say one thing again and again, of which few are written. */
export class SparseLines {
  readonly #everyMs: number;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #left = 0;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** How many lines were left out since the last one; null: this one is left out too. */
  next(nowMs: number = performance.now()): number | null {
    if (nowMs - this.#writtenAt < this.#everyMs) {
      this.#left += 1;
      return null;
    }
    const left = this.#left;
    this.#left = 0;
    this.#writtenAt = nowMs;
    return left;
  }
}
