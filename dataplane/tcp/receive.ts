// A segment of a connection, in the order of RFC 9293, 3.10.7.4: sequence number, RST, SYN,
// acknowledgement, text, FIN. Before them come timestamps (PAWS: RFC 7323, 5.3). Segments that
// somebody else may have forged are answered by a challenge ACK (RFC 5961).

import {
  ABORTED,
  ACK_AT,
  ACK_NOW,
  CHALLENGED_AT,
  CLOSE_WAIT,
  CLOSING,
  ESTABLISHED,
  FIN_AT,
  FIN_KNOWN,
  FIN_TAKEN,
  FIN_WAIT_1,
  FIN_WAIT_2,
  FIN_WANTED,
  FLAGS,
  FOR_WINDOW,
  HEARD_AT,
  LAST_ACK,
  LAST_ACK_SENT,
  LIFE_AT,
  MAX_SND_WND,
  MSS,
  NEVER,
  ORPHAN,
  OWED_ACKS,
  PROBES,
  QUICK,
  RANGE_FIRST,
  RCV_ADV,
  RCV_NXT,
  RETRANSMIT_AT,
  RETRIES,
  RST_LAST,
  SACK_OK,
  SILENT,
  SND_END,
  SND_NXT,
  SND_SHIFT,
  SND_STREAM,
  SND_UNA,
  SND_WL1,
  SND_WL2,
  SND_WND,
  STATE,
  SYN_DUE,
  SYN_RECEIVED,
  SYN_SENT,
  TIMER,
  TIMES,
  TIMESTAMPS,
  TIME_WAIT,
  TS_RECENT,
  TS_RECENT_AT,
  WAITING,
  WANTS_ROOM,
  WORDS,
  DEVICE,
  ISS,
} from './columns.ts';
import { type Core, ENDED_BY_CLOSE, ENDED_BY_RESET, ORPHAN_MS, TIME_WAIT_MS } from './core.ts';
import { type Handshake, TAKEN_IN } from './handshake.ts';
import { isAfter, isBefore } from './numbers.ts';
import type { Reassembly } from './reassembly.ts';
import type { Recovery } from './recovery.ts';
import { lengthOf, type Resets } from './resets.ts';
import { type Segment, TCP_ACK, TCP_FIN, TCP_RST, TCP_SYN } from './segment.ts';
import type { Ends } from './table.ts';

/** Segments that ask for nothing but an ACK get one so often (RFC 5961, 7). */
const CHALLENGE_PAUSE_MS = 500;
/** A timestamp this old says nothing (RFC 7323, 5.5): 24 days. */
const STAMP_LIFE_MS = 24 * 86_400_000;
/** Acknowledgements that are owed to a side that counts duplicates. */
const OWED_MAX = 3;

/** Takes segments of connections. */
export class Receiver {
  readonly #core: Core;
  readonly #handshake: Handshake;
  readonly #reassembly: Reassembly;
  readonly #recovery: Recovery;
  readonly #resets: Resets;

  constructor(
    core: Core,
    handshake: Handshake,
    reassembly: Reassembly,
    recovery: Recovery,
    resets: Resets,
  ) {
    this.#core = core;
    this.#handshake = handshake;
    this.#reassembly = reassembly;
    this.#recovery = recovery;
    this.#resets = resets;
  }

  /** Takes a segment of the connection in a slot; `bytes` has its text. */
  receive(slot: number, ends: Ends, segment: Segment, bytes: Buffer): number {
    const { words } = this.#core;
    const w = slot * WORDS;
    const state = words[w + STATE]!;
    if (state === ABORTED) return TAKEN_IN;
    if (state === WAITING) {
      this.#handshake.wait(slot, segment);
      return TAKEN_IN;
    }
    if (state === SYN_SENT) {
      // What text it may have comes again: the other side has to repeat it anyway.
      this.#handshake.answer(slot, ends, segment);
      return TAKEN_IN;
    }
    if (state === TIME_WAIT && this.#handshake.mayReplace(slot, segment)) {
      const device = words[w + DEVICE]!;
      this.#core.remove(slot);
      return this.#handshake.listen(device, ends, segment);
    }
    if (this.#handshake.completes(slot, segment)) return TAKEN_IN;
    if (this.#check(slot, ends, segment) && this.#takeText(slot, segment, bytes))
      this.#settle(slot);
    return TAKEN_IN;
  }

  /** Steps one to five. False where the segment ends here. */
  #check(slot: number, ends: Ends, segment: Segment): boolean {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    if (!this.#checkStamp(slot, segment)) return false;
    if (!this.#checkSequence(slot, segment)) return false;
    const { flags } = segment;
    if ((flags & TCP_RST) !== 0) {
      this.#readReset(slot, segment);
      return false;
    }
    if ((flags & TCP_SYN) !== 0) {
      // RFC 5961, 4: whoever really begins anew answers the challenge by RST.
      this.#challenge(slot);
      return false;
    }
    if ((flags & TCP_ACK) === 0) return false;
    times[t + HEARD_AT] = clock[0]!;
    words[w + PROBES] = 0;
    words[w + SILENT] = 0;
    this.#noteStamp(slot, segment);
    return this.#readAcknowledgement(slot, ends, segment);
  }

  // ---- before all: timestamps -------------------------------------------------------------------

  /** RFC 7323, 5.3, R1: an old timestamp is of an old segment. RSTs are excepted. */
  #checkStamp(slot: number, segment: Segment): boolean {
    const flags = this.#core.words[slot * WORDS + FLAGS]!;
    if ((flags & TIMESTAMPS) === 0 || (segment.flags & TCP_RST) !== 0) return true;
    // RFC 7323, 3.2: a segment without the option is dropped, once both sides have agreed on it.
    if (!segment.hasTimestamp) return false;
    if (!this.#hasOldStamp(slot, segment)) return true;
    this.#acknowledgeAgain(slot, segment);
    return false;
  }

  #hasOldStamp(slot: number, segment: Segment): boolean {
    const { words, times, clock } = this.#core;
    if (!isBefore(segment.stamp, words[slot * WORDS + TS_RECENT]!)) return false;
    return clock[0]! - times[slot * TIMES + TS_RECENT_AT]! <= STAMP_LIFE_MS;
  }

  /** R3: the timestamp to echo is that of the segment that moves the acknowledgement. */
  #noteStamp(slot: number, segment: Segment): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    if (!segment.hasTimestamp || isAfter(segment.sequence, words[w + LAST_ACK_SENT]!)) return;
    if (this.#hasOldStamp(slot, segment)) return;
    words[w + TS_RECENT] = segment.stamp;
    times[slot * TIMES + TS_RECENT_AT] = clock[0]!;
  }

  // ---- first: the sequence number ---------------------------------------------------------------

  #checkSequence(slot: number, segment: Segment): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const next = words[w + RCV_NXT]!;
    const edge = words[w + RCV_ADV]!;
    const { sequence } = segment;
    const end = (sequence + lengthOf(segment)) | 0;
    // Something of it must be in the window, or it must be empty and right at its beginning.
    const isInside =
      sequence === next
        ? true
        : isBefore(sequence, next)
          ? isAfter(end, next)
          : isBefore(sequence, edge);
    if (isInside) return true;
    if ((segment.flags & TCP_RST) === 0) this.#acknowledgeAgain(slot, segment);
    return false;
  }

  /** Answers a segment that is not acceptable; empty ones not each time (RFC 5961, 7). */
  #acknowledgeAgain(slot: number, segment: Segment): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    if (words[w + STATE] === TIME_WAIT && (segment.flags & TCP_FIN) !== 0) this.#waitAgain(slot);
    if (segment.length === 0 && (segment.flags & (TCP_FIN | TCP_SYN)) === 0) {
      this.#challenge(slot);
      return;
    }
    if (words[w + STATE] === SYN_RECEIVED) words[w + FLAGS]! |= SYN_DUE;
    // What came twice is reported (RFC 2883, 4).
    if (segment.length > 0) this.#reassembly.noteRepeated(slot, segment.sequence, segment.length);
    this.acknowledge(slot);
  }

  #challenge(slot: number): void {
    const { times, clock } = this.#core;
    const t = slot * TIMES;
    if (clock[0]! - times[t + CHALLENGED_AT]! < CHALLENGE_PAUSE_MS) return;
    times[t + CHALLENGED_AT] = clock[0]!;
    this.acknowledge(slot);
  }

  /** An ACK is due now. */
  acknowledge(slot: number): void {
    this.#core.words[slot * WORDS + FLAGS]! |= ACK_NOW;
    this.#core.makeReady(slot);
  }

  // ---- second: RST ------------------------------------------------------------------------------

  /** RFC 5961, 3: only the very next number resets; others in the window are challenged. */
  #readReset(slot: number, segment: Segment): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const state = words[w + STATE]!;
    // RFC 1337, 4: an old RST must not shorten TIME-WAIT.
    if (state === TIME_WAIT) return;
    if (segment.sequence !== words[w + RCV_NXT]) {
      this.#challenge(slot);
      return;
    }
    // Both sides have everything but the last ACK: the other side has forgotten the connection.
    const isOver = state === CLOSING || state === LAST_ACK;
    const isComplete = isOver && words[w + SND_UNA] === words[w + SND_END];
    if (!isComplete) this.#core.end(slot, ENDED_BY_RESET);
    else if (this.#reassembly.isWaiting(slot)) this.#waitAgain(slot);
    else this.#core.end(slot, ENDED_BY_CLOSE);
  }

  // ---- fifth: the acknowledgement ---------------------------------------------------------------

  #readAcknowledgement(slot: number, ends: Ends, segment: Segment): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const ack = segment.acknowledgement;
    if (words[w + STATE] === SYN_RECEIVED) {
      if (ack !== words[w + SND_NXT]) {
        this.#resets.answer(words[w + DEVICE]!, ends, segment);
        return false;
      }
      return this.#handshake.establish(slot, segment);
    }
    // RFC 5961, 5: neither older than the largest window nor ahead of what was sent.
    const oldest = (words[w + SND_UNA]! - words[w + MAX_SND_WND]!) | 0;
    if (isAfter(ack, words[w + SND_NXT]!) || isBefore(ack, oldest)) {
      this.#challenge(slot);
      return false;
    }
    if (!isBefore(ack, words[w + SND_UNA]!)) {
      const before = words[w + SND_WND]!;
      this.#readWindow(slot, segment);
      const isSame = before === words[w + SND_WND] && segment.length === 0;
      const isDuplicate = isSame && (segment.flags & TCP_FIN) === 0;
      this.#progress(slot, segment, isDuplicate);
    }
    return this.#moveOn(slot);
  }

  /** RFC 9293, 3.10.7.4: SND.WL1 and SND.WL2 keep an old segment from changing the window. */
  #readWindow(slot: number, segment: Segment): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const isNewer =
      isBefore(words[w + SND_WL1]!, segment.sequence) ||
      (words[w + SND_WL1] === segment.sequence &&
        !isAfter(words[w + SND_WL2]!, segment.acknowledgement));
    if (!isNewer) return;
    const before = words[w + SND_WND]!;
    const window = segment.window << words[w + SND_SHIFT]!;
    words[w + SND_WND] = window;
    words[w + SND_WL1] = segment.sequence;
    words[w + SND_WL2] = segment.acknowledgement;
    if (window > words[w + MAX_SND_WND]!) words[w + MAX_SND_WND] = window;
    if (window <= before) return;
    if (words[w + TIMER] === FOR_WINDOW || before === 0) {
      // What a closed window has held up was no failure.
      words[w + RETRIES] = 0;
      this.#recovery.arm(slot);
    }
    this.#core.makeReady(slot);
  }

  #progress(slot: number, segment: Segment, isDuplicate: boolean): void {
    const { words, streams, owner, table } = this.#core;
    const w = slot * WORDS;
    const acknowledged = (segment.acknowledgement - words[w + SND_UNA]!) | 0;
    const hasBlocks = segment.blockCount > 0;
    if (acknowledged === 0 && !hasBlocks && !isDuplicate) return;
    this.#recovery.acknowledge(slot, segment, isDuplicate);
    if (acknowledged === 0) return;
    const isAll = !isBefore(words[w + SND_UNA]!, words[w + SND_END]!);
    const device = words[w + DEVICE]!;
    const position = (words[w + SND_UNA]! - words[w + ISS]! - 1) | 0;
    if (isAll) streams.clear(w + SND_STREAM, device);
    else streams.trim(w + SND_STREAM, device, position);
    if (isAll && (words[w + FLAGS]! & RST_LAST) !== 0) {
      this.#core.abort(slot);
      return;
    }
    if (words[w + SND_NXT] !== this.#lastOf(w)) this.#core.makeReady(slot);
    if ((words[w + FLAGS]! & WANTS_ROOM) === 0) return;
    words[w + FLAGS]! &= ~WANTS_ROOM;
    owner.writable(table.handleOf(slot));
  }

  /** After everything that there is to send. */
  #lastOf(w: number): number {
    const { words } = this.#core;
    const end = words[w + SND_END]!;
    return (words[w + FLAGS]! & FIN_WANTED) === 0 ? end : (end + 1) | 0;
  }

  /** What the acknowledgement of our FIN means. False where the connection has ended. */
  #moveOn(slot: number): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const state = words[w + STATE]!;
    if (state === ABORTED || state === 0) return false;
    if (state < FIN_WAIT_1 || state === CLOSE_WAIT) return true;
    const isFinAcknowledged = words[w + SND_UNA] === ((words[w + SND_END]! + 1) | 0);
    if (!isFinAcknowledged) return true;
    if (state === FIN_WAIT_1) {
      words[w + STATE] = FIN_WAIT_2;
      if ((words[w + FLAGS]! & ORPHAN) !== 0) this.#liveFor(slot, ORPHAN_MS);
    } else if (state === CLOSING) this.#waitAgain(slot);
    else if (state === LAST_ACK && this.#reassembly.isWaiting(slot)) this.#waitAgain(slot);
    else if (state === LAST_ACK) {
      this.#core.end(slot, ENDED_BY_CLOSE);
      return false;
    }
    return true;
  }

  #liveFor(slot: number, ms: number): void {
    this.#core.times[slot * TIMES + LIFE_AT] = this.#core.clock[0]! + ms;
    this.#core.schedule(slot);
  }

  /** TIME-WAIT begins, or begins anew. For the owner the connection has ended. */
  #waitAgain(slot: number): void {
    const { words, times } = this.#core;
    const t = slot * TIMES;
    words[slot * WORDS + STATE] = TIME_WAIT;
    times[t + RETRANSMIT_AT] = times[t + ACK_AT] = NEVER;
    this.#liveFor(slot, TIME_WAIT_MS);
  }

  // ---- seventh: the text; eighth: FIN -----------------------------------------------------------

  #takeText(slot: number, segment: Segment, bytes: Buffer): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const state = words[w + STATE]!;
    const hasFin = (segment.flags & TCP_FIN) !== 0;
    if (segment.length === 0 && !hasFin) return true;
    const mayCome = state === ESTABLISHED || state === FIN_WAIT_1 || state === FIN_WAIT_2;
    if (!mayCome) {
      // RFC 9293: "This should not occur since a FIN has been received." It is a repetition.
      this.acknowledge(slot);
      if (state === TIME_WAIT && hasFin) this.#waitAgain(slot);
      return true;
    }
    if (this.#isUnwelcome(w, segment)) {
      this.#core.abort(slot);
      return false;
    }
    const before = words[w + RCV_NXT]!;
    const isAlive = segment.length === 0 || this.#takeBytes(slot, segment, bytes);
    if (!isAlive || this.abortIfLeft(slot)) return false;
    if (hasFin) this.#noteFin(slot, segment);
    this.#takeFin(slot);
    this.#planAcknowledgement(slot, before, segment);
    return this.#reassembly.finish(slot);
  }

  /** RFC 9293, 3.6.1: new bytes, and the owner has closed both directions. */
  #isUnwelcome(w: number, segment: Segment): boolean {
    const { words } = this.#core;
    const end = (segment.sequence + segment.length) | 0;
    const isOrphan = (words[w + FLAGS]! & (ORPHAN | RST_LAST)) === ORPHAN;
    return isOrphan && isAfter(end, words[w + RCV_NXT]!);
  }

  /** Aborts a connection that the owner has released while bytes were left that it did not take. */
  abortIfLeft(slot: number): boolean {
    const isOrphan = (this.#core.words[slot * WORDS + FLAGS]! & ORPHAN) !== 0;
    if (!isOrphan || !this.#reassembly.isWaiting(slot)) return false;
    this.#core.abort(slot);
    return true;
  }

  /** Cuts off what is outside of the window or after the FIN. */
  #takeBytes(slot: number, segment: Segment, bytes: Buffer): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const from = segment.sequence;
    let length = segment.length;
    const edge = (words[w + FLAGS]! & FIN_KNOWN) !== 0 ? words[w + FIN_AT]! : words[w + RCV_ADV]!;
    const over = (from + length - edge) | 0;
    if (over > 0) {
      length -= over;
      words[w + FLAGS]! |= ACK_NOW;
    }
    return length <= 0 || this.#reassembly.take(slot, bytes, segment.at, from, length);
  }

  #noteFin(slot: number, segment: Segment): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const at = (segment.sequence + segment.length) | 0;
    if ((words[w + FLAGS]! & FIN_KNOWN) !== 0) return;
    // A FIN after the window is not in it, unless the window is empty and it comes right next.
    if (isAfter(at, words[w + RCV_ADV]!) || isBefore(at, words[w + RCV_NXT]!)) return;
    words[w + FLAGS]! |= FIN_KNOWN;
    words[w + FIN_AT] = at;
  }

  /** The FIN comes after all bytes. */
  #takeFin(slot: number): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const flags = words[w + FLAGS]!;
    if ((flags & (FIN_KNOWN | FIN_TAKEN)) !== FIN_KNOWN) return;
    if (words[w + RCV_NXT] !== words[w + FIN_AT]) return;
    words[w + FLAGS]! |= FIN_TAKEN | ACK_NOW;
    words[w + RCV_NXT] = (words[w + RCV_NXT]! + 1) | 0;
    const state = words[w + STATE];
    if (state === ESTABLISHED) words[w + STATE] = CLOSE_WAIT;
    else if (state === FIN_WAIT_1) words[w + STATE] = CLOSING;
    else if (state === FIN_WAIT_2) this.#waitAgain(slot);
  }

  /** RFC 9293, 3.8.6.3; RFC 5681, 4.2: at once for every second full segment, and for a hole. */
  #planAcknowledgement(slot: number, before: number, segment: Segment): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const isInOrder = words[w + RCV_NXT] !== before && words[w + RANGE_FIRST] === 0;
    if (!isInOrder) {
      words[w + FLAGS]! |= ACK_NOW;
      const counts = (words[w + FLAGS]! & SACK_OK) === 0 && words[w + RCV_NXT] === before;
      if (counts) words[w + OWED_ACKS] = Math.min(OWED_MAX, words[w + OWED_ACKS]! + 1);
    }
    const unacknowledged = (words[w + RCV_NXT]! - words[w + LAST_ACK_SENT]!) | 0;
    if (words[w + QUICK]! > 0) {
      words[w + QUICK]!--;
      words[w + FLAGS]! |= ACK_NOW;
    } else if (
      !this.#core.takesTime ||
      unacknowledged >= 2 * Math.min(words[w + MSS]!, Math.max(segment.length, 1))
    )
      words[w + FLAGS]! |= ACK_NOW;
    if ((words[w + FLAGS]! & ACK_NOW) !== 0) {
      this.#core.makeReady(slot);
      return;
    }
    this.#core.delayAck(slot);
  }

  /** What is left to do at the end of a segment. */
  #settle(slot: number): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    if (words[w + STATE] !== TIME_WAIT) return;
    if ((words[w + FLAGS]! & (FIN_TAKEN | ORPHAN)) !== 0 && !this.#reassembly.isWaiting(slot))
      this.#core.report(slot, ENDED_BY_CLOSE);
  }
}
