// Captured packets on their way from a worker to the main thread: a ring in shared memory, with one
// writer and one reader. The packet path never waits for the reader: packets for which there is no
// room are counted and left out. A worker that is started again goes on where the one before it
// stopped.

import { CAPTURE_HEADER_BYTES, CAPTURE_RING_BYTES } from '../constants.ts';
import { type ReasonName, reasonNames } from '../reasons.ts';

/** Where a packet was captured. */
export const FROM_DEVICE = 0;
export const TO_DEVICE = 1;
export const REFUSED = 2;
/** How many such places there are. */
export const CAPTURE_PLACES = 3;

/** What decided about a packet, in the order of its numbers in a ring. */
const DECIDERS = ['nothing', 'rule', 'default', 'gateway'] as const;
/** What a packet did to a flow, in the order of its numbers in a ring. */
const FLOWS = ['none', 'opens', 'continues'] as const;

/** Words of the header of a ring: how many bytes were written, what was lost, and bytes read. */
const WRITTEN = 0;
const LOST = 1;
const READ = CAPTURE_HEADER_BYTES / 2 / 4;

/** Words of a record. The id of the rule follows where it changes, then the packet. */
const record = {
  bytes: 0,
  place: 1,
  reason: 2,
  flags: 3,
  length: 4,
  captured: 5,
  wallMs: 6,
  segmentBytes: 8,
  ruleBytes: 9,
} as const;
const RECORD_HEADER_BYTES = 48;
const RECORD_ALIGNMENT = 16;
const PLACE_FILLER = -1;
/** Characters of the id of a rule; ids are UUIDs. */
const RULE_BYTES_MAX = 64;
/** In place of the length of the id: the record before has the same id. */
const SAME_RULE = -1;

/** In the flags of a record: the packet goes to the device. */
const FLAG_OUTBOUND = 1;
const DECIDER_SHIFT = 1;
const FLOW_SHIFT = 3;

/** No segment is so short. */
export const UNFINISHED_CHECKSUM = 1;

/** A captured packet. */
export interface CapturedPacket {
  /** FROM_DEVICE, TO_DEVICE or REFUSED. */
  place: number;
  /** Whether it goes to the device. */
  isOutbound: boolean;
  /** Why it was refused; `none`: it passed. */
  reason: ReasonName;
  /**
   * What decided: a rule, the default action, nothing (no rule was asked); `gateway`: it is an
   * answer of the gateway itself.
   */
  by: (typeof DECIDERS)[number];
  /** The id of the deciding rule, as far as it is known. */
  rule: string | null;
  flow: (typeof FLOWS)[number];
  /** Unix time in ms of the batch in which it came. */
  wallMs: number;
  /** Bytes of the whole packet. */
  length: number;
  /** Its first bytes, in the memory of the ring: valid until the reader gives memory back. */
  bytes: Uint8Array;
  /**
   * Bytes of its largest segment where it is a super-packet of several; `UNFINISHED_CHECKSUM` where
   * it is one packet and its checksum is not complete; else 0.
   */
  segmentBytes: number;
}

/** What is written of a packet beside its bytes. */
export type CapturedFacts = Omit<CapturedPacket, 'reason' | 'bytes'> & { reason: number };

/** Makes the memory of a ring. */
export function createCaptureRing(): SharedArrayBuffer {
  return new SharedArrayBuffer(CAPTURE_HEADER_BYTES + CAPTURE_RING_BYTES);
}

/** Makes an object for packets, one after the other. */
export function createCapturedPacket(): CapturedPacket {
  const bytes = new Uint8Array(0);
  const nothing = { reason: 'none', by: 'nothing', rule: null, flow: 'none' } as const;
  const numbers = { place: 0, wallMs: 0, length: 0, segmentBytes: 0 };
  return { ...nothing, ...numbers, isOutbound: false, bytes };
}

/** The end of a worker. */
export class CaptureWriter {
  readonly #words: Int32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Uint8Array;
  /** How many bytes were written, modulo 2^32. */
  #at: number;
  /** The rule of the last record; undefined: there is none of this writer. */
  #rule: string | null | undefined = undefined;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.#at = Atomics.load(this.#words, WRITTEN);
  }

  /** Copies the first bytes of a packet, from `offset` on; what finds no room is counted. */
  write(facts: CapturedFacts, from: Uint8Array, offset: number, captured: number): void {
    const words = this.#words;
    const isSameRule = facts.rule === this.#rule;
    const rule = isSameRule ? '' : (facts.rule ?? '');
    const ruleBytes = Math.min(rule.length, RULE_BYTES_MAX);
    const size = aligned(RECORD_HEADER_BYTES + ruleBytes + captured);
    const start = this.#reserve(size);
    if (start === -1) {
      Atomics.add(words, LOST + facts.place, 1);
      return;
    }
    const word = start >> 2;
    words[word + record.bytes] = size;
    words[word + record.place] = facts.place;
    words[word + record.reason] = facts.reason;
    words[word + record.flags] = flagsOf(facts);
    words[word + record.length] = facts.length;
    words[word + record.captured] = captured;
    this.#floats[(word + record.wallMs) >> 1] = facts.wallMs;
    words[word + record.segmentBytes] = facts.segmentBytes;
    words[word + record.ruleBytes] = isSameRule ? SAME_RULE : ruleBytes;
    this.#rule = facts.rule;
    let to = start + RECORD_HEADER_BYTES;
    for (let i = 0; i < ruleBytes; i++) this.#bytes[to++] = rule.charCodeAt(i);
    this.#bytes.set(from.subarray(offset, offset + captured), to);
    this.#at = (this.#at + size) | 0;
    Atomics.store(words, WRITTEN, this.#at);
  }

  /** Makes room for a record in one piece: where it begins, or -1. */
  #reserve(size: number): number {
    const rest = CAPTURE_RING_BYTES - ((this.#at >>> 0) % CAPTURE_RING_BYTES);
    const filler = rest < size ? rest : 0;
    const used = (this.#at - Atomics.load(this.#words, READ)) >>> 0;
    if (used + filler + size > CAPTURE_RING_BYTES) return -1;
    if (filler > 0) {
      const word = startOf(this.#at) >> 2;
      this.#words[word + record.bytes] = filler;
      this.#words[word + record.place] = PLACE_FILLER;
      this.#at = (this.#at + filler) | 0;
    }
    return startOf(this.#at);
  }
}

/** The end of the main thread. */
export class CaptureReader {
  readonly #words: Int32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Uint8Array;
  #at: number;
  /** The rule of the packet that was taken last. */
  #rule: string | null = null;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.#at = Atomics.load(this.#words, READ);
  }

  /** Unix time in ms of the next packet; infinite where there is none. */
  get nextMs(): number {
    const written = Atomics.load(this.#words, WRITTEN);
    while (this.#at !== written) {
      const word = startOf(this.#at) >> 2;
      if (this.#words[word + record.place] !== PLACE_FILLER)
        return this.#floats[(word + record.wallMs) >> 1]!;
      this.#at = (this.#at + this.#words[word + record.bytes]!) | 0;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Takes the packet of which `nextMs` was. */
  take(packet: CapturedPacket): void {
    const words = this.#words;
    const start = startOf(this.#at);
    const word = start >> 2;
    const flags = words[word + record.flags]!;
    const rule = start + RECORD_HEADER_BYTES;
    const ruleBytes = words[word + record.ruleBytes]!;
    const bytes = rule + Math.max(ruleBytes, 0);
    if (ruleBytes === 0) this.#rule = null;
    else if (ruleBytes !== SAME_RULE)
      this.#rule = String.fromCharCode(...this.#bytes.subarray(rule, bytes));
    packet.place = words[word + record.place]!;
    packet.isOutbound = (flags & FLAG_OUTBOUND) !== 0;
    packet.reason = reasonNames[words[word + record.reason]!]!;
    packet.by = DECIDERS[(flags >> DECIDER_SHIFT) & 3]!;
    packet.flow = FLOWS[(flags >> FLOW_SHIFT) & 3]!;
    packet.rule = this.#rule;
    packet.wallMs = this.#floats[(word + record.wallMs) >> 1]!;
    packet.length = words[word + record.length]!;
    packet.segmentBytes = words[word + record.segmentBytes]!;
    packet.bytes = this.#bytes.subarray(bytes, bytes + words[word + record.captured]!);
    this.#at = (this.#at + words[word + record.bytes]!) | 0;
  }

  /** Gives the memory of what was taken back to the worker. */
  free(): void {
    Atomics.store(this.#words, READ, this.#at);
  }

  /** Packets of a place that found no room so far. */
  lost(place: number): number {
    return Atomics.load(this.#words, LOST + place) >>> 0;
  }
}

function flagsOf({ isOutbound, by, flow }: CapturedFacts): number {
  const outbound = isOutbound ? FLAG_OUTBOUND : 0;
  return outbound | (DECIDERS.indexOf(by) << DECIDER_SHIFT) | (FLOWS.indexOf(flow) << FLOW_SHIFT);
}

function startOf(at: number): number {
  return CAPTURE_HEADER_BYTES + ((at >>> 0) % CAPTURE_RING_BYTES);
}

function aligned(bytes: number): number {
  return (bytes + RECORD_ALIGNMENT - 1) & ~(RECORD_ALIGNMENT - 1);
}
