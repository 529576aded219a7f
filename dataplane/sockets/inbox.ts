// Datagrams that a socket of the host has received, until they are packets for a device. They are
// read into memory of their own, because a run of datagrams, or one that needs fragments, becomes
// more packets than were read.

import {
  type HostSockets,
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_OFFSET,
  PIECE_SEGMENT,
  PIECE_WORDS,
} from '../socket-contract.ts';

/** Pieces that are read at once, each of a whole datagram or run. */
const PIECES = 8;
const PIECE_BYTES = 65_536;

/** The datagrams of one socket. */
export class Inbox {
  /** An arena of the host's sockets. */
  readonly bytes = Buffer.from(new ArrayBuffer(PIECES * PIECE_BYTES));
  readonly #arena: number;
  readonly #offsets = new Int32Array(PIECES);
  readonly #lengths = new Int32Array(PIECES);
  readonly #segments = new Int32Array(PIECES);
  #count = 0;
  #next = 0;
  #at = 0;

  constructor(arena: number) {
    this.#arena = arena;
  }

  /** Whether datagrams wait. */
  get isEmpty(): boolean {
    return this.#next >= this.#count;
  }

  /** Reads from a socket; returns how many pieces came, or -errno. */
  fill(sockets: HostSockets, handle: number): number {
    this.#next = 0;
    this.#count = 0;
    this.#at = 0;
    const { pieces } = sockets;
    for (let i = 0; i < PIECES; i++) {
      const p = i * PIECE_WORDS;
      pieces[p] = this.#arena;
      pieces[p + PIECE_OFFSET] = i * PIECE_BYTES;
      pieces[p + PIECE_LENGTH] = PIECE_BYTES;
      pieces[p + PIECE_SEGMENT] = 0;
      pieces[p + PIECE_ERROR] = 0;
    }
    const got = sockets.receive(handle, PIECES);
    for (let i = 0; i < got; i++) {
      const p = i * PIECE_WORDS;
      // What was cut off is not passed on.
      if (pieces[p + PIECE_ERROR] !== 0) continue;
      this.#offsets[this.#count] = pieces[p + PIECE_OFFSET]!;
      this.#lengths[this.#count] = pieces[p + PIECE_LENGTH]!;
      this.#segments[this.#count++] = pieces[p + PIECE_SEGMENT]!;
    }
    return got;
  }

  /** Where the next bytes are. */
  get offset(): number {
    return this.#offsets[this.#next]! + this.#at;
  }

  /** Bytes of the next datagram, or of all that are left of its run. */
  get left(): number {
    return this.#lengths[this.#next]! - this.#at;
  }

  /** Bytes of each datagram of a run; 0: it is one datagram. */
  get segment(): number {
    const segment = this.#segments[this.#next]!;
    return segment < this.left ? segment : 0;
  }

  /** So many bytes were passed on. */
  took(bytes: number): void {
    this.#at += bytes;
    if (this.left > 0) return;
    this.#next++;
    this.#at = 0;
  }

  /** Drops what waits. */
  clear(): void {
    this.#count = 0;
  }
}
