// What leaves: the next packet of a connection, which may be a run of up to 64 KiB. First what is
// lost, then new bytes, as far as the other side's window, the congestion window, the pace and the
// device's allowance let them; else an acknowledgement or a probe.

import {
  ABORTED,
  ACK_AT,
  ACK_NOW,
  CAN_UNDO,
  CWND,
  DEVICE,
  DSACK_DUE,
  DSACK_FROM,
  DSACK_TO,
  FIN_WANTED,
  FLAGS,
  FOR_WINDOW,
  ISS,
  LAST_ACK_SENT,
  LIMITED,
  MAX_SND_WND,
  MSS,
  NEVER,
  OWED_ACKS,
  PACE_AT,
  PACED_UNTIL,
  PIPE,
  PROBE_DUE,
  RANGE_FIRST,
  RCV_NXT,
  RCV_SHIFT,
  RECORD_FIRST,
  RECORD_LAST,
  RETRANSMIT_AT,
  RETRANSMIT_STAMP,
  RETRIES,
  RST_DUE,
  SACK_OK,
  SCALED,
  SENT_AT,
  SND_END,
  SND_NXT,
  SND_STREAM,
  SND_UNA,
  SND_WND,
  SRTT,
  SSTHRESH,
  STATE,
  SYN_DUE,
  SYN_RECEIVED,
  SYN_SENT,
  TIME_WAIT,
  TIMER,
  TIMES,
  TIMESTAMPS,
  TLP_DUE,
  TLP_END,
  TLP_IN_FLIGHT,
  TLP_RETRANS,
  TS_RECENT,
  WORDS,
} from './columns.ts';
import type { Core } from './core.ts';
import type { Handshake } from './handshake.ts';
import { headerBytes, optionBytes, TIMESTAMP_BYTES, writeHeader } from './header.ts';
import { earlier, isAfter, isBefore } from './numbers.ts';
import type { Reassembly } from './reassembly.ts';
import { NO_RECORD } from './records.ts';
import type { Recovery } from './recovery.ts';
import { timeoutOf } from './rtt.ts';
import { TCP_ACK, TCP_FIN, TCP_PSH, TCP_RST, TCP_SYN } from './segment.ts';

/** A packet with all its headers is at most so long. */
const PACKET_MAX = 65_535;
const HEADERS_MAX = 120;
/** At the pace, so much leaves at once: what the path takes in this time, in ms. */
const QUANTUM_MS = 1;
/** The pace is faster than cwnd/srtt, so that the window can fill: in slow start twice. */
const SLOW_START_GAIN = 2;
const GAIN = 1.25;
/** With no place for a record, sending is tried again after so long. */
const RETRY_MS = 10;

/** Where a packet is made. */
export class Made {
  bytes: Buffer = Buffer.alloc(0);
  view = new DataView(this.bytes.buffer, 0, 0);
  offset = 0;
  room = 0;
  /** Bytes of the packet; 0: none was made. */
  length = 0;
  /** Bytes of text of each segment that the packet is cut into; 0: it is one segment. */
  segmentBytes = 0;
  /** Of the device that gets it. */
  device = 0;
  /** Whether it has text, so that it counts against an allowance. */
  hasText = false;
}

/** Makes packets. */
export class Sender {
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

  /** Makes the next packet of a connection. Returns whether it may have more. */
  make(slot: number, made: Made, allowance: number): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    made.length = 0;
    made.segmentBytes = 0;
    made.hasText = false;
    const state = words[w + STATE]!;
    if (state === ABORTED) {
      this.#makeReset(slot, made);
      return false;
    }
    if (state === SYN_SENT || state === SYN_RECEIVED) {
      if ((words[w + FLAGS]! & SYN_DUE) !== 0) this.#makeSyn(slot, made);
      return false;
    }
    if (state !== TIME_WAIT) {
      if (this.#makeText(slot, made, allowance)) return true;
      if (made.length > 0) return true;
    }
    if (words[w + OWED_ACKS]! > 1 && (words[w + FLAGS]! & ACK_NOW) !== 0) {
      const owed = words[w + OWED_ACKS]! - 1;
      this.#makeEmpty(slot, made, words[w + SND_NXT]!);
      words[w + OWED_ACKS] = owed;
      words[w + FLAGS]! |= ACK_NOW;
      return true;
    }
    const flags = words[w + FLAGS]!;
    if ((flags & PROBE_DUE) !== 0 && allowance >= 0) {
      // An old number: whoever gets it answers with its window, and takes nothing.
      words[w + FLAGS]! &= ~PROBE_DUE;
      this.#makeEmpty(slot, made, (words[w + SND_UNA]! - 1) | 0);
    } else if ((flags & ACK_NOW) !== 0) this.#makeEmpty(slot, made, words[w + SND_NXT]!);
    return false;
  }

  // ---- text -------------------------------------------------------------------------------------

  /** Makes a packet with text or FIN, if there may be one. Returns whether to ask again. */
  #makeText(slot: number, made: Made, allowance: number): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const lost = this.#recovery.firstLost(slot);
    const isProbe = (words[w + FLAGS]! & TLP_DUE) !== 0;
    const left = (this.#lastOf(w) - words[w + SND_NXT]!) | 0;
    if (lost === NO_RECORD && left === 0 && !isProbe) {
      words[w + FLAGS]! &= ~LIMITED;
      return false;
    }
    // Only what was sent before is asked for less: FIN and what is lost count as text, too.
    if (allowance <= 0) {
      if (allowance < 0) this.#watchWindow(slot);
      return false;
    }
    if (isProbe) return this.#makeProbe(slot, made, left);
    if (this.#isPaced(slot)) return false;
    const segment = this.#segmentBytes(w);
    const most = Math.min(this.#quantum(slot, segment), allowance, this.#roomOf(made));
    if (lost !== NO_RECORD) return this.#makeAgain(slot, made, lost, most, segment);
    return this.#makeNew(slot, made, left, most, segment);
  }

  /** New bytes, and FIN after the last one. */
  #makeNew(slot: number, made: Made, left: number, most: number, segment: number): boolean {
    const { words, times, records } = this.#core;
    const w = slot * WORDS;
    const congested = Math.floor(times[slot * TIMES + CWND]!) - words[w + PIPE]!;
    const usable = (words[w + SND_UNA]! + words[w + SND_WND]! - words[w + SND_NXT]!) | 0;
    if (congested < Math.min(segment, left) && words[w + PIPE]! > 0) {
      words[w + FLAGS]! |= LIMITED;
      return false;
    }
    const open = Math.min(left, usable);
    const isWorth = this.#isWorthSending(w, left, open, segment) || this.#isOverdue(w, open);
    if (!isWorth) {
      this.#watchWindow(slot);
      return false;
    }
    if (!records.hasRoom(slot)) {
      this.#waitUntil(slot, this.#core.clock[0]! + RETRY_MS);
      return false;
    }
    let count = Math.min(open, Math.max(most, segment), Math.max(congested, segment));
    // A segment that is not full is only the last one.
    if (count < left && count > segment) count -= count % segment;
    const from = words[w + SND_NXT]!;
    this.#send(slot, made, from, count, segment);
    this.#core.times[slot * TIMES + SENT_AT] = this.#core.clock[0]!;
    // Text makes the other side answer, as a probe does.
    words[w + FLAGS]! &= ~PROBE_DUE;
    const isLimited = words[w + PIPE]! + segment > times[slot * TIMES + CWND]!;
    if (isLimited) words[w + FLAGS]! |= LIMITED;
    return true;
  }

  /** The sender's side of silly windows (RFC 9293, 3.8.6.2.1). */
  #isWorthSending(w: number, left: number, open: number, segment: number): boolean {
    if (open <= 0) return false;
    return open >= left || open >= segment || open >= this.#core.words[w + MAX_SND_WND]! >> 1;
  }

  /** The window has been small for so long that it is filled (3.8.6.2.1, the override timeout). */
  #isOverdue(w: number, open: number): boolean {
    const { words } = this.#core;
    const isProbed = (words[w + FLAGS]! & PROBE_DUE) !== 0 && words[w + RECORD_FIRST] === NO_RECORD;
    if (open <= 0 || !isProbed) return false;
    words[w + RETRIES] = 0;
    return true;
  }

  /** Nothing is in flight, and nothing may be: the window is probed (RFC 9293, 3.8.6.1). */
  #watchWindow(slot: number): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    if (words[w + RECORD_FIRST] !== NO_RECORD || words[w + TIMER] === FOR_WINDOW) return;
    words[w + TIMER] = FOR_WINDOW;
    times[t + RETRANSMIT_AT] = clock[0]! + timeoutOf(words, times, slot);
    this.#core.schedule(slot);
  }

  /** What is lost is sent again, as much of it as fits. */
  #makeAgain(slot: number, made: Made, lost: number, most: number, segment: number): boolean {
    const { words, times, records } = this.#core;
    const w = slot * WORDS;
    const congested = Math.floor(times[slot * TIMES + CWND]!) - words[w + PIPE]!;
    // The first one of a recovery leaves in any case (RFC 6675, 5, step 4.3).
    const isFirst = (words[w + FLAGS]! & CAN_UNDO) !== 0 && words[w + RETRANSMIT_STAMP] === 0;
    if (congested < segment && words[w + PIPE]! > 0 && !isFirst) return false;
    const from = records.from[lost]!;
    let count = (records.to[lost]! - from) | 0;
    const limit = Math.max(segment, Math.min(most, congested));
    if (count > limit) {
      count = limit > segment ? limit - (limit % segment) : limit;
      if (records.split(slot, lost, (from + count) | 0) === NO_RECORD) {
        // Without room for one more record the whole one leaves.
        count = (records.to[lost]! - from) | 0;
        if (count > this.#roomOf(made)) return false;
      }
    }
    this.#sendAgain(slot, made, lost, count, segment);
    return true;
  }

  #sendAgain(slot: number, made: Made, record: number, count: number, segment: number): void {
    const { words, clock, records } = this.#core;
    const w = slot * WORDS;
    records.resend(slot, record);
    records.sentAt[record] = clock[0]!;
    this.#core.retransmitted++;
    if ((words[w + FLAGS]! & CAN_UNDO) !== 0 && words[w + RETRANSMIT_STAMP] === 0)
      words[w + RETRANSMIT_STAMP] = this.#core.stampOf(slot) || 1;
    this.#write(slot, made, records.from[record]!, count, segment);
    if (this.#core.times[slot * TIMES + RETRANSMIT_AT] === NEVER) this.#recovery.arm(slot);
  }

  #send(slot: number, made: Made, from: number, count: number, segment: number): void {
    const { words, clock, records, congestion } = this.#core;
    const w = slot * WORDS;
    if (words[w + RECORD_FIRST] === NO_RECORD) congestion.resumed(slot);
    const to = (from + count) | 0;
    const record = records.add(slot, from, to);
    records.sentAt[record] = clock[0]!;
    words[w + SND_NXT] = to;
    this.#write(slot, made, from, count, segment);
    this.#recovery.arm(slot);
  }

  /** A tail loss probe (RFC 8985, 7.3): a new segment if there is one, else the last one again. */
  #makeProbe(slot: number, made: Made, left: number): boolean {
    const { words, clock, records } = this.#core;
    const w = slot * WORDS;
    words[w + FLAGS]! &= ~TLP_DUE;
    const last = words[w + RECORD_LAST]!;
    // What came since it was due may have said already what a probe would find out.
    if (last === NO_RECORD || !this.#recovery.mayProbe(w)) return true;
    const segment = this.#segmentBytes(w);
    const usable = (words[w + SND_UNA]! + words[w + SND_WND]! - words[w + SND_NXT]!) | 0;
    const fresh = Math.min(left, usable, segment);
    words[w + FLAGS]! |= TLP_IN_FLIGHT;
    if (fresh > 0 && records.hasRoom(slot)) {
      words[w + FLAGS]! &= ~TLP_RETRANS;
      this.#send(slot, made, words[w + SND_NXT]!, fresh, segment);
    } else {
      words[w + FLAGS]! |= TLP_RETRANS;
      let record = last;
      const length = (records.to[last]! - records.from[last]!) | 0;
      if (length > segment)
        record = records.split(slot, last, (records.to[last]! - segment) | 0) || last;
      const count = Math.min(length, segment);
      records.resend(slot, record);
      records.sentAt[record] = clock[0]!;
      this.#core.retransmitted++;
      this.#write(slot, made, (records.to[record]! - count) | 0, count, segment);
    }
    words[w + TLP_END] = words[w + SND_NXT]!;
    this.#recovery.arm(slot);
    return true;
  }

  // ---- the pace ---------------------------------------------------------------------------------

  /** Whether the connection must wait for its pace; then it wakes up in time. */
  #isPaced(slot: number): boolean {
    const { times, clock } = this.#core;
    const until = times[slot * TIMES + PACED_UNTIL]!;
    if (until <= clock[0]! + QUANTUM_MS) return false;
    this.#waitUntil(slot, until - QUANTUM_MS);
    return true;
  }

  #waitUntil(slot: number, at: number): void {
    this.#core.times[slot * TIMES + PACE_AT] = at;
    this.#core.schedule(slot);
  }

  /** What leaves at once. */
  #quantum(slot: number, segment: number): number {
    const { times } = this.#core;
    const t = slot * TIMES;
    if (times[t + SRTT] === 0) return PACKET_MAX;
    const bytes = (times[t + CWND]! / times[t + SRTT]!) * this.#gain(t) * QUANTUM_MS;
    return Math.floor(Math.min(PACKET_MAX, Math.max(2 * segment, bytes)));
  }

  #gain(t: number): number {
    const { times } = this.#core;
    return times[t + CWND]! < times[t + SSTHRESH]! ? SLOW_START_GAIN : GAIN;
  }

  #notePace(slot: number, bytes: number): void {
    if (!this.#core.takesTime) return;
    const { times, clock } = this.#core;
    const t = slot * TIMES;
    if (times[t + SRTT] === 0) return;
    const takes = (bytes * times[t + SRTT]!) / (times[t + CWND]! * this.#gain(t));
    times[t + PACED_UNTIL] = Math.max(times[t + PACED_UNTIL]!, clock[0]!) + takes;
  }

  // ---- headers ----------------------------------------------------------------------------------

  /** After everything that there is to send. */
  #lastOf(w: number): number {
    const { words } = this.#core;
    const end = words[w + SND_END]!;
    return (words[w + FLAGS]! & FIN_WANTED) === 0 ? end : (end + 1) | 0;
  }

  /** Text of a full segment: the MSS less the options that this moment needs (RFC 6691, 3). */
  #segmentBytes(w: number): number {
    const { words } = this.#core;
    const flags = words[w + FLAGS]!;
    let options = (flags & TIMESTAMPS) === 0 ? 0 : TIMESTAMP_BYTES;
    const reports = words[w + RANGE_FIRST] !== 0 || (flags & DSACK_DUE) !== 0;
    if (reports && (flags & SACK_OK) !== 0) {
      this.#describe(w / WORDS, TCP_ACK, 0);
      options = optionBytes(this.#core.header);
    }
    return words[w + MSS]! - options;
  }

  #roomOf(made: Made): number {
    return Math.min(made.room, PACKET_MAX) - HEADERS_MAX;
  }

  /** Writes a packet with `count` numbers from `from` on: text, and FIN if it is among them. */
  #write(slot: number, made: Made, from: number, count: number, segment: number): void {
    const { words, streams, header } = this.#core;
    const w = slot * WORDS;
    const to = (from + count) | 0;
    const end = words[w + SND_END]!;
    const text = (earlier(to, end) - from) | 0;
    let flags = TCP_ACK;
    if (isAfter(to, end)) flags |= TCP_FIN;
    if (!isBefore(to, end)) flags |= TCP_PSH;
    this.#describe(slot, flags, from);
    const before = headerBytes(header);
    const at = made.offset + before;
    if (text > 0)
      streams.read(w + SND_STREAM, (from - words[w + ISS]! - 1) | 0, made.bytes, at, text);
    writeHeader(made.view, made.offset, header, before, text);
    made.length = before + text;
    made.segmentBytes = text > segment ? segment : 0;
    made.hasText = true;
    made.device = words[w + DEVICE]!;
    this.#notePace(slot, made.length);
    this.#noteAcknowledged(slot);
  }

  /** An ACK without text. */
  #makeEmpty(slot: number, made: Made, sequence: number): void {
    const { header, words } = this.#core;
    this.#describe(slot, TCP_ACK, sequence);
    const bytes = headerBytes(header);
    writeHeader(made.view, made.offset, header, bytes, 0);
    made.length = bytes;
    made.device = words[slot * WORDS + DEVICE]!;
    this.#noteAcknowledged(slot);
  }

  /** What every segment of an open connection has. */
  #describe(slot: number, flags: number, sequence: number): void {
    const { words, header, ranges } = this.#core;
    const w = slot * WORDS;
    this.#core.table.copyEnds(slot, header.ends);
    header.clear(flags, sequence);
    header.acknowledgement = words[w + RCV_NXT]!;
    const own = words[w + FLAGS]!;
    if ((own & TIMESTAMPS) !== 0) {
      header.hasTimestamp = true;
      header.stamp = this.#core.stampOf(slot);
      header.echo = words[w + TS_RECENT]!;
    }
    header.window = this.#reassembly.announce(slot, (own & SCALED) !== 0);
    if ((own & SACK_OK) === 0) return;
    if ((own & DSACK_DUE) !== 0) {
      header.blocks[0] = words[w + DSACK_FROM]!;
      header.blocks[1] = words[w + DSACK_TO]!;
      header.blockCount = 1;
    }
    if (words[w + RANGE_FIRST] !== 0)
      header.blockCount = ranges.report(slot, header.blocks, header.blockCount);
  }

  /** The acknowledgement has left. */
  #noteAcknowledged(slot: number): void {
    const { words, times } = this.#core;
    const w = slot * WORDS;
    words[w + FLAGS]! &= ~(ACK_NOW | DSACK_DUE);
    words[w + OWED_ACKS] = 0;
    words[w + LAST_ACK_SENT] = words[w + RCV_NXT]!;
    times[slot * TIMES + ACK_AT] = NEVER;
  }

  /** SYN, or SYN-ACK. */
  #makeSyn(slot: number, made: Made): void {
    const { words, header } = this.#core;
    const w = slot * WORDS;
    const isAnswer = words[w + STATE] === SYN_RECEIVED;
    const flags = words[w + FLAGS]!;
    this.#describe(slot, isAnswer ? TCP_SYN | TCP_ACK : TCP_SYN, words[w + ISS]!);
    header.blockCount = 0;
    header.mss = this.#handshake.ownMss(slot);
    header.isSackPermitted = !isAnswer || (flags & SACK_OK) !== 0;
    header.shift = !isAnswer || (flags & SCALED) !== 0 ? words[w + RCV_SHIFT]! : -1;
    header.hasTimestamp = !isAnswer || (flags & TIMESTAMPS) !== 0;
    header.stamp = this.#core.stampOf(slot);
    header.echo = isAnswer ? words[w + TS_RECENT]! : 0;
    if (isAnswer) header.window = this.#reassembly.announce(slot, false);
    else {
      header.acknowledgement = 0;
      header.window = PACKET_MAX;
    }
    const bytes = headerBytes(header);
    writeHeader(made.view, made.offset, header, bytes, 0);
    made.length = bytes;
    made.device = words[w + DEVICE]!;
    this.#noteAcknowledged(slot);
    words[w + FLAGS]! &= ~SYN_DUE;
  }

  /** The RST of a connection that the owner has aborted or refused; then it is gone. */
  #makeReset(slot: number, made: Made): void {
    const { words, header } = this.#core;
    const w = slot * WORDS;
    if ((words[w + FLAGS]! & RST_DUE) !== 0) {
      this.#describe(slot, TCP_RST | TCP_ACK, words[w + SND_NXT]!);
      header.blockCount = 0;
      header.hasTimestamp = false;
      header.window = 0;
      const bytes = headerBytes(header);
      writeHeader(made.view, made.offset, header, bytes, 0);
      made.length = bytes;
      made.device = words[w + DEVICE]!;
    }
    this.#core.remove(slot);
  }
}
