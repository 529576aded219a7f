// Receiver indices (paper, section 5.4): 32-bit numbers that we give to handshakes and keypairs,
// and that the other side writes into its messages. They are random, so that they do not show how
// many peers there are. They are kept as signed integers, which a DataView reads without
// allocating.

import { MAX_INDICES } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';

/**
 * The indices of `H` (handshakes that wait for a response) and `K` (keypairs); no index names two
 * at once.
 */
export class IndexTable<H, K> {
  readonly #handshakes = new Map<number, H>();
  readonly #keypairs = new Map<number, K>();
  readonly #random: Random;
  readonly #bytes = new Uint8Array(4);
  readonly #view = new DataView(this.#bytes.buffer);

  constructor(random: Random) {
    this.#random = random;
  }

  /** Gives a handshake an index; null when the table is full. */
  addHandshake(handshake: H): number | null {
    const index = this.#unusedIndex();
    if (index !== null) this.#handshakes.set(index, handshake);
    return index;
  }

  /** Gives a keypair an index; null when the table is full. */
  addKeypair(keypair: K): number | null {
    const index = this.#unusedIndex();
    if (index !== null) this.#keypairs.set(index, keypair);
    return index;
  }

  /** Moves the index of a handshake to the keypair that it made. */
  promote(index: number, keypair: K): void {
    this.#handshakes.delete(index);
    this.#keypairs.set(index, keypair);
  }

  handshake(index: number): H | undefined {
    return this.#handshakes.get(index);
  }

  keypair(index: number): K | undefined {
    return this.#keypairs.get(index);
  }

  remove(index: number): void {
    this.#handshakes.delete(index);
    this.#keypairs.delete(index);
  }

  get size(): number {
    return this.#handshakes.size + this.#keypairs.size;
  }

  /**
   * Draws until an index is free. At most 2^18 of 2^32 are in use, so one draw in sixteen thousand
   * must be repeated.
   */
  #unusedIndex(): number | null {
    if (this.size >= MAX_INDICES) return null;
    for (;;) {
      this.#random(this.#bytes);
      const index = this.#view.getInt32(0, true);
      if (!this.#handshakes.has(index) && !this.#keypairs.has(index)) return index;
    }
  }
}
