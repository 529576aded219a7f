// What is known of the end of each connection's host, by slot.

import { SOCKET_ENDED, SOCKET_GONE } from '../socket-contract.ts';

const HAS_ENDED = 1;
/** It can take nothing more, either: a listener of this process has closed its end. */
const IS_GONE = 2;
const IS_READ = 4;
/** It takes nothing more, by an error. */
const HAS_FAILED = 8;
const IS_OVER = IS_GONE | IS_READ;

/** How far each connection's host has ended. */
export class Endings {
  readonly #known: Uint8Array;

  constructor(connections: number) {
    this.#known = new Uint8Array(connections + 1);
  }

  /** A connection begins. */
  begin(slot: number): void {
    this.#known[slot] = 0;
  }

  /** Takes the flags of an event; returns whether they are the first to say that it is gone. */
  note(slot: number, flags: number): boolean {
    const before = this.#known[slot]!;
    if ((flags & SOCKET_ENDED) !== 0) this.#known[slot]! |= HAS_ENDED;
    if ((flags & SOCKET_GONE) !== 0) this.#known[slot]! |= IS_GONE;
    return ((this.#known[slot]! ^ before) & IS_GONE) !== 0;
  }

  /** It has failed; returns whether something of it may be left to read. */
  fail(slot: number): boolean {
    this.#known[slot]! |= HAS_ENDED | HAS_FAILED;
    return (this.#known[slot]! & IS_READ) === 0;
  }

  /** Whether it has failed. */
  hasFailed(slot: number): boolean {
    return (this.#known[slot]! & HAS_FAILED) !== 0;
  }

  /** It was read up to its end; returns whether it is over. */
  read(slot: number): boolean {
    this.#known[slot]! |= IS_READ;
    return this.isOver(slot);
  }

  /** Whether it sends nothing more: it is read until its end shows. */
  hasEnded(slot: number): boolean {
    return (this.#known[slot]! & HAS_ENDED) !== 0;
  }

  /** Whether nothing can be read from it any more, and nothing written to it. */
  isOver(slot: number): boolean {
    return (this.#known[slot]! & IS_OVER) === IS_OVER;
  }
}
