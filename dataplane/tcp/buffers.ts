// The pool of buffers. Bytes that wait, for the owner or for an acknowledgement, are in chunks of
// 16 KiB, which connections chain. A connection without waiting bytes has no chunk; the memory of a
// slab of chunks that are all free is given back, unless the owner gave the memory. A device has at
// most a quarter of the pool.

import { mayHaveMore } from './numbers.ts';

/** Bytes of a chunk. */
export const CHUNK_BYTES = 1 << 14;
const CHUNKS_PER_SLAB = 64;
const SLAB_BYTES = CHUNKS_PER_SLAB * CHUNK_BYTES;
const WORD_BITS = 32;
const ALL = -1;

/** A device has so many chunks before it must leave any to others. */
const FEW = 2;

/** No chunk; chunks begin at 1. */
export const NO_CHUNK = 0;

/** All chunks. */
export class Buffers {
  /** The chunk after each one in its chain. */
  readonly next: Int32Array;
  readonly #slabs: (Buffer | null)[];
  /** Free chunks of each slab, one bit each, two words for a slab. */
  readonly #free: Int32Array;
  /**
   * The slab that is asked first, no later one than the first with a free chunk: memory that was
   * used before is used again, so no more is resident than was used at once. Its memory stays.
   */
  #current = 0;
  readonly #ofDevice: Int32Array;
  readonly #perDevice: number;
  /** The memory of all slabs; null: each slab gets its own. */
  readonly #memory: Buffer | null;
  #held = 0;

  constructor(bytes: number, devices: number, memory: Buffer | null = null) {
    this.#memory = memory;
    const size = memory?.length ?? bytes;
    const slabs = (memory === null ? Math.ceil : Math.floor)(size / SLAB_BYTES);
    this.next = new Int32Array(1 + slabs * CHUNKS_PER_SLAB);
    this.#slabs = Array.from({ length: slabs }, () => null);
    this.#free = new Int32Array(2 * slabs).fill(ALL);
    this.#ofDevice = new Int32Array(devices);
    this.#perDevice = Math.max(2, (slabs * CHUNKS_PER_SLAB) >> 2);
  }

  /** Bytes of all chunks that are in use. */
  get bytes(): number {
    return this.#held * CHUNK_BYTES;
  }

  get #left(): number {
    return this.next.length - 1 - this.#held;
  }

  /** Bytes that the chunks of a device may still get, if the pool has them. */
  roomOf(device: number): number {
    const of = this.#ofDevice[device]!;
    // Each chunk is one more of the device, and one less for others.
    const shared = Math.max(0, (this.#left - of) >> 1);
    return Math.min(shared, this.#perDevice - of) * CHUNK_BYTES;
  }

  /** Takes a chunk for a device; NO_CHUNK where the pool or the share of the device is used up. */
  take(device: number): number {
    if (!mayHaveMore(this.#ofDevice[device]!, this.#perDevice, this.#left, FEW)) return NO_CHUNK;
    const free = this.#free;
    for (let tried = 0; tried < this.#slabs.length; tried++) {
      const slab = this.#current;
      const word = free[2 * slab] === 0 ? 2 * slab + 1 : 2 * slab;
      if (free[word] !== 0) return this.#takeFrom(slab, word, device);
      this.#current = slab + 1 === this.#slabs.length ? 0 : slab + 1;
    }
    return NO_CHUNK;
  }

  #takeFrom(slab: number, word: number, device: number): number {
    // The lowest, so that a chunk often comes right before the next one that is taken.
    const lowest = this.#free[word]! & -this.#free[word]!;
    const bit = WORD_BITS - 1 - Math.clz32(lowest);
    this.#free[word]! ^= 1 << bit;
    this.#slabs[slab] ??=
      this.#memory?.subarray(slab * SLAB_BYTES, (slab + 1) * SLAB_BYTES) ??
      Buffer.alloc(SLAB_BYTES);
    this.#ofDevice[device]!++;
    this.#held++;
    const chunk = 1 + word * WORD_BITS + bit;
    this.next[chunk] = NO_CHUNK;
    return chunk;
  }

  /** Whether the chunk after this one in its chain is also right after it in memory. */
  isFollowed(chunk: number): boolean {
    return this.next[chunk] === chunk + 1 && slabOf(chunk) === slabOf(chunk + 1);
  }

  /** Gives a chunk back. */
  give(chunk: number, device: number): void {
    const free = this.#free;
    const slab = slabOf(chunk);
    free[(chunk - 1) >> 5]! |= 1 << ((chunk - 1) & 31);
    this.#ofDevice[device]!--;
    this.#held--;
    const before = this.#current;
    if (slab < before) this.#current = slab;
    this.#release(slab < before ? before : slab);
  }

  /** Gives back the memory of a slab that nobody needs. */
  #release(slab: number): void {
    const free = this.#free;
    if (this.#memory !== null || slab === this.#current) return;
    if (free[2 * slab] === ALL && free[2 * slab + 1] === ALL) this.#slabs[slab] = null;
  }

  /** The memory that a chunk is in, at `offsetOf` it. */
  bytesOf(chunk: number): Buffer {
    return this.#slabs[slabOf(chunk)]!;
  }

  offsetOf(chunk: number): number {
    return ((chunk - 1) & (CHUNKS_PER_SLAB - 1)) * CHUNK_BYTES;
  }
}

function slabOf(chunk: number): number {
  return ((chunk - 1) / CHUNKS_PER_SLAB) | 0;
}
