// Whether peers came or moved since the last sample. A gateway that is killed knows after its next
// start only what was written, so such peers are reported to the main thread at once, and it takes
// the next sample early.

import { REJECT_AFTER_TIME_MS } from '../constants.ts';

/** The arrivals of one worker. */
export class Arrivals {
  #areThere = false;
  #areReported = false;

  /** Notes a handshake: the peer comes where the one before is that old. Unix time in ms. */
  handshake(beforeMs: number | null, nowMs: number): void {
    if (beforeMs === null || nowMs - beforeMs >= REJECT_AFTER_TIME_MS) this.#areThere = true;
  }

  /** Notes that a peer has another endpoint. */
  moved(): void {
    this.#areThere = true;
  }

  /** True once between two samples, where there are any. */
  takeReport(): boolean {
    if (!this.#areThere || this.#areReported) return false;
    this.#areReported = true;
    return true;
  }

  /** Notes that a sample begins, which has all of them. */
  sampled(): void {
    this.#areThere = false;
    this.#areReported = false;
  }
}
