// The flows that the filter remembers: who opened each, between which owners, which rule admitted
// it, and when it ends. A hash table with open addressing in typed arrays of fixed size. A look-up
// allocates nothing, changes nothing, and finds a flow from both directions. judge.ts says what a
// flow means for a packet, lifetime.ts how long it lives. This file stores flows, limits them, and
// chooses which one is removed when there is no room.

import { FLOWS_SWEPT_PER_FLOW, MAX_FLOWS, MAX_FLOWS_PER_PEER, MAX_PEERS } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import { beginsAnywhere, type InnerPacket, WHOLE } from '../wire/ip.ts';
import { Chains } from './chains.ts';
import { hashOf, isRestAt, putAddresses } from './flow-hash.ts';

/** Words of a flow. A opened it, towards B. KIND is version << 8 | protocol; 0: it is no flow. */
const FLOW_WORDS = 25;
export const KIND = 0;
export const A = 1;
export const A_PORT = 5;
export const B = 6;
export const B_PORT = 10;
const HASH = 11;
/** Words that judge.ts, tracker.ts and lifetime.ts read and write. */
export const STATE = 12;
export const VERSION = 13;
export const REASON = 14;
export const RULE = 15;
/** The staged rule that would decide in place of RULE. */
export const STAGED = 16;
/** The owners of A and B, and their generations when the flow was made. */
const A_OWNER = 17;
export const A_GENERATION = 18;
const B_OWNER = 19;
export const B_GENERATION = 20;
const OWNER_CHAIN = 21;
const COMMON_CHAIN = 23;

/** The owner of everything behind the TUN. */
export const TUN_OWNER = 0;

/** Bit of the state of a flow: B has replied. lifetime.ts has more bits. */
export const REPLIED = 1;
/** Bit of the state of a flow: its connection is closed. */
export const CLOSED = 16;
/** Bit of the state of a flow: B may be the one who opened it. */
export const DOUBTFUL = 32;

/** The owner that a peer is with its address of one family. */
export function ownerOf(peerSlot: number, version: number): number {
  return 1 + peerSlot * 2 + (version === 6 ? 1 : 0);
}

/** The slot of the peer that an owner is. */
export function peerOf(owner: number): number {
  return (owner - 1) >> 1;
}

const UNREPLIED_LIST = 0;
const REPLIED_LIST = 1;
const CLOSED_LIST = 2;
const LISTS = 3;

/** What a table is made from; tests use smaller limits. */
export interface FlowTableOptions {
  readonly random: Random;
  readonly capacity?: number;
  readonly quota?: number;
  /** How many peers there may be: their slots are below. */
  readonly peers?: number;
  /** Called with the reason when a flow is forgotten before its end. */
  readonly count?: (reason: number) => void;
}

/**
 * All flows. A flow is a number from 1 on; `find` returns twice that, plus 1 for the direction of
 * replies.
 */
export class FlowTable {
  /** The highest number that a flow can have. */
  readonly capacity: number;
  /** Called with a flow before it is removed; `isForRoom`: to make room for another one. */
  onRemove: ((flow: number, isForRoom: boolean) => void) | null = null;
  readonly #quota: number;
  readonly #count: (reason: number) => void;
  readonly #words: Int32Array;
  readonly #deadlines: Float64Array;
  /** In an array, because V8 may allocate a number in a field or one that is passed. */
  readonly #now = new Float64Array(1);
  /** Pairs of hash and flow, twice as many as flows; flow 0 is a free place. */
  readonly #index: Int32Array;
  readonly #mask: number;
  readonly #seed0: number;
  readonly #seed1: number;
  readonly #generations: Int32Array;
  readonly #counts: Int32Array;
  /** By owner: until when it may have flows that were forgotten. */
  readonly #doubtUntil: Float64Array;
  readonly #byOwner: Chains;
  readonly #common: Chains;
  /** The first free flow; in a free flow, OWNER_CHAIN is the next one. */
  #firstFree = 0;
  #used = 0;
  #live = 0;
  #sweptTo = 0;
  /** The flow of the last packet; it is tried first, because packets come in trains. */
  #latest = 0;

  constructor(options: FlowTableOptions) {
    this.capacity = options.capacity ?? MAX_FLOWS;
    this.#quota = options.quota ?? MAX_FLOWS_PER_PEER;
    this.#count = options.count ?? (() => undefined);
    const owners = 1 + 2 * (options.peers ?? MAX_PEERS);
    this.#generations = new Int32Array(owners);
    this.#counts = new Int32Array(owners);
    this.#doubtUntil = new Float64Array(owners);
    this.#words = new Int32Array((this.capacity + 1) * FLOW_WORDS);
    this.#deadlines = new Float64Array(this.capacity + 1);
    // Writing gives the array its memory now. Otherwise each new flow could touch a new page, and
    // memory would grow by up to 4 MB over hours.
    this.#index = new Int32Array(4 * this.capacity).fill(0);
    this.#mask = 2 * this.capacity - 1;
    const seeds = new Uint8Array(8);
    options.random(seeds);
    const view = new DataView(seeds.buffer);
    this.#seed0 = view.getInt32(0);
    this.#seed1 = view.getInt32(4);
    this.#byOwner = new Chains(this.#words, FLOW_WORDS, OWNER_CHAIN, LISTS * owners);
    this.#common = new Chains(this.#words, FLOW_WORDS, COMMON_CHAIN, LISTS);
  }

  /** Sets the time until the next call. */
  begin(now: number): void {
    this.#now[0] = now;
  }

  /** How many flows are in memory, including flows that have ended and were not removed yet. */
  get live(): number {
    return this.#live;
  }

  /** The highest number that a flow has had. */
  get used(): number {
    return this.#used;
  }

  // ---- fields ----

  get(flow: number, field: number): number {
    return this.#words[flow * FLOW_WORDS + field]!;
  }

  set(flow: number, field: number, value: number): void {
    this.#words[flow * FLOW_WORDS + field] = value;
  }

  /** Whether a number is a flow that has not ended. */
  isAlive(flow: number): boolean {
    return this.get(flow, KIND) !== 0 && !this.hasEnded(flow);
  }

  /** The owner who opened a flow. */
  opener(flow: number): number {
    return this.#words[flow * FLOW_WORDS + A_OWNER]!;
  }

  /** The owner towards whom a flow was opened. */
  target(flow: number): number {
    return this.#words[flow * FLOW_WORDS + B_OWNER]!;
  }

  /** Whether a result of `find` goes from `sender` to `receiver`. */
  isBetween(found: number, sender: number, receiver: number): boolean {
    const words = this.#words;
    const at = (found >> 1) * FLOW_WORDS;
    return (found & 1) === 0
      ? words[at + A_OWNER] === sender && words[at + B_OWNER] === receiver
      : words[at + B_OWNER] === sender && words[at + A_OWNER] === receiver;
  }

  /** The generation of an owner; it grows when the owner is forgotten. */
  generationOf(owner: number): number {
    return this.#generations[owner]!;
  }

  /** Notes that for `durationMs` an owner may have flows that are not in memory. */
  doubt(owner: number, durationMs: number): void {
    this.#doubtUntil[owner] = Math.max(this.#doubtUntil[owner]!, this.#now[0]! + durationMs);
  }

  isInDoubt(owner: number): boolean {
    return this.#doubtUntil[owner]! > this.#now[0]!;
  }

  /** Lets a flow end in `lifetimeMs`. */
  endIn(flow: number, lifetimeMs: number): void {
    this.#deadlines[flow] = this.#now[0]! + lifetimeMs;
  }

  /** Lets a flow end in `lifetimeMs`, unless it ends later already. */
  endNotBefore(flow: number, lifetimeMs: number): void {
    this.#deadlines[flow] = Math.max(this.#deadlines[flow]!, this.#now[0]! + lifetimeMs);
  }

  /** Fills in a packet from A to B, for the rules. */
  describe(flow: number, packet: InnerPacket): void {
    this.#describe(flow, B, B_PORT, packet);
  }

  /** Fills in a packet from B to A, for the rules of B's owner. */
  describeReply(flow: number, packet: InnerPacket): void {
    this.#describe(flow, A, A_PORT, packet);
  }

  #describe(flow: number, address: number, port: number, packet: InnerPacket): void {
    const at = flow * FLOW_WORDS;
    const words = this.#words;
    packet.version = words[at + KIND]! >> 8;
    packet.protocol = words[at + KIND]! & 0xff;
    packet.fragment = WHOLE;
    packet.destination0 = words[at + address]!;
    packet.destination1 = words[at + address + 1]!;
    packet.destination2 = words[at + address + 2]!;
    packet.destination3 = words[at + address + 3]!;
    packet.destinationPort = words[at + port]!;
  }

  // ---- finding ----

  /**
   * Twice the number of the flow that a packet belongs to, plus 1 where the packet goes from B to
   * A; or 0. The flow may have ended.
   */
  find(packet: InnerPacket, sourcePort: number, destinationPort: number): number {
    let flow = this.#latest;
    let way = flow === 0 ? -1 : this.#way(flow, packet, sourcePort, destinationPort);
    if (way === -1) {
      const hash = hashOf(packet, sourcePort, destinationPort, this.#seed0, this.#seed1);
      const index = this.#index;
      let at = hash & this.#mask;
      for (;;) {
        flow = index[2 * at + 1]!;
        if (flow === 0) return 0;
        if (index[2 * at] === hash) {
          way = this.#way(flow, packet, sourcePort, destinationPort);
          if (way !== -1) break;
        }
        at = (at + 1) & this.#mask;
      }
    }
    return 2 * flow + way;
  }

  /** Makes `find` try a flow first, because the next packet probably belongs to it. */
  expect(flow: number): void {
    this.#latest = flow;
  }

  #way(flow: number, packet: InnerPacket, sourcePort: number, destinationPort: number): number {
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    if (words[at + KIND] !== ((packet.version << 8) | packet.protocol)) return -1;
    if (
      words[at + A] === packet.source0 &&
      words[at + B] === packet.destination0 &&
      words[at + A_PORT] === sourcePort &&
      words[at + B_PORT] === destinationPort &&
      (packet.version === 4 || isRestAt(words, at + A, at + B, packet))
    )
      return 0;
    return words[at + B] === packet.source0 &&
      words[at + A] === packet.destination0 &&
      words[at + B_PORT] === sourcePort &&
      words[at + A_PORT] === destinationPort &&
      (packet.version === 4 || isRestAt(words, at + B, at + A, packet))
      ? 1
      : -1;
  }

  /** Whether a flow has ended, by time or because an owner was forgotten. */
  hasEnded(flow: number): boolean {
    return this.#deadlines[flow]! <= this.#now[0]! || this.isForgotten(flow);
  }

  /** Whether an owner of a flow was forgotten. */
  isForgotten(flow: number): boolean {
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    const generations = this.#generations;
    return (
      generations[words[at + A_OWNER]!] !== words[at + A_GENERATION] ||
      generations[words[at + B_OWNER]!] !== words[at + B_GENERATION]
    );
  }

  // ---- making and removing ----

  /** Adds the flow that a packet opens. Where there is no room, another flow is removed. */
  add(
    packet: InnerPacket,
    sourcePort: number,
    destinationPort: number,
    opener: number,
    target: number,
  ): number {
    const payer = opener === TUN_OWNER ? target : opener;
    const isShareFull = this.#counts[payer]! >= this.#quota;
    if (isShareFull || this.#live === this.capacity)
      this.#evict(this.#givingWay(payer, isShareFull, 'passOver'), isShareFull);
    const flow = this.#take();
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    words[at + KIND] = (packet.version << 8) | packet.protocol;
    putAddresses(words, at + A, at + B, packet);
    words[at + A_PORT] = sourcePort;
    words[at + B_PORT] = destinationPort;
    words[at + STATE] = 0;
    words[at + A_OWNER] = opener;
    words[at + A_GENERATION] = this.#generations[opener]!;
    words[at + B_OWNER] = target;
    words[at + B_GENERATION] = this.#generations[target]!;
    this.#counts[payer]! += 1;
    this.#byOwner.append(LISTS * payer + UNREPLIED_LIST, flow);
    this.#common.append(UNREPLIED_LIST, flow);
    this.#insert(flow, hashOf(packet, sourcePort, destinationPort, this.#seed0, this.#seed1));
    this.#latest = flow;
    this.sweep(FLOWS_SWEPT_PER_FLOW, flow);
    return flow;
  }

  /**
   * Notes that B has replied, or that the connection is closed. Where there is no room, closed
   * flows are removed first, and then flows without a reply.
   */
  mark(flow: number, bit: typeof REPLIED | typeof CLOSED): void {
    const payer = this.payer(flow);
    const before = this.#listOf(flow);
    this.#words[flow * FLOW_WORDS + STATE]! |= bit;
    const after = this.#listOf(flow);
    if (this.#isCharged(flow, payer)) {
      this.#byOwner.remove(LISTS * payer + before, flow);
      this.#byOwner.append(LISTS * payer + after, flow);
    }
    this.#common.remove(before, flow);
    this.#common.append(after, flow);
  }

  remove(flow: number, isForRoom = false): void {
    this.onRemove?.(flow, isForRoom);
    const payer = this.payer(flow);
    const list = this.#listOf(flow);
    if (this.#isCharged(flow, payer)) {
      this.#byOwner.remove(LISTS * payer + list, flow);
      this.#counts[payer]! -= 1;
    }
    this.#common.remove(list, flow);
    this.#drop(flow);
    const at = flow * FLOW_WORDS;
    this.#words[at + KIND] = 0;
    this.#words[at + OWNER_CHAIN] = this.#firstFree;
    this.#firstFree = flow;
    this.#live--;
    if (this.#latest === flow) this.#latest = 0;
  }

  /** Ends all flows from and to an owner at once; they are removed later. */
  forget(owner: number): void {
    this.#generations[owner] = (this.#generations[owner]! + 1) | 0;
    this.#counts[owner] = 0;
    this.#doubtUntil[owner] = 0;
    for (let list = 0; list < LISTS; list++) this.#byOwner.forget(LISTS * owner + list);
  }

  /**
   * Checks the next `count` flows, in turn with earlier calls, and removes those that have ended.
   */
  sweep(count: number, except = 0): void {
    for (let i = 0; i < count && this.#live > 0; i++) {
      this.#sweptTo = this.#sweptTo >= this.#used ? 1 : this.#sweptTo + 1;
      const flow = this.#sweptTo;
      if (flow === except || this.#words[flow * FLOW_WORDS + KIND] === 0) continue;
      if (this.hasEnded(flow)) this.remove(flow);
    }
  }

  /**
   * The owner in whose quota a flow counts: the peer that opened it, or the one towards which the
   * TUN opened it.
   */
  payer(flow: number): number {
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    return words[at + A_OWNER] === TUN_OWNER ? words[at + B_OWNER]! : words[at + A_OWNER]!;
  }

  /** Whether a flow is in the lists of its payer; false after the payer was forgotten. */
  #isCharged(flow: number, payer: number): boolean {
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    const generation = words[at + A_OWNER] === TUN_OWNER ? B_GENERATION : A_GENERATION;
    return this.#generations[payer] === words[at + generation];
  }

  #listOf(flow: number): number {
    const state = this.#words[flow * FLOW_WORDS + STATE]!;
    return (state & CLOSED) === 0 ? state & REPLIED : CLOSED_LIST;
  }

  #take(): number {
    this.#live++;
    const flow = this.#firstFree;
    if (flow === 0) return ++this.#used;
    this.#firstFree = this.#words[flow * FLOW_WORDS + OWNER_CHAIN]!;
    return flow;
  }

  // ---- making room ----

  /**
   * Whether an owner is in doubt after a new flow of `opener` is added and `stale` (0: none) is
   * removed. Adding it may remove another flow, which puts the owners of that flow in doubt.
   */
  willBeInDoubt(owner: number, opener: number, stale: number): boolean {
    if (this.isInDoubt(owner)) return true;
    const payer = opener === TUN_OWNER ? owner : opener;
    const flow = this.#nextToGo(payer, stale);
    if (flow === 0 || this.#deadlines[flow]! <= this.#now[0]!) return false;
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    if (!beginsAnywhere(words[at + KIND]! & 0xff)) return false;
    if (words[at + A_OWNER] === owner && owner !== TUN_OWNER) return true;
    return words[at + B_OWNER] === owner && (words[at + STATE]! & DOUBTFUL) !== 0;
  }

  /** The flow that is removed for a new one of `payer` when `stale` is gone; 0: none. */
  #nextToGo(payer: number, stale: number): number {
    const hasStale = stale !== 0 && this.payer(stale) === payer && this.#isCharged(stale, payer);
    const isShareFull = this.#counts[payer]! - (hasStale ? 1 : 0) >= this.#quota;
    if (!isShareFull && (stale !== 0 || this.#live < this.capacity)) return 0;
    return this.#givingWay(payer, isShareFull, 'soonest');
  }

  /**
   * The flow that gives way to one of `payer`: the oldest closed one, or else the oldest without a
   * reply, of all unless its share is full; or else one of the oldest of `payer`, or of all.
   */
  #givingWay(payer: number, isShareFull: boolean, choose: 'passOver' | 'soonest'): number {
    const own = LISTS * payer;
    return (
      (isShareFull ? 0 : cheapestOf(this.#common, 0)) ||
      cheapestOf(this.#byOwner, own) ||
      this.#byOwner[choose](own + REPLIED_LIST, this.#deadlines) ||
      this.#common[choose](REPLIED_LIST, this.#deadlines)
    );
  }

  /** Removes a flow before its end. Its owners are in doubt for the rest of its time. */
  #evict(flow: number, isShareFull: boolean): void {
    if (!this.hasEnded(flow)) this.#count(isShareFull ? reasons.flows_share : reasons.flows_full);
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    if (beginsAnywhere(words[at + KIND]! & 0xff)) {
      const rest = this.#deadlines[flow]! - this.#now[0]!;
      if (words[at + A_OWNER] !== TUN_OWNER) this.doubt(words[at + A_OWNER]!, rest);
      if ((words[at + STATE]! & DOUBTFUL) !== 0) this.doubt(words[at + B_OWNER]!, rest);
    }
    this.remove(flow, true);
  }

  // ---- the index ----

  #insert(flow: number, hash: number): void {
    const index = this.#index;
    let at = hash & this.#mask;
    while (index[2 * at + 1] !== 0) at = (at + 1) & this.#mask;
    index[2 * at] = hash;
    index[2 * at + 1] = flow;
    this.#words[flow * FLOW_WORDS + HASH] = hash;
  }

  /** Removes a flow from the index and moves later entries up, so that no gap ends a search. */
  #drop(flow: number): void {
    const index = this.#index;
    const mask = this.#mask;
    let at = this.#words[flow * FLOW_WORDS + HASH]! & mask;
    while (index[2 * at + 1] !== flow) at = (at + 1) & mask;
    for (let next = (at + 1) & mask; index[2 * next + 1] !== 0; next = (next + 1) & mask) {
      const home = index[2 * next]! & mask;
      if (((next - home) & mask) < ((next - at) & mask)) continue;
      index[2 * at] = index[2 * next]!;
      index[2 * at + 1] = index[2 * next + 1]!;
      at = next;
    }
    index[2 * at + 1] = 0;
  }
}

/** Of the lists from `first` on, the oldest closed flow, or the oldest without a reply; 0: none. */
function cheapestOf(chains: Chains, first: number): number {
  return chains.oldest(first + CLOSED_LIST) || chains.oldest(first + UNREPLIED_LIST);
}
