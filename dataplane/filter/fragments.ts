// The verdicts on first fragments, for the later ones, which have no ports. The table has a fixed
// size. Each datagram can use one of four places; where all are taken, the one that ends first is
// replaced. Only fragments of peers are kept, because packets from the TUN are not judged.
//
// Fragments belong together as their receiver sees it: over IPv4 by addresses, identification and
// protocol (RFC 791), over IPv6 by addresses and identification alone. Over IPv6 a later fragment
// may name any next header; only that of the first fragment counts (RFC 8200, 4.5), and what
// follows it.

import { putAddresses } from './flow-hash.ts';
import { FRAGMENTED_MS, MAX_FRAGMENTED } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { FIRST_FRAGMENT, type InnerPacket, PROTOCOL_TCP, PROTOCOL_UDP } from '../wire/ip.ts';

/** Words of a place. */
const PLACE_WORDS = 18;
const KIND = 0;
const IDENTIFICATION = 1;
const SOURCE = 2;
const DESTINATION = 6;
const VERSION = 10;
const REASON = 11;
const RULE = 12;
const LEAST_OFFSET = 13;
const PORT = 14;
const JUDGED = 15;
const GENERATION = 16;
const STAGED = 17;
const WAYS = 4;
const TCP_HEADER_BYTES = 20;
const UDP_HEADER_BYTES = 8;

/** In place of a place: no first fragment is known. */
export const NO_FIRST = -1;

/** The first fragments that are remembered. */
export class FragmentTable {
  readonly #words = new Int32Array(MAX_FRAGMENTED * PLACE_WORDS);
  readonly #deadlines = new Float64Array(MAX_FRAGMENTED);
  /** In an array, because V8 may allocate a number in a field or one that is passed. */
  readonly #now = new Float64Array(1);
  readonly #seed: number;

  constructor(random: Random) {
    const seed = new Uint8Array(4);
    random(seed);
    this.#seed = new DataView(seed.buffer).getInt32(0);
  }

  /** Sets the time until the next call. */
  begin(now: number): void {
    this.#now[0] = now;
  }

  /**
   * Makes a place for a first fragment of a sender in that generation. `isJudged` is 1 where the
   * rules for this packet gave the verdict.
   */
  keep(packet: InnerPacket, generation: number, isJudged: number): number {
    let place = this.find(packet, generation);
    if (place === NO_FIRST) place = this.#choose(packet);
    const at = place * PLACE_WORDS;
    const words = this.#words;
    words[at + KIND] = (packet.version << 8) | packet.protocol;
    words[at + IDENTIFICATION] = packet.identification;
    putAddresses(words, at + SOURCE, at + DESTINATION, packet);
    words[at + PORT] = packet.destinationPort;
    words[at + JUDGED] = isJudged;
    words[at + GENERATION] = generation;
    words[at + LEAST_OFFSET] = packet.upperOffset - packet.fragmentedAt + headerBytes(packet);
    this.#deadlines[place] = this.#now[0]! + FRAGMENTED_MS;
    return place;
  }

  /** Stores the verdict of a place, and by which rules, under a version of the rules. */
  setVerdict(place: number, version: number, reason: number, rule: number, staged: number): void {
    const at = place * PLACE_WORDS;
    this.#words[at + VERSION] = version;
    this.#words[at + REASON] = reason;
    this.#words[at + RULE] = rule;
    this.#words[at + STAGED] = staged;
  }

  /** The place of the first fragment that a later one belongs to, or NO_FIRST. */
  find(packet: InnerPacket, generation: number): number {
    const first = this.#firstPlace(packet);
    for (let place = first; place < first + WAYS; place++) {
      if (this.#deadlines[place]! <= this.#now[0]!) continue;
      const at = place * PLACE_WORDS;
      if (this.#words[at + GENERATION] === generation && this.#holds(at, packet)) return place;
    }
    return NO_FIRST;
  }

  /** Whether a later fragment would overwrite what was judged in the first one (RFC 3128). */
  overlaps(place: number, packet: InnerPacket): boolean {
    return packet.fragmentOffset * 8 < this.#words[place * PLACE_WORDS + LEAST_OFFSET]!;
  }

  /** Whether the rules have changed since the verdict of a place. */
  isOutdated(place: number, version: number): boolean {
    const at = place * PLACE_WORDS;
    return this.#words[at + JUDGED] === 1 && this.#words[at + VERSION] !== version;
  }

  /** Fills in the first fragment that `later` belongs to, as the rules would judge it. */
  describe(place: number, first: InnerPacket, later: InnerPacket): void {
    first.version = later.version;
    first.protocol = this.#words[place * PLACE_WORDS + KIND]! & 0xff;
    first.fragment = FIRST_FRAGMENT;
    first.destination0 = later.destination0;
    first.destination1 = later.destination1;
    first.destination2 = later.destination2;
    first.destination3 = later.destination3;
    first.destinationPort = this.#words[place * PLACE_WORDS + PORT]!;
  }

  reasonAt(place: number): number {
    return this.#words[place * PLACE_WORDS + REASON]!;
  }

  ruleAt(place: number): number {
    return this.#words[place * PLACE_WORDS + RULE]!;
  }

  stagedAt(place: number): number {
    return this.#words[place * PLACE_WORDS + STAGED]!;
  }

  #holds(at: number, packet: InnerPacket): boolean {
    const words = this.#words;
    return (
      words[at + IDENTIFICATION] === packet.identification &&
      isOneDatagram(words[at + KIND]!, packet) &&
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

  /** Of the places that a datagram can use, the one that ends first. */
  #choose(packet: InnerPacket): number {
    const first = this.#firstPlace(packet);
    let chosen = first;
    for (let place = first + 1; place < first + WAYS; place++)
      if (this.#deadlines[place]! < this.#deadlines[chosen]!) chosen = place;
    return chosen;
  }

  #firstPlace(packet: InnerPacket): number {
    let hash = Math.imul(packet.source0 ^ packet.source3 ^ this.#seed, 0x9e3779b1);
    hash ^= packet.destination0 ^ packet.destination3;
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ packet.identification;
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return ((hash ^ (hash >>> 16)) & (MAX_FRAGMENTED / WAYS - 1)) * WAYS;
  }
}

function isOneDatagram(kind: number, packet: InnerPacket): boolean {
  if (kind >> 8 !== packet.version) return false;
  return packet.version === 6 || (kind & 0xff) === packet.protocol;
}

/** Bytes of the upper layer's header that the verdict depends on. */
function headerBytes(packet: InnerPacket): number {
  if (packet.protocol === PROTOCOL_TCP) return TCP_HEADER_BYTES;
  return packet.protocol === PROTOCOL_UDP ? UDP_HEADER_BYTES : 0;
}
