// Fragmented datagrams to the TUN that are not complete yet. The kernel joins their fragments to
// translate addresses, and keeps unfinished ones for 30 s (IPv6: 60 s) in 4 MB for all senders. So
// each peer gets a share of that memory, and more is refused: a peer that never finishes its
// datagrams takes nothing from others. The number of records is fixed; nothing is allocated.
//
// A datagram counts as complete only when that is certain, because a sender could pretend it to get
// more than its share. It is certain when the kernel accepts each part and the parts cover the
// datagram from beginning to end: in order, in reverse order, or with one gap at a time. Every
// other datagram counts until the kernel forgets it.

import {
  MAX_UNFINISHED,
  UNFINISHED_BYTES_PER_FRAGMENT,
  UNFINISHED_BYTES_PER_PEER,
  UNFINISHED_MS_V4,
  UNFINISHED_MS_V6,
} from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import { type InnerPacket, LATER_FRAGMENT } from '../wire/ip.ts';
import { Chains } from './chains.ts';
import { isRestAt, putAddresses } from './flow-hash.ts';

/** Words of a record. */
const RECORD_WORDS = 22;
const SLOT = 0;
const VERSION = 1;
const PROTOCOL = 2;
const IDENTIFICATION = 3;
const SOURCE = 4;
const DESTINATION = 8;
/** Bytes that it costs its peer. */
const CHARGE = 12;
/** The bytes that came: from 0 to HEAD, and from GAP_END to TAIL. */
const HEAD = 13;
const GAP_END = 14;
const TAIL = 15;
/** Where the datagram ends, or -1 while that is not known. */
const END = 16;
const LIST = 17;
const AGE_CHAIN = 18;
const BUCKET_CHAIN = 20;

/** Lists of records by age: those of IPv4 and those of IPv6. */
const AGE_V4 = 0;
const AGE_V6 = 1;
const BUCKETS = MAX_UNFINISHED;
const DATAGRAM_BYTES_MAX = 65_535;
const IPV4_HEADER_BYTES = 20;
const IPV6_FRAGMENT_AT = 48;

/** The unfinished datagrams of all peers. */
export class UnfinishedDatagrams {
  readonly #words = new Int32Array((MAX_UNFINISHED + 1) * RECORD_WORDS);
  readonly #deadlines = new Float64Array(MAX_UNFINISHED + 1);
  readonly #byAge = new Chains(this.#words, RECORD_WORDS, AGE_CHAIN, 2);
  readonly #byHash = new Chains(this.#words, RECORD_WORDS, BUCKET_CHAIN, BUCKETS);
  /** By peer slot: bytes of all of its records. */
  readonly #charges: Int32Array;
  readonly #now = new Float64Array(1);
  readonly #seed: number;
  /** The first free record; in a free record, LIST is the next one. */
  #firstFree = 0;
  #used = 0;

  constructor(random: Random, peers: number) {
    this.#charges = new Int32Array(peers);
    const seed = new Uint8Array(4);
    random(seed);
    this.#seed = new DataView(seed.buffer).getInt32(0);
  }

  /** Sets the time until the next call, and forgets what the kernel has forgotten by then. */
  begin(now: number): void {
    this.#now[0] = now;
    this.#expire(AGE_V4);
    this.#expire(AGE_V6);
  }

  /** Judges a fragment of a peer to the TUN. Changes nothing. */
  judge(view: DataView, offset: number, packet: InnerPacket, slot: number): number {
    const start = packet.fragmentOffset * 8;
    const bytes = packet.length - packet.fragmentedAt;
    const more = hasMore(view, offset, packet);
    if (bytes === 0 || (more && bytes % 8 !== 0) || start + bytes > DATAGRAM_BYTES_MAX)
      return reasons.inner_fragment_malformed;
    // The kernel drops such a fragment before it joins anything, and waits for another one.
    if (packet.version === 4 && !isIpv4HeaderIntact(view, offset))
      return reasons.inner_fragment_malformed;
    const charge = bytes + UNFINISHED_BYTES_PER_FRAGMENT;
    if (this.#charges[slot]! + charge > UNFINISHED_BYTES_PER_PEER)
      return reasons.inner_fragments_share;
    const hasRoom = this.#firstFree !== 0 || this.#used < MAX_UNFINISHED;
    return hasRoom || this.#find(packet, slot) !== 0 ? reasons.none : reasons.inner_fragments_full;
  }

  /** Notes a fragment that `judge` accepted and that goes to the TUN. */
  take(view: DataView, offset: number, packet: InnerPacket, slot: number): void {
    const start = packet.fragmentOffset * 8;
    const bytes = packet.length - packet.fragmentedAt;
    const charge = bytes + UNFINISHED_BYTES_PER_FRAGMENT;
    let record = this.#find(packet, slot);
    if (record === 0) record = this.#add(packet, slot);
    this.#words[record * RECORD_WORDS + CHARGE]! += charge;
    this.#charges[slot]! += charge;
    if (isPlain(packet)) this.#cover(record, start, start + bytes, hasMore(view, offset, packet));
  }

  /** Notes a part; removes the record when the datagram is complete. */
  #cover(record: number, start: number, end: number, more: boolean): void {
    const words = this.#words;
    const at = record * RECORD_WORDS;
    if (!more && words[at + END] === -1) words[at + END] = end;
    if (start === words[at + HEAD]) words[at + HEAD] = end;
    else if (words[at + TAIL] === 0) {
      words[at + GAP_END] = start;
      words[at + TAIL] = end;
    } else if (start === words[at + TAIL]) words[at + TAIL] = end;
    else if (end === words[at + GAP_END]) words[at + GAP_END] = start;
    if (words[at + TAIL] !== 0 && words[at + HEAD] === words[at + GAP_END]) {
      words[at + HEAD] = words[at + TAIL]!;
      words[at + GAP_END] = 0;
      words[at + TAIL] = 0;
    }
    if (words[at + HEAD] === words[at + END] && words[at + TAIL] === 0) this.#remove(record);
  }

  // ---- records -------------------------------------------------------------------------------

  #find(packet: InnerPacket, slot: number): number {
    const words = this.#words;
    let record = this.#byHash.oldest(this.#bucketOf(packet, slot));
    while (record !== 0 && !isOf(words, record * RECORD_WORDS, packet, slot))
      record = this.#byHash.after(record);
    return record;
  }

  /** Makes a record; there must be room. */
  #add(packet: InnerPacket, slot: number): number {
    const record = this.#take();
    const words = this.#words;
    const at = record * RECORD_WORDS;
    const bucket = this.#bucketOf(packet, slot);
    words[at + SLOT] = slot;
    words[at + VERSION] = packet.version;
    words[at + PROTOCOL] = packet.protocol;
    words[at + IDENTIFICATION] = packet.identification;
    putAddresses(words, at + SOURCE, at + DESTINATION, packet);
    words[at + CHARGE] = 0;
    words[at + HEAD] = 0;
    words[at + GAP_END] = 0;
    words[at + TAIL] = 0;
    words[at + END] = -1;
    words[at + LIST] = bucket;
    this.#byHash.append(bucket, record);
    this.#byAge.append(packet.version === 4 ? AGE_V4 : AGE_V6, record);
    this.#deadlines[record] =
      this.#now[0]! + (packet.version === 4 ? UNFINISHED_MS_V4 : UNFINISHED_MS_V6);
    return record;
  }

  #take(): number {
    const record = this.#firstFree;
    if (record === 0) return ++this.#used;
    this.#firstFree = this.#words[record * RECORD_WORDS + LIST]!;
    return record;
  }

  #remove(record: number): void {
    const words = this.#words;
    const at = record * RECORD_WORDS;
    this.#charges[words[at + SLOT]!]! -= words[at + CHARGE]!;
    this.#byHash.remove(words[at + LIST]!, record);
    this.#byAge.remove(words[at + VERSION] === 4 ? AGE_V4 : AGE_V6, record);
    words[at + LIST] = this.#firstFree;
    this.#firstFree = record;
  }

  /** Removes what the kernel has forgotten; in each family the oldest ends first. */
  #expire(list: number): void {
    for (;;) {
      const oldest = this.#byAge.oldest(list);
      if (oldest === 0 || this.#deadlines[oldest]! > this.#now[0]!) return;
      this.#remove(oldest);
    }
  }

  #bucketOf(packet: InnerPacket, slot: number): number {
    let hash = Math.imul(slot ^ this.#seed, 0x9e3779b1) ^ packet.destination0 ^ packet.source3;
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ packet.destination3 ^ packet.source0;
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ packet.identification;
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) & (BUCKETS - 1);
  }
}

/** Whether a record is of the datagram of a packet, as the kernel tells datagrams apart. */
function isOf(words: Int32Array, at: number, packet: InnerPacket, slot: number): boolean {
  return (
    words[at + IDENTIFICATION] === packet.identification &&
    words[at + SLOT] === slot &&
    words[at + VERSION] === packet.version &&
    (packet.version === 6 || words[at + PROTOCOL] === packet.protocol) &&
    words[at + SOURCE] === packet.source0 &&
    words[at + DESTINATION] === packet.destination0 &&
    (packet.version === 4 || isRestAt(words, at + SOURCE, at + DESTINATION, packet))
  );
}

/** Whether a fragment has the flag that more follow. A first fragment always has it. */
function hasMore(view: DataView, offset: number, packet: InnerPacket): boolean {
  if (packet.fragment !== LATER_FRAGMENT) return true;
  if (packet.version === 4) return (view.getUint8(offset + 6) & 0x20) !== 0;
  return (view.getUint8(offset + packet.fragmentedAt - 5) & 1) === 1;
}

/**
 * Whether there are no options, for which the kernel might refuse the fragment before it joins
 * anything.
 */
function isPlain(packet: InnerPacket): boolean {
  return packet.fragmentedAt === (packet.version === 4 ? IPV4_HEADER_BYTES : IPV6_FRAGMENT_AT);
}

/**
 * Whether the header checksum is right (RFC 791): the sum of all words of the header is all ones.
 */
function isIpv4HeaderIntact(view: DataView, offset: number): boolean {
  const bytes = (view.getUint8(offset) & 0x0f) << 2;
  let sum = 0;
  for (let i = 0; i < bytes; i += 2) sum += view.getUint16(offset + i);
  sum = (sum & 0xffff) + (sum >>> 16);
  return (sum & 0xffff) + (sum >>> 16) === 0xffff;
}
