// The replay window of a keypair (paper, section 5.4.6; RFC 6479): which of the last 8,192 counters
// were seen. RFC 6479 clears whole words and needs a spare one; here single bits are cleared, so
// the window is as long as the bitmap. The bitmap is made at the 33rd counter: a device that only
// sends keepalives never gets there, and bitmaps for ten thousand such devices would take 10 MB.

import { REPLAY_WINDOW_COUNTERS } from '../constants.ts';

const MASK = REPLAY_WINDOW_COUNTERS - 1;
/** Counters in one word of the bitmap. */
const WORD = 32;

/** Seen counters of one keypair. Counters are integers below 2^53. */
export class ReplayWindow {
  /** Which of the counters 0 to 31 were seen, while there is no bitmap. */
  #first = 0;
  #bitmap: Uint32Array | null = null;
  /** The greatest counter seen, -1 before the first. */
  #greatest = -1;

  /** Whether a counter was not seen and is not older than the window. Changes nothing. */
  isFresh(counter: number): boolean {
    if (counter > this.#greatest) return true;
    if (this.#greatest - counter >= REPLAY_WINDOW_COUNTERS) return false;
    return !this.#has(counter);
  }

  /**
   * Marks a counter as seen; false when it was not fresh. Call it after the packet was
   * authenticated, or anybody could move the window.
   */
  accept(counter: number): boolean {
    if (!this.isFresh(counter)) return false;
    if (counter > this.#greatest) {
      if (counter >= WORD) this.#forgetBetween(this.#greatest, counter);
      this.#greatest = counter;
    }
    const bit = counter & MASK;
    if (this.#bitmap === null) this.#first |= 1 << bit;
    else this.#bitmap[bit >>> 5]! |= 1 << (bit & 31);
    return true;
  }

  #has(counter: number): boolean {
    const bit = counter & MASK;
    if (this.#bitmap === null) return ((this.#first >>> bit) & 1) === 1;
    return ((this.#bitmap[bit >>> 5]! >>> (bit & 31)) & 1) === 1;
  }

  /** Clears the bits of the counters from `greatest` + 1 to `counter`. */
  #forgetBetween(greatest: number, counter: number): void {
    this.#bitmap ??= this.#makeBitmap();
    if (counter - greatest >= REPLAY_WINDOW_COUNTERS) {
      this.#bitmap.fill(0);
      return;
    }
    for (let skipped = greatest + 1; skipped <= counter; skipped++) {
      const bit = skipped & MASK;
      this.#bitmap[bit >>> 5]! &= ~(1 << (bit & 31));
    }
  }

  #makeBitmap(): Uint32Array {
    const bitmap = new Uint32Array(REPLAY_WINDOW_COUNTERS / WORD);
    bitmap[0] = this.#first;
    return bitmap;
  }
}
