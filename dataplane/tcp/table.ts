// The table of connections: rows by slot, free rows, the index by addresses and ports, and the
// connections of each device. A connection is named by its handle, slot and generation in one
// number, so that a handle of a connection that has ended finds nothing.

import {
  BUCKET,
  BUCKET_NEXT,
  CLOSED,
  DEVICE,
  DEVICE_NEXT,
  DEVICE_PREVIOUS,
  FLAGS,
  GENERATION,
  IS_IPV6,
  LOCAL,
  PORTS,
  REMOTE,
  STATE,
  TIMES,
  WORDS,
} from './columns.ts';
import { mayHaveMore, shareOf } from './numbers.ts';
import type { SipHash } from './siphash.ts';
import type { InnerPacket } from '../wire/ip.ts';
import { wordsOf } from '../wire/network.ts';

/** Slots have so many bits in a handle. */
const SLOT_BITS = 16;
const SLOT_MASK = (1 << SLOT_BITS) - 1;
const GENERATION_MASK = 0x7fff;

/** The slot in a handle, whether or not its connection has ended. */
export function slotOfHandle(handle: number): number {
  return handle & SLOT_MASK;
}

/** No slot; slots begin at 1. */
export const NONE = 0;

/** The addresses and ports of a segment or a connection, as the own side sees them. */
export class Ends {
  isIpv6 = false;
  /** The own address in four words, then that of the device, the ports, and 0. */
  readonly words = new Int32Array(10);
}

/** Sets the addresses to those of a packet of a device; its ports are left. */
export function endsOf(packet: InnerPacket, ends: Ends): void {
  const { words } = ends;
  ends.isIpv6 = packet.version === 6;
  words[0] = packet.destination0;
  words[1] = packet.destination1;
  words[2] = packet.destination2;
  words[3] = packet.destination3;
  words[4] = packet.source0;
  words[5] = packet.source1;
  words[6] = packet.source2;
  words[7] = packet.source3;
}

/** Sets ends to those of a connection that the own side opens: addresses of 4 or 16 bytes. */
export function setEnds(
  ends: Ends,
  own: Uint8Array,
  ownPort: number,
  other: Uint8Array,
  otherPort: number,
): void {
  const { words } = ends;
  ends.isIpv6 = own.length === 16;
  words.fill(0);
  words.set(wordsOf(own), 0);
  words.set(wordsOf(other), 4);
  words[8] = (ownPort << 16) | otherPort;
}

/** All connections. */
export class Table {
  readonly words: Int32Array;
  readonly times: Float64Array;
  readonly capacity: number;
  readonly #hash: SipHash;
  readonly #buckets: Int32Array;
  /** The first connection of each device. */
  readonly #ofDevice: Int32Array;
  /** Connections of each device that are not open yet. */
  readonly connecting: Int32Array;
  /** All connections of each device, and how many it may have. */
  readonly #countOf: Int32Array;
  readonly #perDevice: number;
  /** The connection that was found last: it is tried first, because segments come in trains. */
  #latest = NONE;
  #firstFree = NONE;
  #used = 0;
  #live = 0;

  constructor(capacity: number, devices: number, hash: SipHash) {
    if (capacity > SLOT_MASK) throw new RangeError(`${capacity} connections do not fit`);
    this.capacity = capacity;
    this.words = new Int32Array((capacity + 1) * WORDS);
    this.times = new Float64Array((capacity + 1) * TIMES);
    this.#buckets = new Int32Array(2 ** Math.ceil(Math.log2(2 * capacity)));
    this.#ofDevice = new Int32Array(devices);
    this.connecting = new Int32Array(devices);
    this.#countOf = new Int32Array(devices);
    this.#perDevice = shareOf(capacity);
    this.#hash = hash;
  }

  /** How many connections there are. */
  get live(): number {
    return this.#live;
  }

  /** The handle of the connection in a slot. */
  handleOf(slot: number): number {
    return (this.words[slot * WORDS + GENERATION]! << SLOT_BITS) | slot;
  }

  /** The slot of a handle; NONE where that connection has ended. */
  slotOf(handle: number): number {
    const slot = handle & SLOT_MASK;
    if (slot > this.#used || slot === NONE) return NONE;
    const w = slot * WORDS;
    const isThis = this.words[w + GENERATION] === handle >> SLOT_BITS;
    return isThis && this.words[w + STATE] !== CLOSED ? slot : NONE;
  }

  /**
   * Takes a free row for a connection; NONE where the table is full, or the device has its share of
   * it. All other columns are 0.
   */
  add(device: number, ends: Ends, state: number): number {
    const left = this.capacity - this.live;
    if (!mayHaveMore(this.#countOf[device]!, this.#perDevice, left)) return NONE;
    const slot = this.#takeFree();
    if (slot === NONE) return NONE;
    this.#countOf[device]!++;
    const words = this.words;
    const w = slot * WORDS;
    const generation = words[w + GENERATION]!;
    words.fill(0, w, w + WORDS);
    this.times.fill(0, slot * TIMES, (slot + 1) * TIMES);
    words[w + GENERATION] = generation;
    words[w + STATE] = state;
    words[w + DEVICE] = device;
    if (ends.isIpv6) words[w + FLAGS] = IS_IPV6;
    for (let i = 0; i < 9; i++) words[w + LOCAL + i] = ends.words[i]!;
    this.#index(slot, ends);
    this.#chain(slot, device);
    this.#live++;
    return slot;
  }

  /** Frees a row; its handle finds nothing from now on. */
  remove(slot: number): void {
    const words = this.words;
    const w = slot * WORDS;
    if (this.#latest === slot) this.#latest = NONE;
    this.#unindex(slot);
    this.#unchain(slot);
    this.#countOf[words[w + DEVICE]!]!--;
    words[w + STATE] = CLOSED;
    words[w + GENERATION] = (words[w + GENERATION]! + 1) & GENERATION_MASK;
    words[w + DEVICE_NEXT] = this.#firstFree;
    this.#firstFree = slot;
    this.#live--;
  }

  /** The connection between these ends; NONE where there is none. */
  find(ends: Ends): number {
    if (this.#latest !== NONE && this.#isBetween(this.#latest, ends)) return this.#latest;
    let slot = this.#buckets[this.#bucketOf(ends)]!;
    while (slot !== NONE && !this.#isBetween(slot, ends))
      slot = this.words[slot * WORDS + BUCKET_NEXT]!;
    this.#latest = slot;
    return slot;
  }

  #isBetween(slot: number, ends: Ends): boolean {
    const words = this.words;
    const wanted = ends.words;
    const w = slot * WORDS;
    if (words[w + PORTS] !== wanted[8] || words[w + REMOTE] !== wanted[4]) return false;
    if (words[w + LOCAL] !== wanted[0]) return false;
    if (((words[w + FLAGS]! & IS_IPV6) !== 0) !== ends.isIpv6) return false;
    return !ends.isIpv6 || this.#isRest(w, wanted);
  }

  /** Copies the ends of a connection. */
  copyEnds(slot: number, ends: Ends): void {
    const w = slot * WORDS;
    ends.isIpv6 = (this.words[w + FLAGS]! & IS_IPV6) !== 0;
    for (let i = 0; i < 9; i++) ends.words[i] = this.words[w + LOCAL + i]!;
    ends.words[9] = 0;
  }

  /** The first connection of a device; DEVICE_NEXT has the next one. */
  firstOf(device: number): number {
    return this.#ofDevice[device]!;
  }

  #isRest(w: number, wanted: Int32Array): boolean {
    for (let i = 1; i < 8; i++) if (this.words[w + LOCAL + i] !== wanted[i]) return false;
    return true;
  }

  #takeFree(): number {
    const slot = this.#firstFree;
    if (slot === NONE) return this.#used === this.capacity ? NONE : ++this.#used;
    this.#firstFree = this.words[slot * WORDS + DEVICE_NEXT]!;
    return slot;
  }

  #bucketOf(ends: Ends): number {
    return this.#hash.hash(ends.words, 10) & (this.#buckets.length - 1);
  }

  #index(slot: number, ends: Ends): void {
    const bucket = this.#bucketOf(ends);
    this.words[slot * WORDS + BUCKET] = bucket;
    this.words[slot * WORDS + BUCKET_NEXT] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
  }

  #unindex(slot: number): void {
    const words = this.words;
    const next = words[slot * WORDS + BUCKET_NEXT]!;
    const bucket = words[slot * WORDS + BUCKET]!;
    let at = this.#buckets[bucket]!;
    if (at === slot) {
      this.#buckets[bucket] = next;
      return;
    }
    while (words[at * WORDS + BUCKET_NEXT] !== slot) at = words[at * WORDS + BUCKET_NEXT]!;
    words[at * WORDS + BUCKET_NEXT] = next;
  }

  #chain(slot: number, device: number): void {
    const words = this.words;
    const next = this.#ofDevice[device]!;
    words[slot * WORDS + DEVICE_NEXT] = next;
    if (next !== NONE) words[next * WORDS + DEVICE_PREVIOUS] = slot;
    this.#ofDevice[device] = slot;
  }

  #unchain(slot: number): void {
    const words = this.words;
    const next = words[slot * WORDS + DEVICE_NEXT]!;
    const previous = words[slot * WORDS + DEVICE_PREVIOUS]!;
    if (next !== NONE) words[next * WORDS + DEVICE_PREVIOUS] = previous;
    if (previous === NONE) this.#ofDevice[words[slot * WORDS + DEVICE]!] = next;
    else words[previous * WORDS + DEVICE_NEXT] = next;
  }
}
