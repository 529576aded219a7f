// How the owner ends a connection (RFC 9293, 3.10.4 and 3.10.5): by FIN, by RST at once, or by RST
// after the last byte.

import {
  ABORTED,
  CLOSE_WAIT,
  END_REPORTED,
  ESTABLISHED,
  FIN_WAIT_1,
  FIN_WAIT_2,
  FIN_WANTED,
  FLAGS,
  LAST_ACK,
  LIFE_AT,
  ORPHAN,
  RST_LAST,
  SND_END,
  SND_UNA,
  STATE,
  SYN_RECEIVED,
  SYN_SENT,
  TIME_WAIT,
  TIMES,
  WAITING,
  WANTS_ROOM,
  WORDS,
} from './columns.ts';
import { type Core, ORPHAN_MS } from './core.ts';
import { isBefore } from './numbers.ts';
import type { Reassembly } from './reassembly.ts';

/** Ends connections for their owner. */
export class Closing {
  readonly #core: Core;
  readonly #reassembly: Reassembly;

  constructor(core: Core, reassembly: Reassembly) {
    this.#core = core;
    this.#reassembly = reassembly;
  }

  /** Whether the owner may send: it has not closed its direction. */
  maySend(slot: number): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const state = words[w + STATE]!;
    const isOpen = state === ESTABLISHED || state === CLOSE_WAIT;
    const isClosing = (words[w + FLAGS]! & FIN_WANTED) !== 0;
    return (isOpen || state === SYN_RECEIVED || state === SYN_SENT) && !isClosing;
  }

  /** CLOSE: a FIN after the last byte. */
  close(slot: number): void {
    if (!this.maySend(slot)) return;
    const { words } = this.#core;
    const w = slot * WORDS;
    words[w + FLAGS]! |= FIN_WANTED;
    if (words[w + STATE] === ESTABLISHED) words[w + STATE] = FIN_WAIT_1;
    else if (words[w + STATE] === CLOSE_WAIT) words[w + STATE] = LAST_ACK;
    this.#core.makeReady(slot);
  }

  /** CLOSE of both directions; RST where bytes are left that the owner has not taken (3.6.1). */
  release(slot: number): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    if (words[w + STATE] === WAITING || this.#reassembly.isWaiting(slot)) {
      this.abort(slot);
      return;
    }
    this.close(slot);
    words[w + FLAGS]! |= ORPHAN | END_REPORTED;
    if (words[w + STATE] !== FIN_WAIT_2) return;
    times[slot * TIMES + LIFE_AT] = clock[0]! + ORPHAN_MS;
    this.#core.schedule(slot);
  }

  /** ABORT, but the other side gets what the owner has sent before. What comes is dropped. */
  breakOff(slot: number): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const state = words[w + STATE]!;
    const isOpen = state >= ESTABLISHED && state !== TIME_WAIT && state !== ABORTED;
    if (!isOpen || !isBefore(words[w + SND_UNA]!, words[w + SND_END]!)) {
      this.abort(slot);
      return;
    }
    words[w + FLAGS]! &= ~WANTS_ROOM;
    words[w + FLAGS]! |= ORPHAN | END_REPORTED | RST_LAST;
    this.#reassembly.deliver(slot);
  }

  /** ABORT: an RST at once, where the other side knows the connection. */
  abort(slot: number): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const state = words[w + STATE]!;
    if (state === ABORTED) return;
    words[w + FLAGS]! |= END_REPORTED;
    if (state === TIME_WAIT || state === SYN_SENT) this.#core.remove(slot);
    else this.#core.abort(slot);
  }
}
