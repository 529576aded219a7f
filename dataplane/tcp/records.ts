// What was sent and is not acknowledged: records of each connection, in a pool that all connections
// share (RFC 8985, 5.1). A record is what left in one run, with the time when it left; a SACK block
// that covers a part of it splits it. Records are in two orders, by sequence and by time. By time
// are only those in flight, neither lost nor delivered, so that RACK reads no others.

import {
  DEVICE,
  LOST,
  NEWEST,
  OLDEST,
  PIPE,
  RECORD_COUNT,
  RECORD_FIRST,
  RECORD_LAST,
  SACKED,
  WORDS,
} from './columns.ts';
import { mayHaveMore, shareOf } from './numbers.ts';

/**
 * One connection has at most so many. At the pace one record leaves in a ms, so this is a round
 * trip of two seconds; who reports each second byte by SACK makes no more work than this.
 */
const PER_CONNECTION = 2_048;

/** No record; records begin at 1. */
export const NO_RECORD = 0;

/**
 * Where a record is: in flight, found lost, or delivered (RFC 8985, 5.1: lost; RFC 2018: SACKed).
 */
export const IN_FLIGHT = 0;
export const IS_LOST = 1;
export const IS_SACKED = 2;

/** The records of all connections. */
export class Records {
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly next: Int32Array;
  readonly #previous: Int32Array;
  /** The record in flight that was sent after this one, and the one before. */
  readonly newer: Int32Array;
  readonly #older: Int32Array;
  readonly state: Int32Array;
  /** How often a record was sent again. */
  readonly retransmits: Int32Array;
  readonly sentAt: Float64Array;
  readonly #words: Int32Array;
  readonly #ofDevice: Int32Array;
  readonly #perDevice: number;
  #firstFree = NO_RECORD;
  #used = 0;
  #live = 0;

  constructor(words: Int32Array, count: number, devices: number) {
    this.#words = words;
    this.#ofDevice = new Int32Array(devices);
    this.#perDevice = shareOf(count);
    const column = (): Int32Array => new Int32Array(count + 1);
    this.from = column();
    this.to = column();
    this.next = column();
    this.#previous = column();
    this.newer = column();
    this.#older = column();
    this.state = column();
    this.retransmits = column();
    this.sentAt = new Float64Array(count + 1);
  }

  /** How many records there are. */
  get live(): number {
    return this.#live;
  }

  /**
   * Whether there is room for one more of a connection; a split needs one too, so some are kept for
   * splits.
   */
  hasRoom(slot: number): boolean {
    const w = slot * WORDS;
    const ofDevice = this.#ofDevice[this.#words[w + DEVICE]!]!;
    const left = this.next.length - 1 - (this.next.length >> 3) - this.#live;
    return (
      mayHaveMore(ofDevice, this.#perDevice - (this.#perDevice >> 3), left) &&
      this.#words[w + RECORD_COUNT]! < PER_CONNECTION - (PER_CONNECTION >> 3)
    );
  }

  #canSplit(w: number): boolean {
    const ofDevice = this.#ofDevice[this.#words[w + DEVICE]!]!;
    const isRoom = this.#live < this.next.length - 1 && ofDevice < this.#perDevice;
    return isRoom && this.#words[w + RECORD_COUNT]! < PER_CONNECTION;
  }

  /** Adds what is sent for the first time. Its time is written by the caller, into `sentAt`. */
  add(slot: number, from: number, to: number): number {
    const words = this.#words;
    const w = slot * WORDS;
    const last = words[w + RECORD_LAST]!;
    const record = this.#take(w, from, to);
    this.retransmits[record] = 0;
    this.#linkAfter(w, last, record);
    this.#fly(w, record);
    return record;
  }

  /** Marks a record as lost. */
  lose(slot: number, record: number): void {
    const w = slot * WORDS;
    this.#land(w, record);
    this.state[record] = IS_LOST;
    this.#words[w + LOST]! += this.#length(record);
  }

  /** Marks a record as delivered, and joins it with delivered ones beside it. */
  sack(slot: number, record: number): void {
    const w = slot * WORDS;
    const length = this.#length(record);
    if (this.state[record] === IN_FLIGHT) this.#land(w, record);
    else this.#words[w + LOST]! -= length;
    this.state[record] = IS_SACKED;
    this.#words[w + SACKED]! += length;
  }

  /** Joins a delivered record with a delivered one before it; returns what is left of both. */
  join(slot: number, record: number): number {
    const before = this.#previous[record]!;
    if (before === NO_RECORD || this.state[before] !== IS_SACKED) return record;
    this.to[before] = this.to[record]!;
    this.#unlink(slot * WORDS, record);
    return before;
  }

  /** The other side has forgotten a record that it had reported: it is lost. */
  forget(slot: number, record: number): void {
    const w = slot * WORDS;
    const length = this.#length(record);
    this.state[record] = IS_LOST;
    this.#words[w + SACKED]! -= length;
    this.#words[w + LOST]! += length;
  }

  /**
   * What a timeout has found lost, and was not sent again, is in flight after all: it left before
   * everything that is.
   */
  recall(slot: number): void {
    const words = this.#words;
    const w = slot * WORDS;
    let record = words[w + RECORD_LAST]!;
    for (; record !== NO_RECORD; record = this.#previous[record]!) {
      if (this.state[record] !== IS_LOST || this.retransmits[record] !== 0) continue;
      this.state[record] = IN_FLIGHT;
      words[w + LOST]! -= this.#length(record);
      words[w + PIPE]! += this.#length(record);
      this.#insertByTime(w, NO_RECORD, record);
    }
  }

  /** Sends a lost record again. Its time is written by the caller. */
  resend(slot: number, record: number): void {
    const w = slot * WORDS;
    if (this.state[record] === IS_LOST) this.#words[w + LOST]! -= this.#length(record);
    else this.#land(w, record);
    this.retransmits[record]!++;
    this.#fly(w, record);
  }

  /** Splits a record at a number inside of it; returns the later part. False (0): no room. */
  split(slot: number, record: number, at: number): number {
    const w = slot * WORDS;
    if (!this.#canSplit(w)) return NO_RECORD;
    const rest = this.#take(w, at, this.to[record]!);
    this.to[record] = at;
    this.state[rest] = this.state[record]!;
    this.retransmits[rest] = this.retransmits[record]!;
    this.sentAt[rest] = this.sentAt[record]!;
    this.#linkAfter(w, record, rest);
    if (this.state[rest] === IN_FLIGHT) this.#insertByTime(w, record, rest);
    return rest;
  }

  /** Removes the first record, which was acknowledged whole. */
  shift(slot: number): void {
    const w = slot * WORDS;
    const record = this.#words[w + RECORD_FIRST]!;
    this.#settle(w, record, this.#length(record));
    if (this.state[record] === IN_FLIGHT) this.#unlinkByTime(w, record);
    this.#unlink(w, record);
  }

  /** Takes acknowledged bytes from the beginning of the first record. */
  trim(slot: number, to: number): void {
    const w = slot * WORDS;
    const record = this.#words[w + RECORD_FIRST]!;
    this.#settle(w, record, (to - this.from[record]!) | 0);
    this.from[record] = to;
  }

  /** Removes all records of a connection. */
  clear(slot: number): void {
    while (this.#words[slot * WORDS + RECORD_FIRST] !== NO_RECORD) this.shift(slot);
  }

  #length(record: number): number {
    return (this.to[record]! - this.from[record]!) | 0;
  }

  /** Takes so many bytes of a record from the sum that they are in. */
  #settle(w: number, record: number, bytes: number): void {
    const words = this.#words;
    if (this.state[record] === IN_FLIGHT) words[w + PIPE]! -= bytes;
    else if (this.state[record] === IS_LOST) words[w + LOST]! -= bytes;
    else words[w + SACKED]! -= bytes;
  }

  #take(w: number, from: number, to: number): number {
    const record = this.#firstFree === NO_RECORD ? ++this.#used : this.#firstFree;
    if (record === this.#firstFree) this.#firstFree = this.next[record]!;
    this.from[record] = from;
    this.to[record] = to;
    this.#live++;
    this.#words[w + RECORD_COUNT]!++;
    this.#ofDevice[this.#words[w + DEVICE]!]!++;
    return record;
  }

  #linkAfter(w: number, before: number, record: number): void {
    const words = this.#words;
    const next = before === NO_RECORD ? words[w + RECORD_FIRST]! : this.next[before]!;
    this.#previous[record] = before;
    this.next[record] = next;
    if (before === NO_RECORD) words[w + RECORD_FIRST] = record;
    else this.next[before] = record;
    if (next === NO_RECORD) words[w + RECORD_LAST] = record;
    else this.#previous[next] = record;
  }

  #unlink(w: number, record: number): void {
    const words = this.#words;
    const next = this.next[record]!;
    const previous = this.#previous[record]!;
    if (previous === NO_RECORD) words[w + RECORD_FIRST] = next;
    else this.next[previous] = next;
    if (next === NO_RECORD) words[w + RECORD_LAST] = previous;
    else this.#previous[next] = previous;
    this.next[record] = this.#firstFree;
    this.#firstFree = record;
    this.#live--;
    words[w + RECORD_COUNT]!--;
    this.#ofDevice[words[w + DEVICE]!]!--;
  }

  /** A record is in flight: the newest one. */
  #fly(w: number, record: number): void {
    const words = this.#words;
    this.state[record] = IN_FLIGHT;
    words[w + PIPE]! += this.#length(record);
    this.#insertByTime(w, words[w + NEWEST]!, record);
  }

  /** A record is in flight no more. */
  #land(w: number, record: number): void {
    this.#words[w + PIPE]! -= this.#length(record);
    this.#unlinkByTime(w, record);
  }

  #insertByTime(w: number, after: number, record: number): void {
    const words = this.#words;
    const newer = after === NO_RECORD ? words[w + OLDEST]! : this.newer[after]!;
    this.#older[record] = after;
    this.newer[record] = newer;
    if (after === NO_RECORD) words[w + OLDEST] = record;
    else this.newer[after] = record;
    if (newer === NO_RECORD) words[w + NEWEST] = record;
    else this.#older[newer] = record;
  }

  #unlinkByTime(w: number, record: number): void {
    const words = this.#words;
    const newer = this.newer[record]!;
    const older = this.#older[record]!;
    if (older === NO_RECORD) words[w + OLDEST] = newer;
    else this.newer[older] = newer;
    if (newer === NO_RECORD) words[w + NEWEST] = older;
    else this.#older[newer] = older;
  }
}
