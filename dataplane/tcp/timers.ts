// What happens when a deadline of a connection has passed (RFC 9293, 3.10.8): retransmission, tail
// loss probe, probe of a window, delayed acknowledgement, pace, keepalive, TIME-WAIT.

import {
  ACK_AT,
  ACK_NOW,
  ABORTED,
  DEVICE,
  FIN_WAIT_2,
  FLAGS,
  FOR_REORDERING,
  FOR_RTO,
  FOR_TLP,
  HEARD_AT,
  LIFE_AT,
  NEVER,
  ORPHAN,
  PACE_AT,
  PROBE_DUE,
  PROBES,
  RECORD_FIRST,
  RETRANSMIT_AT,
  RETRIES,
  SILENT,
  SND_WND,
  STATE,
  SYN_RECEIVED,
  SYN_SENT,
  TIME_WAIT,
  TIMER,
  TIMES,
  TLP_DUE,
  WANTS_ROOM,
  WORDS,
} from './columns.ts';
import { type Core, ENDED_BY_SILENCE, ROOM_RETRY_MS, TIME_WAIT_MS } from './core.ts';
import type { Handshake } from './handshake.ts';
import type { Reassembly } from './reassembly.ts';
import { NO_RECORD } from './records.ts';
import type { Recovery } from './recovery.ts';
import { timeoutOf } from './rtt.ts';

/**
 * Timeouts in a row after which a connection is given up: about 9 minutes (RFC 9293, 3.8.3: R2).
 */
const RETRIES_MAX = 15;
/**
 * Timeouts in a row that end a connection whose owner has closed both directions. Probes of a
 * closed window count there, too.
 */
const ORPHAN_RETRIES_MAX = 8;
/**
 * Keepalives without an answer after which a connection is given up, and the pause between them.
 */
const KEEPALIVES_MAX = 9;
const KEEPALIVE_PAUSE_MS = 75_000;

/** Deadlines that have passed. */
export class Timers {
  readonly #core: Core;
  readonly #handshake: Handshake;
  readonly #reassembly: Reassembly;
  readonly #recovery: Recovery;

  constructor(core: Core, handshake: Handshake, reassembly: Reassembly, recovery: Recovery) {
    this.#core = core;
    this.#handshake = handshake;
    this.#reassembly = reassembly;
    this.#recovery = recovery;
  }

  /** Looks at the deadlines of all connections whose time may have come. */
  expire(): void {
    const { wheel, clock } = this.#core;
    for (;;) {
      const slot = wheel.take(clock[0]!);
      if (slot === 0) return;
      this.#fire(slot);
    }
  }

  #fire(slot: number): void {
    const { words, times, clock, table } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    const now = clock[0]!;
    if (words[w + STATE] === ABORTED) return;
    if (times[t + LIFE_AT]! <= now) {
      const handle = table.handleOf(slot);
      times[t + LIFE_AT] = NEVER;
      this.#expireLife(slot);
      if (table.slotOf(handle) !== slot) return;
    }
    if (times[t + ACK_AT]! <= now) {
      times[t + ACK_AT] = NEVER;
      words[w + FLAGS]! |= ACK_NOW;
      this.#core.makeReady(slot);
    }
    if (times[t + PACE_AT]! <= now) {
      times[t + PACE_AT] = NEVER;
      this.#core.makeReady(slot);
      if (!this.#offerRoom(slot)) return;
    }
    if (times[t + RETRANSMIT_AT]! <= now) {
      times[t + RETRANSMIT_AT] = NEVER;
      if (!this.#expireRetransmission(slot)) return;
    }
    this.#core.schedule(slot);
  }

  /** Asks the owner for bytes again, if there was no room. False where the connection has ended. */
  #offerRoom(slot: number): boolean {
    const { words, times, clock, buffers, owner, table } = this.#core;
    const w = slot * WORDS;
    if ((words[w + FLAGS]! & WANTS_ROOM) === 0) return true;
    if (buffers.roomOf(words[w + DEVICE]!) === 0) {
      times[slot * TIMES + PACE_AT] = clock[0]! + ROOM_RETRY_MS;
      return true;
    }
    words[w + FLAGS]! &= ~WANTS_ROOM;
    const handle = table.handleOf(slot);
    owner.writable(handle);
    return table.slotOf(handle) === slot;
  }

  /** False where the connection has ended. */
  #expireRetransmission(slot: number): boolean {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    const timer = words[w + TIMER]!;
    if (timer === FOR_REORDERING) this.#recovery.expireReordering(slot);
    else if (timer === FOR_TLP) {
      words[w + FLAGS]! |= TLP_DUE;
      words[w + TIMER] = FOR_RTO;
      times[slot * TIMES + RETRANSMIT_AT] = clock[0]! + timeoutOf(words, times, slot);
      this.#core.makeReady(slot);
    } else if (this.#isHopeless(w)) {
      this.#core.end(slot, ENDED_BY_SILENCE);
      return false;
    } else if (timer === FOR_RTO && words[w + RECORD_FIRST] !== NO_RECORD)
      this.#recovery.timeOut(slot);
    else if (timer !== FOR_RTO) this.#probeWindow(slot);
    return true;
  }

  /**
   * A closed window may stay closed for ever, as long as it is answered for (RFC 9293, MUST-37).
   */
  #isHopeless(w: number): boolean {
    const { words } = this.#core;
    const retries = words[w + RETRIES]!;
    if (words[w + SILENT]! >= RETRIES_MAX) return true;
    if ((words[w + FLAGS]! & ORPHAN) !== 0 && retries >= ORPHAN_RETRIES_MAX) return true;
    return retries >= RETRIES_MAX && words[w + SND_WND]! > 0;
  }

  #probeWindow(slot: number): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    words[w + FLAGS]! |= PROBE_DUE;
    words[w + RETRIES]!++;
    words[w + SILENT]!++;
    times[slot * TIMES + RETRANSMIT_AT] = clock[0]! + timeoutOf(words, times, slot);
    this.#core.makeReady(slot);
  }

  #expireLife(slot: number): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const state = words[w + STATE];
    if (state === SYN_SENT || state === SYN_RECEIVED) this.#handshake.expire(slot);
    else if (state === TIME_WAIT) this.#expireTimeWait(slot);
    else if (state === FIN_WAIT_2 && (words[w + FLAGS]! & ORPHAN) !== 0) this.#core.remove(slot);
    else this.#keepAlive(slot);
  }

  /** What was acknowledged is not dropped: bytes that the owner has not taken keep the row. */
  #expireTimeWait(slot: number): void {
    const { times, clock } = this.#core;
    if (this.#reassembly.isWaiting(slot)) times[slot * TIMES + LIFE_AT] = clock[0]! + TIME_WAIT_MS;
    else this.#core.end(slot, 0);
  }

  /** RFC 9293, 3.8.4: only where nothing else makes the other side answer. */
  #keepAlive(slot: number): void {
    const { words, times, clock, keepaliveMs } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    if (keepaliveMs === 0) return;
    const due = times[t + HEARD_AT]! + keepaliveMs;
    if (due > clock[0]!) {
      times[t + LIFE_AT] = due;
      return;
    }
    if (words[w + RECORD_FIRST] !== NO_RECORD) {
      times[t + LIFE_AT] = clock[0]! + keepaliveMs;
      return;
    }
    if (words[w + PROBES]! >= KEEPALIVES_MAX) {
      this.#core.end(slot, ENDED_BY_SILENCE);
      return;
    }
    words[w + PROBES]!++;
    words[w + FLAGS]! |= PROBE_DUE;
    times[t + LIFE_AT] = clock[0]! + Math.min(KEEPALIVE_PAUSE_MS, keepaliveMs);
    this.#core.makeReady(slot);
  }
}
