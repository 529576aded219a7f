// Fragments of datagrams that are not complete yet. The gateway keeps them until all have come, so
// that nobody behind it holds an incomplete datagram, and rules and limits judge the whole one. A
// part that comes twice is ignored; one that overlaps another ends its datagram (RFC 5722, which is
// about IPv6; over IPv4 it is the same attack). Memory has a fixed size. Each owner has a share.
// Where all memory is used, the owner that holds most gives up a datagram, so nobody takes memory
// from others.

import {
  FRAGMENT_BYTES_PER_PEER,
  FRAGMENT_CELL_BYTES,
  FRAGMENTS_APART_V4,
  FRAGMENTS_MS_V4,
  FRAGMENTS_MS_V6,
} from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import { hasMore, unfragmentedBytes } from '../wire/fragment.ts';
import type { InnerPacket } from '../wire/ip.ts';
import { Chains } from './chains.ts';
import { putAddresses } from './flow-hash.ts';
import { CELLS, FragmentCells } from './fragment-cells.ts';

const SHARE_CELLS = FRAGMENT_BYTES_PER_PEER / FRAGMENT_CELL_BYTES;
const BUCKETS = CELLS;

/** Words of a fragment, which has the number of its first cell. */
const PIECE_WORDS = 5;
const NEXT_PIECE = 0;
/** Where it begins and ends in the fragmentable part of the datagram. */
const START = 1;
const END = 2;
/** Bytes of the packet, and where in it the fragmentable part begins. */
const LENGTH = 3;
const PAYLOAD = 4;

/** Words of a datagram, which has the number of the first cell of the fragment that came first. */
const DATAGRAM_WORDS = 28;
const OWNER = 0;
const VERSION = 1;
const PROTOCOL = 2;
const IDENTIFICATION = 3;
const SOURCE = 4;
const DESTINATION = 8;
const FIRST_PIECE = 12;
const LAST_PIECE = 13;
/** Bytes of its fragmentable part that have come, and of all; -1 while that is not known. */
const COVERED = 14;
const WHOLE_END = 15;
const CELLS_USED = 16;
/** Bytes of its fragments with their headers. */
const BYTES = 17;
const HOP_LIMIT = 18;
const UNFRAGMENTED = 19;
const BUCKET = 20;
const AGE_CHAIN = 21;
const BUCKET_CHAIN = 23;
const OWNER_CHAIN = 25;
/** How many fragments of its owner had come with its last one. */
const COUNT = 27;

/** Lists of datagrams by age: those of IPv4 and those of IPv6. */
const AGE_V4 = 0;
const AGE_V6 = 1;

/** In place of a fragment: the new fragment overlaps another one. */
const OVERLAPS = -1;
/** In place of a fragment: the new fragment has come before. */
const REPEATED = -2;
/** In place of a fragment: nothing comes before it. */
const NOTHING = 0;

/** What a collector is made from. */
export interface CollectorOptions {
  readonly random: Random;
  /** How many owners there may be: their numbers are below. */
  readonly owners: number;
  /** Takes a datagram that is given up; it is forgotten after the call. */
  readonly lose: (datagram: number, reason: number) => void;
}

/** Fragments by datagram. Nothing here allocates for each packet. */
export class FragmentCollector {
  readonly #cells = new FragmentCells();
  readonly #pieces = new Int32Array((CELLS + 1) * PIECE_WORDS);
  readonly #words = new Int32Array((CELLS + 1) * DATAGRAM_WORDS);
  readonly #deadlines = new Float64Array(CELLS + 1);
  readonly #byAge = new Chains(this.#words, DATAGRAM_WORDS, AGE_CHAIN, 2);
  readonly #byHash = new Chains(this.#words, DATAGRAM_WORDS, BUCKET_CHAIN, BUCKETS);
  readonly #byOwner: Chains;
  /** By owner: the cells that it holds. */
  readonly #held: Int32Array;
  /** By owner: the fragments that have come; the number begins anew below zero. */
  readonly #counts: Int32Array;
  /** The owners that hold something, by how many cells. An owner's record is its number plus 1. */
  readonly #byHeld: Chains;
  /** No owner holds more cells. */
  #most = 0;
  readonly #lose: CollectorOptions['lose'];
  /** In an array, because V8 may allocate a number in a field or one that is passed. */
  readonly #now = new Float64Array(1);
  readonly #seed: number;

  constructor({ random, owners, lose }: CollectorOptions) {
    this.#held = new Int32Array(owners);
    this.#counts = new Int32Array(owners);
    this.#byOwner = new Chains(this.#words, DATAGRAM_WORDS, OWNER_CHAIN, owners);
    this.#byHeld = new Chains(new Int32Array((owners + 1) * 2), 2, 0, SHARE_CELLS + 1);
    this.#lose = lose;
    const seed = new Uint8Array(4);
    random(seed);
    this.#seed = new DataView(seed.buffer).getInt32(0);
  }

  // ---- time and owners -----------------------------------------------------------------------

  /** Sets the time until the next call, and gives up what has waited too long by then. */
  begin(now: number): void {
    this.#now[0] = now;
    this.#expire(AGE_V4);
    this.#expire(AGE_V6);
  }

  /** When `begin` has something to give up; infinite while nothing waits. */
  get nextDeadline(): number {
    return Math.min(this.#deadlineOf(AGE_V4), this.#deadlineOf(AGE_V6));
  }

  /** Forgets what an owner holds: the next owner with this number inherits nothing. */
  forget(owner: number): void {
    for (;;) {
      const datagram = this.#byOwner.oldest(owner);
      if (datagram === 0) return;
      this.remove(datagram);
    }
  }

  /** Bytes that an owner holds, in whole cells. */
  heldBy(owner: number): number {
    return this.#held[owner]! * FRAGMENT_CELL_BYTES;
  }

  // ---- fragments -----------------------------------------------------------------------------

  /**
   * Takes a sound fragment. Returns the datagram that it completes, which stays until `remove`; 0
   * where others are missing, or where it is ignored or given up.
   */
  take(view: DataView, offset: number, packet: InnerPacket, owner: number): number {
    const start = packet.fragmentOffset * 8;
    const end = start + packet.length - packet.fragmentedAt;
    const isLast = !hasMore(view, offset, packet);
    this.#counts[owner]!++;
    const known = this.#findFresh(packet, owner);
    let before = NOTHING;
    if (known !== 0) {
      this.#words[known * DATAGRAM_WORDS + COUNT] = this.#counts[owner]!;
      before = this.#placeOf(known, view, offset, packet, start, end);
      if (before === REPEATED) return 0;
      if (before === OVERLAPS) return this.#giveUp(known, reasons.inner_fragment_unsafe);
      if (this.#contradicts(known, end, isLast))
        return this.#giveUp(known, reasons.inner_fragment_malformed);
    }
    const cells = Math.ceil(packet.length / FRAGMENT_CELL_BYTES);
    const isComplete = known !== 0 && this.#completes(known, start, end, isLast);
    if (!this.#makeRoom(owner, cells, known, isComplete)) return 0;
    const piece = this.#cells.store(view, offset, packet.length, cells);
    const datagram = known === 0 ? this.#add(piece, packet, owner) : known;
    this.#note(datagram, piece, view, offset, packet, start, end);
    this.#insert(datagram, piece, before);
    this.#charge(owner, cells);
    const words = this.#words;
    const at = datagram * DATAGRAM_WORDS;
    words[at + CELLS_USED]! += cells;
    if (isLast) words[at + WHOLE_END] = end;
    return words[at + COVERED] === words[at + WHOLE_END] ? datagram : 0;
  }

  /** Forgets a datagram. */
  remove(datagram: number): void {
    const words = this.#words;
    const at = datagram * DATAGRAM_WORDS;
    const owner = words[at + OWNER]!;
    this.#charge(owner, -words[at + CELLS_USED]!);
    this.#byOwner.remove(owner, datagram);
    this.#byHash.remove(words[at + BUCKET]!, datagram);
    this.#byAge.remove(words[at + VERSION] === 4 ? AGE_V4 : AGE_V6, datagram);
    let piece = words[at + FIRST_PIECE]!;
    while (piece !== 0) {
      const following = this.#pieces[piece * PIECE_WORDS + NEXT_PIECE]!;
      this.#cells.release(piece);
      piece = following;
    }
  }

  // ---- what a datagram is --------------------------------------------------------------------

  ownerOf(datagram: number): number {
    return this.#words[datagram * DATAGRAM_WORDS + OWNER]!;
  }

  /** Bytes of all of its fragments, headers included. */
  bytesOf(datagram: number): number {
    return this.#words[datagram * DATAGRAM_WORDS + BYTES]!;
  }

  /** Bytes of the fragmentable part of a complete datagram. */
  endOf(datagram: number): number {
    return this.#words[datagram * DATAGRAM_WORDS + WHOLE_END]!;
  }

  /** The lowest hop limit of its fragments. */
  hopLimitOf(datagram: number): number {
    return this.#words[datagram * DATAGRAM_WORDS + HOP_LIMIT]!;
  }

  /** Bytes of the largest of its fragments that may not be fragmented again; 0: all may. */
  unfragmentedOf(datagram: number): number {
    return this.#words[datagram * DATAGRAM_WORDS + UNFRAGMENTED]!;
  }

  /** Its fragment that comes first in the datagram. */
  firstOf(datagram: number): number {
    return this.#words[datagram * DATAGRAM_WORDS + FIRST_PIECE]!;
  }

  /** The fragment that follows another one of its datagram; 0: it was the last. */
  after(piece: number): number {
    return this.#pieces[piece * PIECE_WORDS + NEXT_PIECE]!;
  }

  /** Where in the fragmentable part a fragment begins. */
  startOf(piece: number): number {
    return this.#pieces[piece * PIECE_WORDS + START]!;
  }

  /** Bytes of a fragment, headers included. */
  lengthOf(piece: number): number {
    return this.#pieces[piece * PIECE_WORDS + LENGTH]!;
  }

  /** Where in a fragment its part of the fragmentable part begins. */
  payloadOf(piece: number): number {
    return this.#pieces[piece * PIECE_WORDS + PAYLOAD]!;
  }

  /** Copies the bytes of a fragment from `from` up to, but without, `to`; to `at` in `target`. */
  copy(piece: number, from: number, to: number, target: Uint8Array, at: number): void {
    this.#cells.copy(piece, from, to, target, at);
  }

  // ---- fragments of a datagram ---------------------------------------------------------------

  #find(packet: InnerPacket, owner: number): number {
    let datagram = this.#byHash.oldest(this.#bucketOf(packet, owner));
    while (datagram !== 0 && !this.#isOf(datagram * DATAGRAM_WORDS, packet, owner))
      datagram = this.#byHash.after(datagram);
    return datagram;
  }

  /**
   * Finds the datagram of a fragment; 0 where there is none. A datagram that is too old for the
   * fragment is given up: its identification is used again, and the new datagram gets no part of
   * the old one.
   */
  #findFresh(packet: InnerPacket, owner: number): number {
    const known = this.#find(packet, owner);
    if (known === 0 || packet.version === 6) return known;
    const apart = (this.#counts[owner]! - this.#words[known * DATAGRAM_WORDS + COUNT]!) | 0;
    if (apart <= FRAGMENTS_APART_V4) return known;
    return this.#giveUp(known, reasons.inner_fragments_expired);
  }

  /**
   * Fragments belong together as their receiver sees it: over IPv4 by addresses, identification and
   * protocol (RFC 791), over IPv6 by addresses and identification alone (RFC 8200, 4.5).
   */
  #isOf(at: number, packet: InnerPacket, owner: number): boolean {
    const words = this.#words;
    return (
      words[at + IDENTIFICATION] === packet.identification &&
      words[at + OWNER] === owner &&
      words[at + VERSION] === packet.version &&
      (packet.version === 6 || words[at + PROTOCOL] === packet.protocol) &&
      words[at + SOURCE] === packet.source0 &&
      words[at + SOURCE + 1] === packet.source1 &&
      words[at + SOURCE + 2] === packet.source2 &&
      words[at + SOURCE + 3] === packet.source3 &&
      words[at + DESTINATION] === packet.destination0 &&
      words[at + DESTINATION + 1] === packet.destination1 &&
      words[at + DESTINATION + 2] === packet.destination2 &&
      words[at + DESTINATION + 3] === packet.destination3
    );
  }

  /** The fragment after which a new one comes, or NOTHING, REPEATED or OVERLAPS. */
  #placeOf(
    datagram: number,
    view: DataView,
    offset: number,
    packet: InnerPacket,
    start: number,
    end: number,
  ): number {
    const pieces = this.#pieces;
    const at = datagram * DATAGRAM_WORDS;
    const last = this.#words[at + LAST_PIECE]!;
    // Most fragments come in order.
    if (pieces[last * PIECE_WORDS + END]! <= start) return last;
    let before = NOTHING;
    let piece = this.#words[at + FIRST_PIECE]!;
    while (piece !== 0 && pieces[piece * PIECE_WORDS + END]! <= start) {
      before = piece;
      piece = pieces[piece * PIECE_WORDS + NEXT_PIECE]!;
    }
    if (piece === 0 || pieces[piece * PIECE_WORDS + START]! >= end) return before;
    return this.#isEqual(piece, view, offset, packet, start, end) ? REPEATED : OVERLAPS;
  }

  #isEqual(
    piece: number,
    view: DataView,
    offset: number,
    packet: InnerPacket,
    start: number,
    end: number,
  ): boolean {
    const at = piece * PIECE_WORDS;
    const pieces = this.#pieces;
    if (pieces[at + START] !== start || pieces[at + END] !== end) return false;
    return this.#cells.holds(
      piece,
      pieces[at + PAYLOAD]!,
      view,
      offset + packet.fragmentedAt,
      end - start,
    );
  }

  /** Whether a fragment says that its datagram ends elsewhere than others say. */
  #contradicts(datagram: number, end: number, isLast: boolean): boolean {
    const at = datagram * DATAGRAM_WORDS;
    const wholeEnd = this.#words[at + WHOLE_END]!;
    const last = this.#words[at + LAST_PIECE]!;
    if (wholeEnd !== -1) return isLast || end > wholeEnd;
    return isLast && this.#pieces[last * PIECE_WORDS + END]! > end;
  }

  #completes(datagram: number, start: number, end: number, isLast: boolean): boolean {
    const at = datagram * DATAGRAM_WORDS;
    const wholeEnd = isLast ? end : this.#words[at + WHOLE_END]!;
    return this.#words[at + COVERED]! + end - start === wholeEnd;
  }

  #insert(datagram: number, piece: number, before: number): void {
    const pieces = this.#pieces;
    const words = this.#words;
    const at = datagram * DATAGRAM_WORDS;
    let following = words[at + FIRST_PIECE]!;
    if (before === NOTHING) words[at + FIRST_PIECE] = piece;
    else {
      following = pieces[before * PIECE_WORDS + NEXT_PIECE]!;
      pieces[before * PIECE_WORDS + NEXT_PIECE] = piece;
    }
    pieces[piece * PIECE_WORDS + NEXT_PIECE] = following;
    if (following === 0) words[at + LAST_PIECE] = piece;
  }

  #add(piece: number, packet: InnerPacket, owner: number): number {
    const words = this.#words;
    const at = piece * DATAGRAM_WORDS;
    const bucket = this.#bucketOf(packet, owner);
    words[at + OWNER] = owner;
    words[at + VERSION] = packet.version;
    words[at + PROTOCOL] = packet.protocol;
    words[at + IDENTIFICATION] = packet.identification;
    putAddresses(words, at + SOURCE, at + DESTINATION, packet);
    words[at + FIRST_PIECE] = 0;
    words[at + LAST_PIECE] = 0;
    words[at + COVERED] = 0;
    words[at + WHOLE_END] = -1;
    words[at + CELLS_USED] = 0;
    words[at + BYTES] = 0;
    words[at + HOP_LIMIT] = 255;
    words[at + UNFRAGMENTED] = 0;
    words[at + BUCKET] = bucket;
    words[at + COUNT] = this.#counts[owner]!;
    this.#byHash.append(bucket, piece);
    this.#byOwner.append(owner, piece);
    this.#byAge.append(packet.version === 4 ? AGE_V4 : AGE_V6, piece);
    this.#deadlines[piece] =
      this.#now[0]! + (packet.version === 4 ? FRAGMENTS_MS_V4 : FRAGMENTS_MS_V6);
    return piece;
  }

  #note(
    datagram: number,
    piece: number,
    view: DataView,
    offset: number,
    packet: InnerPacket,
    start: number,
    end: number,
  ): void {
    const words = this.#words;
    const at = datagram * DATAGRAM_WORDS;
    const unfragmented = unfragmentedBytes(view, offset, packet);
    words[at + COVERED]! += end - start;
    words[at + BYTES]! += packet.length;
    words[at + HOP_LIMIT] = Math.min(words[at + HOP_LIMIT]!, packet.hopLimit);
    words[at + UNFRAGMENTED] = Math.max(words[at + UNFRAGMENTED]!, unfragmented);
    const of = piece * PIECE_WORDS;
    this.#pieces[of + START] = start;
    this.#pieces[of + END] = end;
    this.#pieces[of + LENGTH] = packet.length;
    this.#pieces[of + PAYLOAD] = packet.fragmentedAt;
  }

  // ---- memory --------------------------------------------------------------------------------

  /**
   * Gives up datagrams until an owner may take so many more cells, and they are free. False if
   * `needed`, the datagram that needs these cells, was given up itself. `isComplete`: with these
   * cells the datagram is complete, so others are given up before it.
   */
  #makeRoom(owner: number, cells: number, needed: number, isComplete: boolean): boolean {
    const spared = isComplete ? needed : 0;
    while (this.#held[owner]! + cells > SHARE_CELLS) {
      const chosen = this.#oldestBut(owner, spared);
      this.#giveUp(chosen, reasons.inner_fragments_share);
      if (chosen === needed) return false;
    }
    while (this.#cells.free < cells) {
      const chosen = this.#oldestBut(this.#greediest(), spared);
      this.#giveUp(chosen, reasons.inner_fragments_full);
      if (chosen === needed) return false;
    }
    return true;
  }

  /** The oldest datagram of an owner. `spared` is chosen only if there is no other. */
  #oldestBut(owner: number, spared: number): number {
    const oldest = this.#byOwner.oldest(owner);
    if (oldest !== spared) return oldest;
    const next = this.#byOwner.after(oldest);
    return next === 0 ? oldest : next;
  }

  /** The owner that holds most; somebody must hold something. */
  #greediest(): number {
    while (this.#byHeld.oldest(this.#most) === 0) this.#most--;
    return this.#byHeld.oldest(this.#most) - 1;
  }

  #charge(owner: number, cells: number): void {
    const before = this.#held[owner]!;
    const after = before + cells;
    if (before > 0) this.#byHeld.remove(before, owner + 1);
    if (after > 0) this.#byHeld.append(after, owner + 1);
    if (after > this.#most) this.#most = after;
    this.#held[owner] = after;
  }

  #giveUp(datagram: number, reason: number): 0 {
    this.#lose(datagram, reason);
    this.remove(datagram);
    return 0;
  }

  /** In each family the oldest datagram ends first. */
  #expire(list: number): void {
    for (;;) {
      const oldest = this.#byAge.oldest(list);
      if (oldest === 0 || this.#deadlines[oldest]! > this.#now[0]!) return;
      this.#giveUp(oldest, reasons.inner_fragments_expired);
    }
  }

  #deadlineOf(list: number): number {
    const oldest = this.#byAge.oldest(list);
    return oldest === 0 ? Number.POSITIVE_INFINITY : this.#deadlines[oldest]!;
  }

  #bucketOf(packet: InnerPacket, owner: number): number {
    let hash = Math.imul(owner ^ this.#seed, 0x9e3779b1) ^ packet.destination0 ^ packet.source3;
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ packet.destination3 ^ packet.source0;
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ packet.identification;
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) & (BUCKETS - 1);
  }
}
