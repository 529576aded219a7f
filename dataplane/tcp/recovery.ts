// What an acknowledgement says about what was sent: which bytes arrived (RFC 9293, 3.10.7.4; SACK:
// RFC 2018; D-SACK: RFC 2883), which are lost (RACK: RFC 8985, 6; without SACK: NewReno, RFC 6582),
// and which timer comes next (RFC 8985, 7 and 8).

import {
  CAN_UNDO,
  DSACK_ROUND,
  DUP_ACKS,
  FLAGS,
  FOR_REORDERING,
  FOR_RTO,
  FOR_TLP,
  IN_DSACK_ROUND,
  LIMITED,
  LOST,
  MIN_RTT,
  MSS,
  NEVER,
  NEWEST,
  OLDEST,
  PIPE,
  RACK_END,
  RACK_FACK,
  RACK_RTT,
  RACK_TIME,
  RECORD_FIRST,
  RECOVERY,
  RECOVERY_END,
  REO_MULT,
  REO_PERSIST,
  REORDERED,
  RETRANSMIT_AT,
  RETRANSMIT_STAMP,
  RETRIES,
  RTO_RECOVERY,
  SACK_OK,
  SACKED,
  SILENT,
  SND_NXT,
  SND_UNA,
  SRTT,
  TIMER,
  TIMES,
  TIMESTAMPS,
  TLP_END,
  TLP_IN_FLIGHT,
  TLP_RETRANS,
  TS_OFFSET,
  WORDS,
} from './columns.ts';
import type { Core } from './core.ts';
import { earlier, isAfter, isBefore } from './numbers.ts';
import { IN_FLIGHT, IS_LOST, IS_SACKED, NO_RECORD } from './records.ts';
import { takeSample, timeoutOf } from './rtt.ts';
import type { Segment } from './segment.ts';

/**
 * Three duplicates are a loss (RFC 5681, 3.2), and so are three segments after it (RFC 8985, 6.2).
 */
const DUPLICATES = 3;
/** RFC 8985, 6.2: recoveries after which a wider window for reordering ends. */
const PERSIST_ROUNDS = 16;
/** RFC 8985, 7.2: the other side may wait so long before it acknowledges a single segment. */
const DELAYED_ACK_MS = 200;
/** RFC 8985, 7.2: before anything is measured. */
const FIRST_PROBE_MS = 1_000;
/** Smaller than every sample: none was taken. */
const NO_SAMPLE = -1;

/** Reads acknowledgements, finds losses, sets the timer. */
export class Recovery {
  readonly #core: Core;
  /** Whether the acknowledgement that is read said anything new. */
  #hasNews = false;
  #echo = 0;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Reads an acceptable acknowledgement: SND.UNA =< SEG.ACK =< SND.NXT. */
  acknowledge(slot: number, segment: Segment, isDuplicate: boolean): void {
    const { words, clock, congestion } = this.#core;
    const w = slot * WORDS;
    const acknowledged = (segment.acknowledgement - words[w + SND_UNA]!) | 0;
    this.#hasNews = acknowledged > 0;
    this.#echo = segment.echo;
    clock[1] = NO_SAMPLE;
    if (acknowledged > 0) this.#shift(slot, segment.acknowledgement);
    const isDsack = segment.blockCount > 0 && this.#readBlocks(slot, segment);
    if (clock[1]! >= 0) takeSample(this.#core.times, slot, clock);
    if (acknowledged > 0) {
      words[w + RETRIES] = 0;
      words[w + DUP_ACKS] = 0;
      if ((words[w + FLAGS]! & CAN_UNDO) !== 0) this.#undoIfSpurious(slot, segment);
    }
    const wasInRecovery = (words[w + FLAGS]! & RECOVERY) !== 0;
    this.#leave(slot, segment.acknowledgement, isDsack);
    this.#readProbe(slot, segment, isDsack);
    if ((words[w + FLAGS]! & SACK_OK) === 0) this.#countDuplicates(slot, acknowledged, isDuplicate);
    else if ((this.#hasNews || isDsack) && this.#mayBeLost(w)) this.#detect(slot);
    const isLimited = (words[w + FLAGS]! & (LIMITED | RECOVERY)) === LIMITED;
    if (acknowledged > 0 && isLimited && !wasInRecovery)
      congestion.acknowledged(slot, acknowledged);
    if (this.#hasNews) this.arm(slot);
  }

  // ---- what arrived -----------------------------------------------------------------------------

  /** Removes what was acknowledged. */
  #shift(slot: number, acknowledgement: number): void {
    const { words, records } = this.#core;
    const w = slot * WORDS;
    for (;;) {
      const record = words[w + RECORD_FIRST]!;
      if (record === NO_RECORD || !isBefore(records.from[record]!, acknowledgement)) break;
      const end = earlier(records.to[record]!, acknowledgement);
      if (records.state[record] !== IS_SACKED) this.#note(slot, record, end);
      if (isAfter(records.to[record]!, acknowledgement)) {
        records.trim(slot, acknowledgement);
        break;
      }
      records.shift(slot);
    }
    words[w + SND_UNA] = acknowledgement;
  }

  /** Reads SACK blocks; returns whether the first one is a D-SACK (RFC 2883, 4). */
  #readBlocks(slot: number, segment: Segment): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    if ((words[w + FLAGS]! & SACK_OK) === 0) return false;
    const { blocks, blockCount } = segment;
    const una = words[w + SND_UNA]!;
    const isInside =
      blockCount > 1 && !isBefore(blocks[0]!, blocks[2]!) && !isAfter(blocks[1]!, blocks[3]!);
    const isDsack = !isAfter(blocks[1]!, una) || isInside;
    for (let i = isDsack ? 1 : 0; i < blockCount; i++) {
      const from = blocks[2 * i]!;
      const to = blocks[2 * i + 1]!;
      if (isBefore(from, una) || isAfter(to, words[w + SND_NXT]!) || !isBefore(from, to)) continue;
      this.#sack(slot, from, to);
    }
    return isDsack;
  }

  #sack(slot: number, from: number, to: number): void {
    const { words, records } = this.#core;
    let record = words[slot * WORDS + RECORD_FIRST]!;
    while (record !== NO_RECORD && !isAfter(records.to[record]!, from))
      record = records.next[record]!;
    while (record !== NO_RECORD && isBefore(records.from[record]!, to)) {
      if (records.state[record] !== IS_SACKED) {
        if (isBefore(records.from[record]!, from)) record = records.split(slot, record, from);
        if (record === NO_RECORD) return;
        if (isAfter(records.to[record]!, to) && records.split(slot, record, to) === NO_RECORD)
          return;
        this.#note(slot, record, records.to[record]!);
        records.sack(slot, record);
        this.#hasNews = true;
      }
      record = records.next[records.join(slot, record)]!;
    }
    // What follows may be delivered already.
    if (record !== NO_RECORD && records.state[record] === IS_SACKED) records.join(slot, record);
  }

  /** A record was delivered up to `to`: RFC 8985, 6.2, steps 1 to 3; the sample of RFC 6298. */
  #note(slot: number, record: number, to: number): void {
    const { words, times, clock, records } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    const sentAt = records.sentAt[record]!;
    const rtt = clock[0]! - sentAt;
    if (records.retransmits[record] === 0) {
      // The latest one that was sent is the nearest to the truth: others waited for it.
      if (clock[1] === NO_SAMPLE || rtt < clock[1]!) clock[1] = rtt;
      if (isBefore(to, words[w + RACK_FACK]!)) words[w + FLAGS]! |= REORDERED;
    } else {
      // It may be the original that was delivered.
      const stamp = (Math.floor(sentAt) + words[w + TS_OFFSET]!) | 0;
      if ((words[w + FLAGS]! & TIMESTAMPS) !== 0 && isBefore(this.#echo, stamp)) return;
      if (rtt < times[t + MIN_RTT]!) return;
    }
    if (isAfter(to, words[w + RACK_FACK]!)) words[w + RACK_FACK] = to;
    const isLater =
      sentAt > times[t + RACK_TIME]! ||
      (sentAt === times[t + RACK_TIME] && isAfter(to, words[w + RACK_END]!));
    if (!isLater) return;
    times[t + RACK_TIME] = sentAt;
    times[t + RACK_RTT] = rtt;
    words[w + RACK_END] = to;
  }

  // ---- what is lost -----------------------------------------------------------------------------

  /** If there is no SACK and no recovery, what is in flight left after all that was delivered. */
  #mayBeLost(w: number): boolean {
    const { words } = this.#core;
    if (words[w + SACKED] !== 0 || words[w + TIMER] === FOR_REORDERING) return true;
    return (words[w + FLAGS]! & (RECOVERY | RTO_RECOVERY)) !== 0;
  }

  /** RFC 8985, 6.2, step 5. Of what is in flight, the oldest come first. */
  #detect(slot: number): void {
    const { words, times, clock, records } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    const latest = times[t + RACK_TIME]!;
    const patience = times[t + RACK_RTT]! + this.#reorderingWindow(slot);
    let deadline = NEVER;
    for (let record = words[w + OLDEST]!; record !== NO_RECORD;) {
      const next = records.newer[record]!;
      const sentAt = records.sentAt[record]!;
      if (sentAt > latest) break;
      if (sentAt < latest || isAfter(words[w + RACK_END]!, records.to[record]!)) {
        if (sentAt + patience <= clock[0]!) this.#lose(slot, record);
        else deadline = Math.min(deadline, sentAt + patience);
      }
      record = next;
    }
    if (words[w + LOST]! > 0) this.#enter(slot);
    if (deadline === NEVER) {
      if (words[w + TIMER] === FOR_REORDERING) this.arm(slot);
      return;
    }
    words[w + TIMER] = FOR_REORDERING;
    times[t + RETRANSMIT_AT] = deadline;
    this.#hasNews = false;
    this.#core.schedule(slot);
  }

  #lose(slot: number, record: number): void {
    this.#core.records.lose(slot, record);
    this.#core.makeReady(slot);
    this.#hasNews = true;
  }

  /** RFC 8985, 6.2, step 4, in ms. */
  #reorderingWindow(slot: number): number {
    const { words, times } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    const flags = words[w + FLAGS]!;
    if ((flags & REORDERED) === 0) {
      if ((flags & (RECOVERY | RTO_RECOVERY)) !== 0) return 0;
      if (words[w + SACKED]! >= DUPLICATES * words[w + MSS]!) return 0;
    }
    const window = ((1 + words[w + REO_MULT]!) * times[t + MIN_RTT]!) / 4;
    return Math.min(window, times[t + SRTT]!);
  }

  /** Enters fast recovery, unless there is a recovery. */
  #enter(slot: number): void {
    const { words, congestion } = this.#core;
    const w = slot * WORDS;
    if ((words[w + FLAGS]! & (RECOVERY | RTO_RECOVERY)) !== 0) return;
    words[w + FLAGS]! |= RECOVERY | CAN_UNDO;
    words[w + RECOVERY_END] = words[w + SND_NXT]!;
    words[w + RETRANSMIT_STAMP] = 0;
    congestion.lost(slot);
  }

  /** Ends a recovery that is over, and keeps account of D-SACKs (RFC 8985, 6.2, step 4). */
  #leave(slot: number, acknowledgement: number, isDsack: boolean): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const flags = words[w + FLAGS]!;
    if ((flags & IN_DSACK_ROUND) !== 0 && !isBefore(acknowledgement, words[w + DSACK_ROUND]!))
      words[w + FLAGS]! &= ~IN_DSACK_ROUND;
    if (isDsack && (words[w + FLAGS]! & IN_DSACK_ROUND) === 0) {
      words[w + FLAGS]! |= IN_DSACK_ROUND;
      words[w + DSACK_ROUND] = words[w + SND_NXT]!;
      words[w + REO_MULT]!++;
      words[w + REO_PERSIST] = PERSIST_ROUNDS;
    }
    if ((flags & (RECOVERY | RTO_RECOVERY)) === 0) return;
    if (isBefore(acknowledgement, words[w + RECOVERY_END]!)) return;
    words[w + FLAGS]! &= ~(RECOVERY | RTO_RECOVERY | CAN_UNDO);
    if (words[w + REO_PERSIST]! > 0 && --words[w + REO_PERSIST]! === 0) words[w + REO_MULT] = 0;
  }

  /** The Eifel detection (RFC 3522, 3.2): what was acknowledged left before it was sent again. */
  #undoIfSpurious(slot: number, segment: Segment): void {
    const { words, records, congestion } = this.#core;
    const w = slot * WORDS;
    const stamp = words[w + RETRANSMIT_STAMP]!;
    words[w + FLAGS]! &= ~CAN_UNDO;
    const hasEcho = (words[w + FLAGS]! & TIMESTAMPS) !== 0 && segment.hasTimestamp;
    if (stamp !== 0 && !(hasEcho && isBefore(segment.echo, stamp))) return;
    congestion.undo(slot);
    // RFC 4015, 3.2: new bytes come next, not those that were only late.
    if ((words[w + FLAGS]! & RTO_RECOVERY) !== 0) records.recall(slot);
    words[w + FLAGS]! &= ~(RECOVERY | RTO_RECOVERY);
  }

  /** RFC 6582, where the other side has no SACK. */
  #countDuplicates(slot: number, acknowledged: number, isDuplicate: boolean): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    const isInRecovery = (words[w + FLAGS]! & RECOVERY) !== 0;
    if (acknowledged > 0) {
      // 3.2, step 3: a partial acknowledgement; the next hole is right there.
      if (isInRecovery) this.#loseFirst(slot);
      return;
    }
    if (!isDuplicate || words[w + RECORD_FIRST] === NO_RECORD) return;
    if (++words[w + DUP_ACKS]! !== DUPLICATES || isInRecovery) return;
    if ((words[w + FLAGS]! & RTO_RECOVERY) !== 0) return;
    this.#loseFirst(slot);
    this.#enter(slot);
  }

  #loseFirst(slot: number): void {
    const { words, records } = this.#core;
    const first = words[slot * WORDS + RECORD_FIRST]!;
    if (first === NO_RECORD || records.state[first] !== IN_FLIGHT) return;
    const end = (records.from[first]! + words[slot * WORDS + MSS]!) | 0;
    if (isBefore(end, records.to[first]!)) records.split(slot, first, end);
    this.#lose(slot, first);
  }

  // ---- timers -----------------------------------------------------------------------------------

  /** RFC 8985, 7.4: what the answer to a tail loss probe says. */
  #readProbe(slot: number, segment: Segment, isDsack: boolean): void {
    const { words, congestion } = this.#core;
    const w = slot * WORDS;
    const flags = words[w + FLAGS]!;
    if ((flags & TLP_IN_FLIGHT) === 0) return;
    const end = words[w + TLP_END]!;
    if (isBefore(segment.acknowledgement, end)) return;
    if ((flags & TLP_RETRANS) === 0 || isDsack) {
      words[w + FLAGS]! &= ~(TLP_IN_FLIGHT | TLP_RETRANS);
      return;
    }
    if (!isAfter(segment.acknowledgement, end) && segment.blockCount === 0 && !this.#hasNews) {
      // A duplicate: the original had arrived.
      words[w + FLAGS]! &= ~(TLP_IN_FLIGHT | TLP_RETRANS);
      return;
    }
    if (!isAfter(segment.acknowledgement, end)) return;
    // The probe has repaired a loss that nothing else has shown.
    words[w + FLAGS]! &= ~(TLP_IN_FLIGHT | TLP_RETRANS);
    if ((words[w + FLAGS]! & (RECOVERY | RTO_RECOVERY)) === 0) congestion.lost(slot);
  }

  /** Sets the timer anew, after progress or after something was sent (RFC 6298, 5; RFC 8985, 8). */
  arm(slot: number): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    if (words[w + RECORD_FIRST] === NO_RECORD) {
      times[t + RETRANSMIT_AT] = NEVER;
      words[w + TIMER] = FOR_RTO;
      return;
    }
    const timeout = clock[0]! + timeoutOf(words, times, slot);
    words[w + TIMER] = FOR_RTO;
    times[t + RETRANSMIT_AT] = timeout;
    if (this.mayProbe(w)) {
      const probe = clock[0]! + this.#probeAfter(w, t);
      if (probe < timeout) {
        words[w + TIMER] = FOR_TLP;
        times[t + RETRANSMIT_AT] = probe;
      }
    }
    this.#core.schedule(slot);
  }

  /** Whether a probe may be sent (RFC 8985, 7.2): in no recovery, and while none is in flight. */
  mayProbe(w: number): boolean {
    const { words } = this.#core;
    const flags = words[w + FLAGS]!;
    const isQuiet = (flags & (RECOVERY | RTO_RECOVERY | TLP_IN_FLIGHT)) === 0;
    return (flags & SACK_OK) !== 0 && isQuiet && words[w + SACKED] === 0 && words[w + NEWEST] !== 0;
  }

  #probeAfter(w: number, t: number): number {
    const { words, times } = this.#core;
    if (times[t + SRTT] === 0) return FIRST_PROBE_MS;
    const isSingle = words[w + PIPE]! <= words[w + MSS]!;
    return 2 * times[t + SRTT]! + (isSingle ? DELAYED_ACK_MS : 0);
  }

  /** The timer for reordering has fired. */
  expireReordering(slot: number): void {
    this.#hasNews = false;
    this.#detect(slot);
    if (this.#hasNews) this.arm(slot);
  }

  /** The retransmission timer has fired: RFC 6298, 5.4 to 5.6; RFC 8985, 6.3. */
  timeOut(slot: number): void {
    const { words, times, clock, records, congestion } = this.#core;
    const w = slot * WORDS;
    const first = words[w + RECORD_FIRST]!;
    // RFC 2018, 8: whoever has reported what it has forgotten now must get everything again.
    const isForgotten = records.state[first] === IS_SACKED;
    const isPlain = (words[w + FLAGS]! & SACK_OK) === 0;
    const patience = times[slot * TIMES + RACK_RTT]! + this.#reorderingWindow(slot);
    for (let record = first; record !== NO_RECORD; record = records.next[record]!) {
      const state = records.state[record];
      if (state === IS_SACKED && isForgotten) records.forget(slot, record);
      if (state !== IN_FLIGHT) continue;
      const isOld = records.sentAt[record]! + patience <= clock[0]!;
      if (record === first || isPlain || isOld) records.lose(slot, record);
    }
    const isFirst = words[w + RETRIES] === 0;
    congestion.timedOut(slot, isFirst);
    words[w + FLAGS]! &= ~(RECOVERY | TLP_IN_FLIGHT | TLP_RETRANS | CAN_UNDO);
    words[w + FLAGS]! |= isFirst ? RTO_RECOVERY | CAN_UNDO : RTO_RECOVERY;
    words[w + RECOVERY_END] = words[w + SND_NXT]!;
    if (isFirst) words[w + RETRANSMIT_STAMP] = 0;
    words[w + RETRIES]!++;
    words[w + SILENT]!++;
    this.arm(slot);
    this.#core.makeReady(slot);
  }

  /** Whether a record may be sent again now: one that is lost. */
  firstLost(slot: number): number {
    const { words, records } = this.#core;
    if (words[slot * WORDS + LOST] === 0) return NO_RECORD;
    let record = words[slot * WORDS + RECORD_FIRST]!;
    while (record !== NO_RECORD && records.state[record] !== IS_LOST)
      record = records.next[record]!;
    return record;
  }
}
