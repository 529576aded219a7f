// The flows that the filter remembers: who opened each, whose it is, which rule admitted it, and
// when it ends. Open addressing over typed arrays of fixed size; a look-up allocates nothing,
// changes nothing, and finds a flow from either side. What a flow means for a packet: judge.ts;
// how long a flow lives in lifetime.ts; this file keeps them, bounded, and chooses which one is
// removed when there is no room.

import { FLOWS_SWEPT_PER_FLOW, MAX_FLOWS, MAX_FLOWS_PER_PEER, MAX_PEERS } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import { beginsAnywhere, type InnerPacket, WHOLE } from '../wire/ip.ts';
import { Chains } from './chains.ts';
import { hashOf } from './flow-hash.ts';

/** Words of a flow. It goes from A, who opened it, to B. */
const FLOW_WORDS = 24;
const KIND = 0;
const A = 1;
const A_PORT = 5;
const B = 6;
const B_PORT = 10;
const HASH = 11;
/** Places of the words that judge.ts, tracker.ts and lifetime.ts read and write. */
export const STATE = 12;
export const VERSION = 13;
export const REASON = 14;
export const RULE = 15;
/** Owners of A and B, and the generations of these owners in which the flow was made. */
const A_OWNER = 16;
const A_GENERATION = 17;
const B_OWNER = 18;
const B_GENERATION = 19;
const OWNER_CHAIN = 20;
const COMMON_CHAIN = 22;

/** The owner of everything that is not a peer: what is behind the TUN. */
export const TUN_OWNER = 0;

/** Bits of a flow's state, beside those of lifetime.ts. B has answered. */
export const REPLIED = 1;
/** B may be who opened it. */
export const DOUBTFUL = 32;

/** Owner of a peer's addresses of one family. */
export function ownerOf(peerSlot: number, version: number): number {
  return 1 + peerSlot * 2 + (version === 6 ? 1 : 0);
}

/** Slot of the peer that an owner is. */
export function peerOf(owner: number): number {
  return (owner - 1) >> 1;
}

const OWNERS = 1 + 2 * MAX_PEERS;
const UNREPLIED_LIST = 0;
const REPLIED_LIST = 1;

/** What a table is made of; bounds are smaller in tests. */
export interface FlowTableOptions {
  readonly random: Random;
  readonly capacity?: number;
  readonly quota?: number;
  /** Is told why a flow was forgotten before its end. */
  readonly count?: (reason: number) => void;
}

/** All flows. A flow is a number from 1 on; `find` returns twice that, plus 1 for the reply way. */
export class FlowTable {
  readonly #capacity: number;
  readonly #quota: number;
  readonly #count: (reason: number) => void;
  readonly #words: Int32Array;
  readonly #deadlines: Float64Array;
  /** In an array, because a number in a field, or handed on, may be allocated anew. */
  readonly #now = new Float64Array(1);
  /** Pairs of hash and flow; a flow of 0 is a free place. Twice as many as there are flows. */
  readonly #index: Int32Array;
  readonly #mask: number;
  readonly #seed0: number;
  readonly #seed1: number;
  readonly #generations = new Int32Array(OWNERS);
  readonly #counts = new Int32Array(OWNERS);
  /** By owner: until when it may have conversations that are not in memory any more. */
  readonly #doubtUntil = new Float64Array(OWNERS);
  readonly #byOwner: Chains;
  readonly #common: Chains;
  /** Free flows are chained by this word of theirs. */
  #firstFree = 0;
  #used = 0;
  #live = 0;
  #sweptTo = 0;
  /** The flow of the last packet: packets come in trains. */
  #latest = 0;

  constructor(options: FlowTableOptions) {
    this.#capacity = options.capacity ?? MAX_FLOWS;
    this.#quota = options.quota ?? MAX_FLOWS_PER_PEER;
    this.#count = options.count ?? (() => undefined);
    this.#words = new Int32Array((this.#capacity + 1) * FLOW_WORDS);
    this.#deadlines = new Float64Array(this.#capacity + 1);
    // Written, so that its pages are there: else each new flow would fault in one at random, and
    // memory would climb by up to 4 MB for hours.
    this.#index = new Int32Array(4 * this.#capacity).fill(0);
    this.#mask = 2 * this.#capacity - 1;
    const seeds = new Uint8Array(8);
    options.random(seeds);
    const view = new DataView(seeds.buffer);
    this.#seed0 = view.getInt32(0);
    this.#seed1 = view.getInt32(4);
    this.#byOwner = new Chains(this.#words, FLOW_WORDS, OWNER_CHAIN, 2 * OWNERS);
    this.#common = new Chains(this.#words, FLOW_WORDS, COMMON_CHAIN, 2);
  }

  /** Says what time it is until the next call. */
  begin(now: number): void {
    this.#now[0] = now;
  }

  /** Flows in memory, among them such that have ended and were not met since. */
  get live(): number {
    return this.#live;
  }

  // ---- fields ----

  get(flow: number, field: number): number {
    return this.#words[flow * FLOW_WORDS + field]!;
  }

  set(flow: number, field: number, value: number): void {
    this.#words[flow * FLOW_WORDS + field] = value;
  }

  /** Who opened it: TUN_OWNER or an owner that is a peer. */
  opener(flow: number): number {
    return this.#words[flow * FLOW_WORDS + A_OWNER]!;
  }

  /** To whom it was opened. */
  target(flow: number): number {
    return this.#words[flow * FLOW_WORDS + B_OWNER]!;
  }

  /** Whether what `find` returned goes from this owner to that one. */
  isBetween(found: number, sender: number, receiver: number): boolean {
    const words = this.#words;
    const at = (found >> 1) * FLOW_WORDS;
    return (found & 1) === 0
      ? words[at + A_OWNER] === sender && words[at + B_OWNER] === receiver
      : words[at + B_OWNER] === sender && words[at + A_OWNER] === receiver;
  }

  /** Grows whenever an owner is forgotten. */
  generationOf(owner: number): number {
    return this.#generations[owner]!;
  }

  /** An owner may have conversations that are not in memory, for so many milliseconds. */
  doubt(owner: number, durationMs: number): void {
    this.#doubtUntil[owner] = Math.max(this.#doubtUntil[owner]!, this.#now[0]! + durationMs);
  }

  isInDoubt(owner: number): boolean {
    return this.#doubtUntil[owner]! > this.#now[0]!;
  }

  /** A flow ends in so many milliseconds, if nothing more is said of it. */
  endIn(flow: number, lifetimeMs: number): void {
    this.#deadlines[flow] = this.#now[0]! + lifetimeMs;
  }

  /** A flow ends no sooner than that. */
  endNotBefore(flow: number, lifetimeMs: number): void {
    this.#deadlines[flow] = Math.max(this.#deadlines[flow]!, this.#now[0]! + lifetimeMs);
  }

  /** Fills in a packet as A sends it to B: what the rules judge. */
  describe(flow: number, packet: InnerPacket): void {
    this.#describe(flow, B, B_PORT, packet);
  }

  /** Fills in a packet as B sends it to A: what the rules of B's owner judge. */
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
   * The flow that a packet belongs to, twice, plus 1 where the packet goes from B to A; or 0. It
   * may have ended.
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

  /** The next packet is likely to belong to that flow. */
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

  /** Whether a flow is over, or belonged to somebody who has lost it. */
  hasEnded(flow: number): boolean {
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    const generations = this.#generations;
    return (
      this.#deadlines[flow]! <= this.#now[0]! ||
      generations[words[at + A_OWNER]!] !== words[at + A_GENERATION] ||
      generations[words[at + B_OWNER]!] !== words[at + B_GENERATION]
    );
  }

  // ---- making and removing ----

  /** Remembers the flow that a packet opens. Another one goes where there is no room. */
  add(
    packet: InnerPacket,
    sourcePort: number,
    destinationPort: number,
    opener: number,
    target: number,
  ): number {
    const payer = opener === TUN_OWNER ? target : opener;
    if (this.#counts[payer]! >= this.#quota) this.#evictOf(payer, reasons.flows_share);
    else if (this.#live === this.#capacity) this.#evictFor(payer);
    const flow = this.#take();
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    words[at + KIND] = (packet.version << 8) | packet.protocol;
    words[at + A] = packet.source0;
    words[at + A + 1] = packet.source1;
    words[at + A + 2] = packet.source2;
    words[at + A + 3] = packet.source3;
    words[at + A_PORT] = sourcePort;
    words[at + B] = packet.destination0;
    words[at + B + 1] = packet.destination1;
    words[at + B + 2] = packet.destination2;
    words[at + B + 3] = packet.destination3;
    words[at + B_PORT] = destinationPort;
    words[at + STATE] = 0;
    words[at + A_OWNER] = opener;
    words[at + A_GENERATION] = this.#generations[opener]!;
    words[at + B_OWNER] = target;
    words[at + B_GENERATION] = this.#generations[target]!;
    this.#counts[payer]! += 1;
    this.#byOwner.append(2 * payer + UNREPLIED_LIST, flow);
    this.#common.append(UNREPLIED_LIST, flow);
    this.#insert(flow, hashOf(packet, sourcePort, destinationPort, this.#seed0, this.#seed1));
    this.#latest = flow;
    this.sweep(FLOWS_SWEPT_PER_FLOW, flow);
    return flow;
  }

  /** B has answered: the flow is not among the first to go any more. */
  markReplied(flow: number): void {
    const payer = this.#payer(flow);
    if (this.#isCharged(flow, payer)) {
      this.#byOwner.remove(2 * payer + UNREPLIED_LIST, flow);
      this.#byOwner.append(2 * payer + REPLIED_LIST, flow);
    }
    this.#common.remove(UNREPLIED_LIST, flow);
    this.#common.append(REPLIED_LIST, flow);
    this.#words[flow * FLOW_WORDS + STATE]! |= REPLIED;
  }

  remove(flow: number): void {
    const payer = this.#payer(flow);
    const list = this.get(flow, STATE) & REPLIED;
    if (this.#isCharged(flow, payer)) {
      this.#byOwner.remove(2 * payer + list, flow);
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

  /** Ends all flows of an owner at once, its own and those to it; they are swept out later. */
  forget(owner: number): void {
    this.#generations[owner] = (this.#generations[owner]! + 1) | 0;
    this.#counts[owner] = 0;
    this.#doubtUntil[owner] = 0;
    this.#byOwner.forget(2 * owner + UNREPLIED_LIST);
    this.#byOwner.forget(2 * owner + REPLIED_LIST);
  }

  /** Looks at some flows, in turn with those of the calls before, and removes what has ended. */
  sweep(count: number, except = 0): void {
    for (let i = 0; i < count && this.#live > 0; i++) {
      this.#sweptTo = this.#sweptTo >= this.#used ? 1 : this.#sweptTo + 1;
      const flow = this.#sweptTo;
      if (flow === except || this.#words[flow * FLOW_WORDS + KIND] === 0) continue;
      if (this.hasEnded(flow)) this.remove(flow);
    }
  }

  /** Who pays for a flow with its quota: the peer that opened it, or the one it was opened to. */
  #payer(flow: number): number {
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    return words[at + A_OWNER] === TUN_OWNER ? words[at + B_OWNER]! : words[at + A_OWNER]!;
  }

  /** False once the payer was forgotten: its lists are others' now. */
  #isCharged(flow: number, payer: number): boolean {
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    const generation = words[at + A_OWNER] === TUN_OWNER ? B_GENERATION : A_GENERATION;
    return this.#generations[payer] === words[at + generation];
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
   * Whether an owner is in doubt once a flow of that opener has been added, and `stale` (0: none)
   * has been removed: another flow may have to give way, and put its owners in doubt.
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

  /** The flow that gives way to another one of that payer when `stale` is gone; 0: none. */
  #nextToGo(payer: number, stale: number): number {
    const hasStale = stale !== 0 && this.#payer(stale) === payer && this.#isCharged(stale, payer);
    const isFull = this.#live === this.#capacity && stale === 0;
    if (this.#counts[payer]! - (hasStale ? 1 : 0) < this.#quota) {
      if (!isFull) return 0;
      const unreplied = this.#common.oldest(UNREPLIED_LIST);
      if (unreplied !== 0) return unreplied;
      if (this.#counts[payer] === 0) return this.#common.soonest(REPLIED_LIST, this.#deadlines);
    }
    const unreplied = this.#byOwner.oldest(2 * payer + UNREPLIED_LIST);
    if (unreplied !== 0) return unreplied;
    return this.#byOwner.soonest(2 * payer + REPLIED_LIST, this.#deadlines);
  }

  /** The owner's oldest unreplied flow goes, or else one of its oldest. */
  #evictOf(owner: number, reason: number): void {
    const unreplied = this.#byOwner.oldest(2 * owner + UNREPLIED_LIST);
    const list = 2 * owner + REPLIED_LIST;
    this.#evict(
      unreplied === 0 ? this.#byOwner.passOver(list, this.#deadlines) : unreplied,
      reason,
    );
  }

  /** Anyone's oldest unreplied flow goes; failing that, the owner pays, if it has any. */
  #evictFor(owner: number): void {
    const unreplied = this.#common.oldest(UNREPLIED_LIST);
    if (unreplied !== 0) this.#evict(unreplied, reasons.flows_full);
    else if (this.#counts[owner]! > 0) this.#evictOf(owner, reasons.flows_full);
    else {
      const flow = this.#common.passOver(REPLIED_LIST, this.#deadlines);
      this.#evict(flow, reasons.flows_full);
    }
  }

  /** Removes a flow before its time; whose it was, or may have been, is in doubt for the rest. */
  #evict(flow: number, reason: number): void {
    if (!this.hasEnded(flow)) this.#count(reason);
    const words = this.#words;
    const at = flow * FLOW_WORDS;
    if (beginsAnywhere(words[at + KIND]! & 0xff)) {
      const rest = this.#deadlines[flow]! - this.#now[0]!;
      if (words[at + A_OWNER] !== TUN_OWNER) this.doubt(words[at + A_OWNER]!, rest);
      if ((words[at + STATE]! & DOUBTFUL) !== 0) this.doubt(words[at + B_OWNER]!, rest);
    }
    this.remove(flow);
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

  /** Takes a flow out and moves up what stands behind it, so that no gap ends a search. */
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

/** Whether the words of a packet's IPv6 addresses behind the first stand in these two places. */
function isRestAt(
  words: Int32Array,
  source: number,
  destination: number,
  packet: InnerPacket,
): boolean {
  return (
    words[source + 3] === packet.source3 &&
    words[destination + 3] === packet.destination3 &&
    words[source + 2] === packet.source2 &&
    words[destination + 2] === packet.destination2 &&
    words[source + 1] === packet.source1 &&
    words[destination + 1] === packet.destination1
  );
}
