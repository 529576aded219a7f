// The opening of a connection: LISTEN, SYN-SENT and SYN-RECEIVED (RFC 9293, 3.5, 3.10.7.2 and
// 3.10.7.3), the options of a SYN (RFC 7323, RFC 2018, RFC 6691), initial sequence numbers (RFC
// 6528). A SYN is not answered until the owner says what the host behind it has said.

import {
  ACK_AT,
  ACK_NOW,
  CAN_UNDO,
  CHALLENGED_AT,
  CONNECTING,
  DEVICE,
  END_REPORTED,
  ESTABLISHED,
  FIN_WANTED,
  FIN_WAIT_1,
  FLAGS,
  HEARD_AT,
  IRS,
  IS_ACTIVE,
  IS_IPV6,
  ISS,
  LIFE_AT,
  MAX_SND_WND,
  MSS,
  NEVER,
  PACE_AT,
  PEER_MSS,
  RACK_END,
  RACK_FACK,
  RCV_NXT,
  RCV_SHIFT,
  RETRANSMIT_AT,
  RETRIES,
  RTO,
  SACK_OK,
  SCALED,
  SENT_AT,
  SND_END,
  SND_NXT,
  SND_SHIFT,
  SND_UNA,
  SND_WL1,
  SND_WL2,
  SND_WND,
  STATE,
  SYN_DUE,
  SYN_RECEIVED,
  SYN_SENT,
  TIMES,
  TIMESTAMPS,
  TS_OFFSET,
  TS_RECENT,
  TS_RECENT_AT,
  WAITING,
  WORDS,
} from './columns.ts';
import { OWN_SHIFT } from './congestion.ts';
import { type Core, ENDED_BY_RESET, ENDED_BY_SILENCE } from './core.ts';
import { IPV4_BYTES, IPV6_BYTES } from './header.ts';
import { isAfter, isBefore } from './numbers.ts';
import type { Reassembly } from './reassembly.ts';
import type { Resets } from './resets.ts';
import { beginRtt, takeSample } from './rtt.ts';
import { type Segment, TCP_ACK, TCP_BYTES, TCP_RST, TCP_SYN } from './segment.ts';
import { type Ends, NONE } from './table.ts';

/** What became of a segment. */
export const TAKEN_IN = 0;
/** It cannot be read, or its checksum or its flags are no sense. */
export const IS_MALFORMED = 1;
/** The device has as many connections that are not open as it may have. */
export const CONNECTING_FULL = 2;
/** There is no room for one more connection, or the device has its share of all. */
export const TABLE_FULL = 3;
/** It belongs to no connection, and an RST answers it. */
export const UNKNOWN = 4;

/** RFC 9293, 3.7.1 (MUST-15, SHLD): MSS of a side that says none. */
const DEFAULT_MSS_V4 = 536;
const DEFAULT_MSS_V6 = 1_220;
/** Less is no use to anybody: all 40 bytes of options still leave room. */
const LEAST_MSS = 64;
/** So often a SYN or SYN-ACK is sent, the first time included. */
const SYNS = 5;

/** Opens connections. */
export class Handshake {
  readonly #core: Core;
  readonly #reassembly: Reassembly;
  readonly #resets: Resets;

  constructor(core: Core, reassembly: Reassembly, resets: Resets) {
    this.#core = core;
    this.#reassembly = reassembly;
    this.#resets = resets;
  }

  // ---- what the owner says ----------------------------------------------------------------------

  /** OPEN (RFC 9293, 3.10.1), active: returns the slot, NONE where the table is full. */
  open(device: number, ends: Ends): number {
    const { table, words } = this.#core;
    if (table.find(ends) !== NONE) return NONE;
    const slot = table.add(device, ends, SYN_SENT);
    if (slot === NONE) return NONE;
    this.#prepare(slot, ends);
    words[slot * WORDS + FLAGS]! |= IS_ACTIVE;
    this.#setMss(slot, 0);
    this.#sendSyn(slot);
    return slot;
  }

  /** The host has answered: SYN-ACK. */
  accept(slot: number): void {
    this.#core.words[slot * WORDS + STATE] = SYN_RECEIVED;
    this.#sendSyn(slot);
  }

  #sendSyn(slot: number): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    words[w + FLAGS]! |= SYN_DUE;
    words[w + SND_NXT] = (words[w + ISS]! + 1) | 0;
    times[t + RTO] = 1_000;
    times[t + SENT_AT] = clock[0]!;
    times[t + LIFE_AT] = clock[0]! + 1_000;
    this.#core.makeReady(slot);
    this.#core.schedule(slot);
  }

  /** No answer to SYN or SYN-ACK came: it is sent again, at most five times in all. */
  expire(slot: number): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    words[w + RETRIES]!++;
    if (words[w + RETRIES]! >= SYNS) {
      this.#core.end(slot, ENDED_BY_SILENCE);
      return;
    }
    words[w + FLAGS]! |= SYN_DUE;
    times[slot * TIMES + LIFE_AT] = clock[0]! + 1_000 * 2 ** words[w + RETRIES]!;
    this.#core.makeReady(slot);
  }

  // ---- a segment of no connection ---------------------------------------------------------------

  /** 3.10.7.1 and 3.10.7.2: every port listens, as far as the owner likes. */
  listen(device: number, ends: Ends, segment: Segment): number {
    const { flags } = segment;
    if ((flags & TCP_RST) !== 0) return UNKNOWN;
    if ((flags & TCP_ACK) !== 0 || (flags & TCP_SYN) === 0) {
      this.#resets.answer(device, ends, segment);
      return UNKNOWN;
    }
    const { table, words, owner, connectingMax } = this.#core;
    if (table.connecting[device]! >= connectingMax) return CONNECTING_FULL;
    const slot = table.add(device, ends, WAITING);
    if (slot === NONE) return TABLE_FULL;
    const w = slot * WORDS;
    this.#prepare(slot, ends);
    words[w + FLAGS]! |= CONNECTING;
    table.connecting[device]!++;
    this.#readSyn(slot, segment);
    owner.asked(table.handleOf(slot));
    return TAKEN_IN;
  }

  /** Another segment while the owner has not answered. */
  wait(slot: number, segment: Segment): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const { flags } = segment;
    if ((flags & TCP_RST) !== 0) {
      const offset = (segment.sequence - words[w + IRS]!) | 0;
      if (offset === 0 || offset === 1) this.#core.end(slot, ENDED_BY_RESET);
      return;
    }
    // The device may have given up and asks anew from the same port.
    if ((flags & (TCP_SYN | TCP_ACK)) === TCP_SYN) this.#readSyn(slot, segment);
  }

  // ---- SYN-SENT ---------------------------------------------------------------------------------

  /** 3.10.7.3. */
  answer(slot: number, ends: Ends, segment: Segment): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const { flags, acknowledgement } = segment;
    const hasAck = (flags & TCP_ACK) !== 0;
    // First and second: the acknowledgement must be that of our SYN.
    if (hasAck && acknowledgement !== words[w + SND_NXT]) {
      this.#resets.answer(words[w + DEVICE]!, ends, segment);
      return;
    }
    if ((flags & TCP_RST) !== 0) {
      if (hasAck) this.#core.end(slot, ENDED_BY_RESET);
      return;
    }
    if ((flags & TCP_SYN) === 0) return;
    this.#readSyn(slot, segment);
    if (!hasAck) {
      // Both sides have opened at the same time.
      words[w + STATE] = SYN_RECEIVED;
      words[w + FLAGS]! |= SYN_DUE;
      this.#core.makeReady(slot);
      return;
    }
    words[w + FLAGS]! |= ACK_NOW;
    this.#core.makeReady(slot);
    this.establish(slot, segment);
  }

  /**
   * Both sides have opened at the same time, and this is the other side's SYN-ACK (3.5, figure 7):
   * its number is old by the SYN that it repeats. To repeat ours would be answered in the same way.
   */
  completes(slot: number, segment: Segment): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const isAnswer = (segment.flags & (TCP_SYN | TCP_ACK | TCP_RST)) === (TCP_SYN | TCP_ACK);
    if (words[w + STATE] !== SYN_RECEIVED || !isAnswer) return false;
    const isRepeated = segment.sequence === words[w + IRS];
    if (!isRepeated || segment.acknowledgement !== words[w + SND_NXT]) return false;
    words[w + FLAGS]! |= ACK_NOW;
    this.#core.makeReady(slot);
    this.establish(slot, segment);
    return true;
  }

  // ---- open -------------------------------------------------------------------------------------

  /** Our SYN was acknowledged. False where the connection has ended meanwhile. */
  establish(slot: number, segment: Segment): boolean {
    const { words, times, clock, congestion, owner, table } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    words[w + SND_UNA] = segment.acknowledgement;
    const isClosed = (words[w + FLAGS]! & FIN_WANTED) !== 0;
    words[w + STATE] = isClosed ? FIN_WAIT_1 : ESTABLISHED;
    words[w + FLAGS]! &= ~(SYN_DUE | CAN_UNDO);
    const wasRepeated = words[w + RETRIES]! > 0;
    if (!wasRepeated) {
      clock[1] = clock[0]! - times[t + SENT_AT]!;
      takeSample(times, slot, clock);
    }
    beginRtt(times, slot, wasRepeated);
    words[w + RETRIES] = 0;
    this.#noteWindow(w, segment);
    words[w + RACK_END] = words[w + RACK_FACK] = words[w + SND_UNA]!;
    congestion.begin(slot);
    this.#core.settle(slot);
    times[t + HEARD_AT] = clock[0]!;
    const { keepaliveMs } = this.#core;
    times[t + LIFE_AT] = keepaliveMs === 0 ? NEVER : clock[0]! + keepaliveMs;
    this.#core.schedule(slot);
    // The owner may have given bytes, or closed, before.
    if (isClosed || words[w + SND_END] !== words[w + SND_UNA]) this.#core.makeReady(slot);
    const handle = table.handleOf(slot);
    owner.opened(handle);
    return table.slotOf(handle) === slot;
  }

  #noteWindow(w: number, segment: Segment): void {
    const { words } = this.#core;
    // The window of a SYN is never scaled (RFC 7323, 2.2).
    const shift = (segment.flags & TCP_SYN) === 0 ? words[w + SND_SHIFT]! : 0;
    words[w + SND_WND] = segment.window << shift;
    words[w + MAX_SND_WND] = Math.max(words[w + MAX_SND_WND]!, words[w + SND_WND]!);
    words[w + SND_WL1] = segment.sequence;
    words[w + SND_WL2] = segment.acknowledgement;
  }

  /** What a new row has in any case. */
  #prepare(slot: number, ends: Ends): void {
    const { words, times, hash, clock } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    hash.hash(ends.words, 10);
    // RFC 6528, 3: M + F(addresses, ports, secret), M with a tick of 4 µs.
    const ticks = Math.floor(clock[0]! * 250) | 0;
    words[w + ISS] = (hash.result[0]! + ticks) | 0;
    words[w + TS_OFFSET] = hash.result[1]!;
    words[w + SND_UNA] = words[w + SND_NXT] = words[w + ISS]!;
    words[w + SND_END] = (words[w + ISS]! + 1) | 0;
    words[w + RCV_SHIFT] = OWN_SHIFT;
    times[t + RETRANSMIT_AT] = times[t + ACK_AT] = NEVER;
    times[t + PACE_AT] = times[t + LIFE_AT] = NEVER;
    times[t + CHALLENGED_AT] = Number.NEGATIVE_INFINITY;
  }

  /** The SYN of the other side: its number and its options. */
  #readSyn(slot: number, segment: Segment): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    this.#reassembly.begin(slot, segment.sequence);
    words[w + FLAGS]! &= ~(SACK_OK | TIMESTAMPS | SCALED);
    if (segment.isSackPermitted) words[w + FLAGS]! |= SACK_OK;
    words[w + SND_SHIFT] = Math.max(0, segment.shift);
    if (segment.shift >= 0) words[w + FLAGS]! |= SCALED;
    words[w + RCV_SHIFT] = segment.shift >= 0 ? OWN_SHIFT : 0;
    if (segment.hasTimestamp) {
      words[w + FLAGS]! |= TIMESTAMPS;
      words[w + TS_RECENT] = segment.stamp;
      times[slot * TIMES + TS_RECENT_AT] = clock[0]!;
    }
    words[w + SND_WND] = segment.window;
    words[w + MAX_SND_WND] = segment.window;
    words[w + SND_WL1] = segment.sequence;
    this.#setMss(slot, segment.mss);
  }

  #setMss(slot: number, announced: number): void {
    const { words } = this.#core;
    const isIpv6 = (words[slot * WORDS + FLAGS]! & IS_IPV6) !== 0;
    const standard = isIpv6 ? DEFAULT_MSS_V6 : DEFAULT_MSS_V4;
    words[slot * WORDS + PEER_MSS] = announced === 0 ? standard : Math.max(announced, LEAST_MSS);
    this.fitToMtu(slot);
  }

  /** The MSS that both sides can take; the options of a segment are taken off it (RFC 6691, 3). */
  fitToMtu(slot: number): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    words[w + MSS] = Math.max(LEAST_MSS, Math.min(words[w + PEER_MSS]!, this.ownMss(slot)));
  }

  /** The MSS that is announced: what the device's MTU leaves (RFC 9293, 3.7.1). */
  ownMss(slot: number): number {
    const { words, owner } = this.#core;
    const w = slot * WORDS;
    const ipBytes = (words[w + FLAGS]! & IS_IPV6) === 0 ? IPV4_BYTES : IPV6_BYTES;
    return owner.mtuOf(words[w + DEVICE]!) - ipBytes - TCP_BYTES;
  }

  /**
   * Whether it is a SYN that may take the place of a connection in TIME-WAIT (RFC 6191, 2, and
   * RFC 9293, MAY-2).
   */
  mayReplace(slot: number, segment: Segment): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    if ((segment.flags & (TCP_SYN | TCP_ACK | TCP_RST)) !== TCP_SYN) return false;
    // The owner may still have bytes to take.
    if ((words[w + FLAGS]! & END_REPORTED) === 0) return false;
    if ((words[w + FLAGS]! & TIMESTAMPS) !== 0 && segment.hasTimestamp) {
      if (isAfter(segment.stamp, words[w + TS_RECENT]!)) return true;
      if (isBefore(segment.stamp, words[w + TS_RECENT]!)) return false;
    }
    return isAfter(segment.sequence, words[w + RCV_NXT]!);
  }
}
