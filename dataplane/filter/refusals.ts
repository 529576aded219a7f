// The packets of devices that were refused lately, for people who ask: one record for each device,
// direction, addresses, protocol, port and reason, with how often and when. A hash table with open
// addressing in typed arrays of fixed size. Where there is no room, the record whose latest packet
// is the oldest is removed: a record of the same device if that device has its share. A packet
// costs the same however many records there are, and allocates nothing.

import { FLOW_LOG_REFUSALS_MS, MAX_PEERS, MAX_REFUSALS, REFUSALS_SHARE } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import type { InnerPacket } from '../wire/ip.ts';
import { Chains } from './chains.ts';
import { hashOf, isRestAt, putAddresses } from './flow-hash.ts';
import type { RefusalSink } from './flow-sink.ts';

/** Words of a record. */
const RECORD_WORDS = 18;
/** Twice the slot of the device, plus 1 where the device sent the packet. */
export const WHO = 0;
/** version << 8 | protocol; 0: the packet could not be read. */
export const REFUSED_KIND = 1;
export const SOURCE = 2;
export const DESTINATION = 6;
export const PORT = 10;
export const REASON = 11;
const HASH = 12;
/** Whether the record is in use. */
const IN_USE = 13;
const OF_DEVICE = 14;
const OF_ALL = 16;

/** Numbers of a record: how many packets, and when the first and the latest one came. */
const NUMBERS = 3;
const COUNT = 0;
const FIRST = 1;
const LATEST = 2;

/**
 * Numbers of the packets that wait for the flow log: packets, bytes, and when the first and latest
 * came.
 */
const WAITING = 4;

/** What is known of refused packets that are alike. */
export interface RefusalRecord {
  /** Slot of the device. */
  readonly slot: number;
  /** Whether the device sent them; else they were for it. */
  readonly isSent: boolean;
  /** 4 or 6; 0: they could not be read, and their addresses and ports are not known. */
  readonly version: number;
  readonly protocol: number;
  /** Four words; IPv4 uses the first. */
  readonly source: Int32Array;
  readonly destination: Int32Array;
  /** The port of the destination; -1: they have none or do not show it. */
  readonly port: number;
  readonly reason: number;
  /** The rule that refused the latest one; null: none did, or it is not known. */
  readonly rule: string | null;
  readonly count: number;
  /** When the first and the latest one came, on the clock of the packet path, in ms. */
  readonly firstAt: number;
  readonly latestAt: number;
}

/** What a table is made from. */
export interface RefusalTableOptions {
  readonly random: Random;
  /** A power of two. */
  readonly capacity?: number;
  /** How many peers there may be: their slots are below. */
  readonly peers?: number;
}

/** Remembers refused packets. A record is a number from 1 on. */
export class RefusalTable {
  readonly #capacity: number;
  readonly #share: number;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #rules: (string | null)[];
  /** In an array, because V8 may allocate a number in a field or one that is passed. */
  readonly #now = new Float64Array(1);
  /** Twice as many places as records; 0 is a free place. */
  readonly #index: Int32Array;
  readonly #mask: number;
  readonly #seed0: number;
  readonly #seed1: number;
  /** By slot of the device: how many records it has. */
  readonly #counts: Int32Array;
  readonly #ofDevice: Chains;
  readonly #ofAll: Chains;
  /** Free records, as a stack. */
  readonly #free: Int32Array;
  #freeCount: number;
  /** Where refused packets are handed on; null: nobody wants them. */
  log: RefusalSink | null = null;
  readonly #waiting: Float64Array;
  /** Records whose packets may wait for the flow log, each once, and how many there are. */
  readonly #queue: Int32Array;
  readonly #isQueued: Uint8Array;
  #queued = 0;
  /** When these records are handed on; in an array, as #now is. */
  readonly #dueAt = new Float64Array(1);
  #forgottenOfShare = 0;
  #forgottenOfAll = 0;

  constructor({ random, capacity = MAX_REFUSALS, peers = MAX_PEERS }: RefusalTableOptions) {
    this.#counts = new Int32Array(peers);
    this.#capacity = capacity;
    this.#share = Math.max(1, capacity / REFUSALS_SHARE);
    this.#words = new Int32Array((capacity + 1) * RECORD_WORDS);
    this.#numbers = new Float64Array((capacity + 1) * NUMBERS);
    this.#waiting = new Float64Array((capacity + 1) * WAITING);
    this.#queue = new Int32Array(capacity);
    this.#isQueued = new Uint8Array(capacity + 1);
    this.#rules = Array.from({ length: capacity + 1 }, () => null);
    this.#index = new Int32Array(2 * capacity);
    this.#mask = 2 * capacity - 1;
    this.#free = new Int32Array(capacity);
    for (let i = 0; i < capacity; i++) this.#free[i] = capacity - i;
    this.#freeCount = capacity;
    this.#ofDevice = new Chains(this.#words, RECORD_WORDS, OF_DEVICE, peers);
    this.#ofAll = new Chains(this.#words, RECORD_WORDS, OF_ALL, 1);
    const seeds = new Uint8Array(8);
    random(seeds);
    const view = new DataView(seeds.buffer);
    this.#seed0 = view.getInt32(0);
    this.#seed1 = view.getInt32(4);
  }

  /** Sets the time until the next call. */
  begin(now: number): void {
    this.#now[0] = now;
  }

  /** The highest number that a record can have. */
  get capacity(): number {
    return this.#capacity;
  }

  /** How many records were given up: because their device had its share, or all were in use. */
  get forgotten(): { readonly share: number; readonly full: number } {
    return { share: this.#forgottenOfShare, full: this.#forgottenOfAll };
  }

  /**
   * Notes a refused packet; `isSent` is 1 where the device in the slot sent it. The version of a
   * packet that could not be read is 0, and so are its addresses.
   */
  note(
    slot: number,
    isSent: number,
    packet: InnerPacket,
    reason: number,
    rule: string | null,
  ): void {
    const who = 2 * slot + isSent;
    const hash = this.#hashOf(who, packet, reason);
    let record = this.#find(hash, who, packet, reason);
    if (record === 0) record = this.#add(hash, who, packet, reason);
    else {
      this.#ofDevice.remove(slot, record);
      this.#ofAll.remove(0, record);
    }
    this.#ofDevice.append(slot, record);
    this.#ofAll.append(0, record);
    const at = record * NUMBERS;
    this.#numbers[at + COUNT]! += 1;
    this.#numbers[at + LATEST] = this.#now[0]!;
    this.#rules[record] = rule;
    if (this.log !== null) this.#keepForLog(record, packet.length);
  }

  /** Forgets the packets of a device that goes: its slot may be given to another one. */
  forget(slot: number): void {
    for (;;) {
      const record = this.#ofDevice.oldest(slot);
      if (record === 0) return;
      this.#remove(record);
    }
  }

  /** What a record says; null: no packets have this number now. */
  read(record: number): RefusalRecord | null {
    const words = this.#words;
    const at = record * RECORD_WORDS;
    if (words[at + IN_USE] === 0) return null;
    const numbers = record * NUMBERS;
    return {
      slot: words[at + WHO]! >> 1,
      isSent: (words[at + WHO]! & 1) === 1,
      version: words[at + REFUSED_KIND]! >> 8,
      protocol: words[at + REFUSED_KIND]! & 0xff,
      source: words.subarray(at + SOURCE, at + SOURCE + 4),
      destination: words.subarray(at + DESTINATION, at + DESTINATION + 4),
      port: words[at + PORT]!,
      reason: words[at + REASON]!,
      rule: this.#rules[record]!,
      count: this.#numbers[numbers + COUNT]!,
      firstAt: this.#numbers[numbers + FIRST]!,
      latestAt: this.#numbers[numbers + LATEST]!,
    };
  }

  // ---- handing on ----------------------------------------------------------------------------

  /** When `handOn` must be called next; infinite while nothing waits. */
  get nextHandOn(): number {
    return this.#queued === 0 ? Number.POSITIVE_INFINITY : this.#dueAt[0]!;
  }

  /** Hands on at most `count` records whose packets wait. */
  handOn(count: number): void {
    for (let i = 0; i < count && this.#queued > 0; i++) {
      const record = this.#queue[--this.#queued]!;
      this.#isQueued[record] = 0;
      this.#handOn(record);
    }
  }

  #keepForLog(record: number, bytes: number): void {
    const waiting = this.#waiting;
    const at = record * WAITING;
    const now = this.#now[0]!;
    if (waiting[at] === 0) waiting[at + 2] = now;
    waiting[at]! += 1;
    waiting[at + 1]! += bytes;
    waiting[at + 3] = now;
    if (this.#isQueued[record] === 1) return;
    if (this.#queued === 0) this.#dueAt[0] = now + FLOW_LOG_REFUSALS_MS;
    this.#isQueued[record] = 1;
    this.#queue[this.#queued++] = record;
  }

  #handOn(record: number): void {
    const waiting = this.#waiting;
    const at = record * WAITING;
    if (waiting[at] === 0) return;
    this.log?.refused(this.#words, record * RECORD_WORDS, waiting, at, this.#rules[record]!);
    waiting[at] = 0;
    waiting[at + 1] = 0;
  }

  // ---- finding -------------------------------------------------------------------------------

  #hashOf(who: number, packet: InnerPacket, reason: number): number {
    const hash = hashOf(packet, 0, packet.destinationPort, this.#seed0, this.#seed1);
    return hash ^ Math.imul((who << 8) ^ reason, 0x9e3779b1);
  }

  #find(hash: number, who: number, packet: InnerPacket, reason: number): number {
    let at = hash & this.#mask;
    for (;;) {
      const record = this.#index[at]!;
      if (record === 0 || this.#is(record, hash, who, packet, reason)) return record;
      at = (at + 1) & this.#mask;
    }
  }

  #is(record: number, hash: number, who: number, packet: InnerPacket, reason: number): boolean {
    const words = this.#words;
    const at = record * RECORD_WORDS;
    return (
      words[at + HASH] === hash &&
      words[at + WHO] === who &&
      words[at + REASON] === reason &&
      words[at + REFUSED_KIND] === ((packet.version << 8) | packet.protocol) &&
      words[at + PORT] === packet.destinationPort &&
      words[at + SOURCE] === packet.source0 &&
      words[at + DESTINATION] === packet.destination0 &&
      isRestAt(words, at + SOURCE, at + DESTINATION, packet)
    );
  }

  // ---- adding and removing -------------------------------------------------------------------

  #add(hash: number, who: number, packet: InnerPacket, reason: number): number {
    this.#makeRoom(who >> 1);
    const record = this.#free[--this.#freeCount]!;
    const words = this.#words;
    const at = record * RECORD_WORDS;
    words[at + WHO] = who;
    words[at + REFUSED_KIND] = (packet.version << 8) | packet.protocol;
    putAddresses(words, at + SOURCE, at + DESTINATION, packet);
    words[at + PORT] = packet.destinationPort;
    words[at + REASON] = reason;
    words[at + HASH] = hash;
    words[at + IN_USE] = 1;
    this.#numbers[record * NUMBERS + COUNT] = 0;
    this.#numbers[record * NUMBERS + FIRST] = this.#now[0]!;
    this.#counts[who >> 1]! += 1;
    this.#insert(record, hash);
    return record;
  }

  /** Gives up a record where a device has its share, or where all records are in use. */
  #makeRoom(slot: number): void {
    if (this.#counts[slot]! >= this.#share) {
      this.#remove(this.#ofDevice.oldest(slot));
      this.#forgottenOfShare++;
    } else if (this.#freeCount === 0) {
      this.#remove(this.#ofAll.oldest(0));
      this.#forgottenOfAll++;
    }
  }

  #remove(record: number): void {
    const words = this.#words;
    const at = record * RECORD_WORDS;
    const slot = words[at + WHO]! >> 1;
    this.#handOn(record);
    this.#ofDevice.remove(slot, record);
    this.#ofAll.remove(0, record);
    this.#drop(record);
    this.#counts[slot]! -= 1;
    this.#rules[record] = null;
    words[at + IN_USE] = 0;
    this.#free[this.#freeCount++] = record;
  }

  #insert(record: number, hash: number): void {
    let at = hash & this.#mask;
    while (this.#index[at] !== 0) at = (at + 1) & this.#mask;
    this.#index[at] = record;
  }

  /** Removes a record from the index and moves later ones up, so that no gap ends a search. */
  #drop(record: number): void {
    const index = this.#index;
    const mask = this.#mask;
    let at = this.#hash(record) & mask;
    while (index[at] !== record) at = (at + 1) & mask;
    for (let next = (at + 1) & mask; index[next] !== 0; next = (next + 1) & mask) {
      const home = this.#hash(index[next]!) & mask;
      if (((next - home) & mask) < ((next - at) & mask)) continue;
      index[at] = index[next]!;
      at = next;
    }
    index[at] = 0;
  }

  #hash(record: number): number {
    return this.#words[record * RECORD_WORDS + HASH]!;
  }
}
