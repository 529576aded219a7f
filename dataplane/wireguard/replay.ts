// The replay window of a keypair (paper, section 5.4.6; RFC 6479): which counters were seen among
// the last 8,192. It differs from RFC 6479 in clearing single bits, so that the window is as long
// as the bitmap and needs no spare word.

import { REPLAY_WINDOW_COUNTERS } from '../constants.ts';

const MASK = REPLAY_WINDOW_COUNTERS - 1;

/** Seen counters of one keypair. Counters are integers below 2^53. */
export class ReplayWindow {
  readonly #bitmap = new Uint32Array(REPLAY_WINDOW_COUNTERS / 32);
  /** The greatest counter seen, -1 before the first. */
  #greatest = -1;

  /** Whether a counter is neither seen nor older than the window. Changes nothing. */
  isFresh(counter: number): boolean {
    if (counter > this.#greatest) return true;
    if (this.#greatest - counter >= REPLAY_WINDOW_COUNTERS) return false;
    return !this.#has(counter);
  }

  /**
   * Marks a counter as seen; false when it was not fresh. Call it only once the packet has been
   * authenticated, or anybody could move the window.
   */
  accept(counter: number): boolean {
    if (!this.isFresh(counter)) return false;
    if (counter > this.#greatest) {
      this.#forgetBetween(this.#greatest, counter);
      this.#greatest = counter;
    }
    const bit = counter & MASK;
    this.#bitmap[bit >>> 5]! |= 1 << (bit & 31);
    return true;
  }

  #has(counter: number): boolean {
    const bit = counter & MASK;
    return ((this.#bitmap[bit >>> 5]! >>> (bit & 31)) & 1) === 1;
  }

  /** Clears the bits of the counters after `greatest` up to and with `counter`. */
  #forgetBetween(greatest: number, counter: number): void {
    if (counter - greatest >= REPLAY_WINDOW_COUNTERS) {
      this.#bitmap.fill(0);
      return;
    }
    for (let skipped = greatest + 1; skipped <= counter; skipped++) {
      const bit = skipped & MASK;
      this.#bitmap[bit >>> 5]! &= ~(1 << (bit & 31));
    }
  }
}
