// Queues of bytes in chunks. A connection has two: bytes that the owner gave and the other side has
// not acknowledged, and bytes that came and the owner has not taken. A byte has the place that its
// sequence number says, so bytes that come out of order are written where they belong.

import { type Buffers, CHUNK_BYTES, NO_CHUNK } from './buffers.ts';

/** Words of a queue, among the columns of its connection. */
const HEAD = 0;
/** The number of the first chunk, counted from the first byte of the connection. */
const HEAD_NUMBER = 1;
const TAIL = 2;
const TAIL_NUMBER = 3;
/** The chunk that was used last, where the next use begins to look. */
const CURSOR = 4;
const CURSOR_NUMBER = 5;

const CHUNK_BITS = 14;
/** Numbers of chunks are modulo so many: positions are modulo 2^32. */
const NUMBER_MASK = 0x3_ffff;

function numberOf(position: number): number {
  return position >>> CHUNK_BITS;
}

/** The queues of all connections; `queue` is the place of the first word of one. */
export class Streams {
  readonly #words: Int32Array;
  readonly #buffers: Buffers;

  constructor(words: Int32Array, buffers: Buffers) {
    this.#words = words;
    this.#buffers = buffers;
  }

  isEmpty(queue: number): boolean {
    return this.#words[queue + HEAD] === NO_CHUNK;
  }

  /**
   * Makes sure that there is memory for the bytes from `start`, where an empty queue begins, up to
   * `position`. False where no more chunks are given; then it has as much as was given.
   */
  extend(queue: number, device: number, start: number, position: number): boolean {
    const words = this.#words;
    if (words[queue + HEAD] === NO_CHUNK) {
      const first = this.#buffers.take(device);
      if (first === NO_CHUNK) return false;
      words[queue + HEAD] = words[queue + TAIL] = words[queue + CURSOR] = first;
      const number = numberOf(start);
      words[queue + HEAD_NUMBER] = words[queue + TAIL_NUMBER] = number;
      words[queue + CURSOR_NUMBER] = number;
    }
    let missing = (numberOf(position) - words[queue + TAIL_NUMBER]!) & NUMBER_MASK;
    if (missing > NUMBER_MASK >> 1) return true;
    for (; missing > 0; missing--) {
      const chunk = this.#buffers.take(device);
      if (chunk === NO_CHUNK) return false;
      this.#buffers.next[words[queue + TAIL]!] = chunk;
      words[queue + TAIL] = chunk;
      words[queue + TAIL_NUMBER] = (words[queue + TAIL_NUMBER]! + 1) & NUMBER_MASK;
    }
    return true;
  }

  /** How many bytes from a position on have memory. */
  roomAfter(queue: number, position: number): number {
    if (this.isEmpty(queue)) return 0;
    const chunks = (this.#words[queue + TAIL_NUMBER]! - numberOf(position) + 1) & NUMBER_MASK;
    if (chunks > NUMBER_MASK >> 1) return 0;
    return chunks === 0 ? 0 : chunks * CHUNK_BYTES - (position & (CHUNK_BYTES - 1));
  }

  /** Gives back all chunks before the one of `position`. */
  trim(queue: number, device: number, position: number): void {
    const words = this.#words;
    let excess = (numberOf(position) - words[queue + HEAD_NUMBER]!) & NUMBER_MASK;
    for (; excess > 0 && words[queue + HEAD] !== NO_CHUNK; excess--) this.#shift(queue, device);
  }

  /** Gives back all chunks. */
  clear(queue: number, device: number): void {
    while (this.#words[queue + HEAD] !== NO_CHUNK) this.#shift(queue, device);
  }

  #shift(queue: number, device: number): void {
    const words = this.#words;
    const chunk = words[queue + HEAD]!;
    const next = this.#buffers.next[chunk]!;
    if (words[queue + CURSOR] === chunk) {
      words[queue + CURSOR] = next;
      words[queue + CURSOR_NUMBER] = (words[queue + HEAD_NUMBER]! + 1) & NUMBER_MASK;
    }
    words[queue + HEAD] = next;
    words[queue + HEAD_NUMBER] = (words[queue + HEAD_NUMBER]! + 1) & NUMBER_MASK;
    this.#buffers.give(chunk, device);
  }

  /** The chunk of a position, which must have memory. */
  chunkAt(queue: number, position: number): number {
    const words = this.#words;
    const number = numberOf(position);
    let steps = (number - words[queue + CURSOR_NUMBER]!) & NUMBER_MASK;
    let chunk = words[queue + CURSOR]!;
    if (steps > NUMBER_MASK >> 1) {
      steps = (number - words[queue + HEAD_NUMBER]!) & NUMBER_MASK;
      chunk = words[queue + HEAD]!;
    }
    for (; steps > 0; steps--) chunk = this.#buffers.next[chunk]!;
    words[queue + CURSOR] = chunk;
    words[queue + CURSOR_NUMBER] = number;
    return chunk;
  }

  /** Writes bytes at a position that has memory. */
  write(queue: number, position: number, bytes: Buffer, offset: number, length: number): void {
    for (let done = 0; done < length;) {
      const chunk = this.chunkAt(queue, position + done);
      const within = (position + done) & (CHUNK_BYTES - 1);
      const count = Math.min(length - done, CHUNK_BYTES - within);
      const to = this.#buffers.offsetOf(chunk) + within;
      copy(this.#buffers.bytesOf(chunk), to, bytes, offset + done, count);
      done += count;
    }
  }

  /** Reads bytes from a position. */
  read(queue: number, position: number, bytes: Buffer, offset: number, length: number): void {
    for (let done = 0; done < length;) {
      const chunk = this.chunkAt(queue, position + done);
      const within = (position + done) & (CHUNK_BYTES - 1);
      const count = Math.min(length - done, CHUNK_BYTES - within);
      const from = this.#buffers.offsetOf(chunk) + within;
      copy(bytes, offset + done, this.#buffers.bytesOf(chunk), from, count);
      done += count;
    }
  }
}

/** Up to so many bytes a loop is faster than a call. */
const LOOP_BYTES = 32;

/** Copies bytes between two arrays. Only `Buffer` can do that without an object for the part. */
export function copy(to: Buffer, at: number, from: Buffer, offset: number, length: number): void {
  if (length > LOOP_BYTES) from.copy(to, at, offset, offset + length);
  else for (let i = 0; i < length; i++) to[at + i] = from[offset + i]!;
}
