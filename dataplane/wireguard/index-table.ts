// Receiver indices (paper, section 5.4): 32-bit numbers that we give to handshakes and keypairs,
// and that the other side writes into its messages. They are random, so that they do not show how
// many peers there are. They are kept as signed integers, which a DataView reads without
// allocating.
//
// Where a gateway has several workers, the low bits of an index are the number of the worker that
// gave it, see steering.ts.

import { MAX_INDICES } from '../constants.ts';
import { ALONE, type Team } from '../contract.ts';
import type { Random } from '../noise/handshake.ts';
import { WORKER_MASK } from './steering.ts';

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
  readonly #team: Pick<Team, 'self' | 'size'>;

  constructor(random: Random, team: Pick<Team, 'self' | 'size'> = ALONE) {
    this.#random = random;
    this.#team = team;
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
   * must be repeated; with several workers, one in two thousand.
   */
  #unusedIndex(): number | null {
    if (this.size >= MAX_INDICES) return null;
    for (;;) {
      this.#random(this.#bytes);
      const drawn = this.#view.getInt32(0, true);
      const { self, size } = this.#team;
      const index = size === 1 ? drawn : (drawn & ~WORKER_MASK) | self;
      if (!this.#handshakes.has(index) && !this.#keypairs.has(index)) return index;
    }
  }
}
