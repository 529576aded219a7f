// Receiver indices (paper, section 5.4): random 32-bit names that we give to handshakes and
// keypairs, and by which the other side addresses them. Random, so that they tell nothing about how
// many peers there are; kept as signed integers, which is how a DataView reads them without boxing.

import { MAX_INDICES } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';

/** Names of `H` (handshakes that wait for a response) and `K` (keypairs), never the same twice. */
export class IndexTable<H, K> {
  readonly #handshakes = new Map<number, H>();
  readonly #keypairs = new Map<number, K>();
  readonly #random: Random;
  readonly #bytes = new Uint8Array(4);
  readonly #view = new DataView(this.#bytes.buffer);

  constructor(random: Random) {
    this.#random = random;
  }

  /** Names a handshake; null when the table is full. */
  addHandshake(handshake: H): number | null {
    const index = this.#unusedIndex();
    if (index !== null) this.#handshakes.set(index, handshake);
    return index;
  }

  /** Names a keypair; null when the table is full. */
  addKeypair(keypair: K): number | null {
    const index = this.#unusedIndex();
    if (index !== null) this.#keypairs.set(index, keypair);
    return index;
  }

  /** The keypair of an initiator inherits the name of its handshake. */
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
   * Draws until a name is free. With at most 2^18 of 2^32 names in use a draw collides with a
   * chance below 2^-14, so the loop is one round long but for one time in sixteen thousand.
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
