// What becomes of flows, on its way from a worker to the main thread: a ring in shared memory, with
// one writer and one reader, of records of one size. The packet path never waits for the reader:
// what finds no room is counted and left out, and so is what one device sends beyond its pace. A
// worker that is started again goes on where the one before it stopped.

import {
  FLOW_LOG_HEADER_BYTES,
  FLOW_LOG_RECORDS,
  FLOW_LOG_RECORDS_PER_DEVICE,
  MAX_PEERS,
} from '../constants.ts';
import { deciders, type EndReason, endReasons, type FlowEnd } from '../filter/ended-flows.ts';
import { COUNT_FIELDS, type FlowCounts } from '../filter/flow-counts.ts';
import { A, A_PORT, B, B_PORT, type FlowTable, KIND } from '../filter/flow-table.ts';
import type { FlowSink, RefusalSink } from '../filter/flow-sink.ts';
import { DESTINATION, PORT, REASON, REFUSED_KIND, SOURCE, WHO } from '../filter/refusals.ts';
import { type ReasonName, reasonNames } from '../reasons.ts';
import { PROTOCOL_TCP, PROTOCOL_UDP } from '../wire/ip.ts';

const OPENED = 0;
const ENDED = 1;
const REFUSED = 2;
const EVENTS = ['opened', 'ended', 'refused'] as const;

/** Words of the header: records written, what was lost for want of room, by pace; records read. */
const WRITTEN = 0;
const LOST_FULL = 1;
const LOST_SHARE = 2;
const READ = FLOW_LOG_HEADER_BYTES / 2 / 4;

/** Words of a record. */
const record = {
  event: 0,
  kind: 1,
  source: 2,
  sourcePort: 6,
  destination: 7,
  destinationPort: 11,
  reason: 12,
  by: 13,
  isAnswered: 14,
  /** Lengths of the three texts, a byte each. */
  texts: 15,
} as const;
/** Its numbers, in units of 8 bytes. */
const number = { openedMs: 8, latestMs: 9, atMs: 10, counts: 11 } as const;
const TEXTS_AT = 128;
const RECORD_BYTES = 256;
/** Keys have 44 characters, ids of rules 36. */
const KEY_MAX = 44;
const RULE_MAX = RECORD_BYTES - TEXTS_AT - 2 * KEY_MAX;

/** What became of a flow or of packets. Times are Unix time in ms. */
export interface LoggedFlow {
  readonly event: (typeof EVENTS)[number];
  readonly version: number;
  readonly protocol: number;
  /** 4 or 16 bytes; none where the packets could not be read. */
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  /** Null where the protocol has none, or it is not known. */
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  /** Public keys of the devices; null: it is behind the TUN. */
  readonly opener: string | null;
  readonly target: string | null;
  /** Whether the other side has sent something. */
  readonly isAnswered: boolean;
  /** What decided; null for what was refused. */
  readonly by: (typeof deciders)[number] | null;
  readonly rule: string | null;
  /** Why the flow ended; null: it did not. */
  readonly because: EndReason | null;
  /** Why packets were refused; null: they were not. */
  readonly reason: ReasonName | null;
  /** When it was opened; of what was refused, when the first packet came. */
  readonly openedMs: number;
  readonly latestMs: number;
  /** When it was noted. */
  readonly atMs: number;
  readonly sentPackets: number;
  readonly sentBytes: number;
  readonly replyPackets: number;
  readonly replyBytes: number;
}

/** Makes the memory of a ring. */
export function createFlowLogRing(): SharedArrayBuffer {
  return new SharedArrayBuffer(FLOW_LOG_HEADER_BYTES + FLOW_LOG_RECORDS * RECORD_BYTES);
}

function wordOf(at: number): number {
  return (FLOW_LOG_HEADER_BYTES + ((at >>> 0) % FLOW_LOG_RECORDS) * RECORD_BYTES) >> 2;
}

/** What a writer reads. */
export interface FlowLogSources {
  readonly flows: Pick<FlowTable, 'get'>;
  readonly counts: Pick<FlowCounts, 'copy'>;
  /** The public key of the device in a slot. */
  readonly keyOf: (slot: number) => string | null;
}

/** The end of a worker. */
export class FlowLogWriter implements FlowSink, RefusalSink {
  readonly #words: Int32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #sources: FlowLogSources;
  /** How many records were written, modulo 2^32. */
  #at: number;
  /** Now, and Unix time of time 0. */
  readonly #clock = new Float64Array(2);
  readonly #counts = new Float64Array(COUNT_FIELDS);
  /** By slot: the latest second in which its device had records, and how many. */
  readonly #seconds = new Int32Array(MAX_PEERS);
  readonly #ofSecond = new Int32Array(MAX_PEERS);

  constructor(memory: SharedArrayBuffer, sources: FlowLogSources) {
    this.#words = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.#sources = sources;
    this.#at = Atomics.load(this.#words, WRITTEN);
  }

  /** Sets the time until the next call. */
  begin(now: number, wallMs: number): void {
    this.#clock[0] = now;
    this.#clock[1] = wallMs - now;
  }

  /** How many records find room. */
  get room(): number {
    return FLOW_LOG_RECORDS - this.#used;
  }

  opened(flow: number, end: FlowEnd): void {
    this.#flow(OPENED, flow, end);
  }

  ended(flow: number, end: FlowEnd): void {
    this.#flow(ENDED, flow, end);
  }

  #flow(event: number, flow: number, end: FlowEnd): void {
    const word = this.#reserve(end.slot);
    if (word === -1) return;
    const words = this.#words;
    const { flows, counts } = this.#sources;
    words[word + record.event] = event;
    words[word + record.kind] = flows.get(flow, KIND);
    for (let i = 0; i < 4; i++) {
      words[word + record.source + i] = flows.get(flow, A + i);
      words[word + record.destination + i] = flows.get(flow, B + i);
    }
    words[word + record.sourcePort] = flows.get(flow, A_PORT);
    words[word + record.destinationPort] = flows.get(flow, B_PORT);
    words[word + record.reason] = end.because;
    words[word + record.by] = end.by;
    words[word + record.isAnswered] = end.isAnswered ? 1 : 0;
    counts.copy(flow, this.#counts, 0);
    const at = word >> 1;
    this.#times(at, this.#counts, 0);
    for (let i = 2; i < COUNT_FIELDS; i++)
      this.#floats[at + number.counts + i - 2] = event === ENDED ? this.#counts[i]! : 0;
    this.#texts(word, end.opener?.key ?? null, end.target?.key ?? null, end.rule);
    this.#commit();
  }

  refused(
    from: Int32Array,
    at: number,
    waiting: Float64Array,
    numbers: number,
    rule: string | null,
  ): void {
    const slot = from[at + WHO]! >> 1;
    const word = this.#reserve(slot);
    if (word === -1) return;
    const words = this.#words;
    const isSent = from[at + WHO]! & 1;
    words[word + record.event] = REFUSED;
    words[word + record.kind] = from[at + REFUSED_KIND]!;
    for (let i = 0; i < 4; i++) {
      words[word + record.source + i] = from[at + SOURCE + i]!;
      words[word + record.destination + i] = from[at + DESTINATION + i]!;
    }
    words[word + record.sourcePort] = -1;
    words[word + record.destinationPort] = from[at + PORT]!;
    words[word + record.reason] = from[at + REASON]!;
    words[word + record.isAnswered] = 0;
    const floats = word >> 1;
    this.#times(floats, waiting, numbers + 2);
    this.#floats[floats + number.counts] = waiting[numbers]!;
    this.#floats[floats + number.counts + 1] = waiting[numbers + 1]!;
    this.#floats.fill(0, floats + number.counts + 2, floats + number.counts + 4);
    const key = this.#sources.keyOf(slot);
    this.#texts(word, isSent === 1 ? key : null, isSent === 1 ? null : key, rule);
    this.#commit();
  }

  /** Writes when it began, when its latest packet came, and now. */
  #times(at: number, from: Float64Array, place: number): void {
    const floats = this.#floats;
    const clock = this.#clock;
    floats[at + number.openedMs] = from[place]! + clock[1]!;
    floats[at + number.latestMs] = from[place + 1]! + clock[1]!;
    floats[at + number.atMs] = clock[0]! + clock[1]!;
  }

  /** The first word of the next record; -1: there is no room, or the device is too fast. */
  #reserve(slot: number): number {
    const second = (this.#clock[0]! / 1_000) | 0;
    if (this.#seconds[slot] !== second) {
      this.#seconds[slot] = second;
      this.#ofSecond[slot] = 0;
    }
    if (this.#ofSecond[slot]! >= FLOW_LOG_RECORDS_PER_DEVICE) return this.#lose(LOST_SHARE);
    if (this.#used >= FLOW_LOG_RECORDS) return this.#lose(LOST_FULL);
    this.#ofSecond[slot]! += 1;
    return wordOf(this.#at);
  }

  get #used(): number {
    return (this.#at - Atomics.load(this.#words, READ)) >>> 0;
  }

  #lose(counter: number): -1 {
    Atomics.add(this.#words, counter, 1);
    return -1;
  }

  #commit(): void {
    this.#at = (this.#at + 1) | 0;
    Atomics.store(this.#words, WRITTEN, this.#at);
  }

  #texts(word: number, opener: string | null, target: string | null, rule: string | null): void {
    let to = 4 * word + TEXTS_AT;
    const first = this.#text(to, opener, KEY_MAX);
    to += first;
    const second = this.#text(to, target, KEY_MAX);
    const third = this.#text(to + second, rule, RULE_MAX);
    this.#words[word + record.texts] = first | (second << 8) | (third << 16);
  }

  #text(to: number, text: string | null, most: number): number {
    if (text === null) return 0;
    const length = Math.min(text.length, most);
    for (let i = 0; i < length; i++) this.#bytes[to + i] = text.charCodeAt(i);
    return length;
  }
}

/** The end of the main thread. */
export class FlowLogReader {
  readonly #words: Int32Array;
  readonly #floats: Float64Array;
  /** Node reads text from its own kind of array at once, and not letter by letter. */
  readonly #bytes: Buffer;
  #at: number;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#bytes = Buffer.from(memory);
    this.#at = Atomics.load(this.#words, READ);
  }

  /** Takes the next record and gives its memory back; null: none waits. */
  take(): LoggedFlow | null {
    if (this.#at === Atomics.load(this.#words, WRITTEN)) return null;
    const taken = this.#read(wordOf(this.#at));
    this.#at = (this.#at + 1) | 0;
    Atomics.store(this.#words, READ, this.#at);
    return taken;
  }

  /** Records that found no room so far, and those beyond the pace of their device. */
  get lost(): { readonly full: number; readonly share: number } {
    const of = (counter: number): number => Atomics.load(this.#words, counter) >>> 0;
    return { full: of(LOST_FULL), share: of(LOST_SHARE) };
  }

  #read(word: number): LoggedFlow {
    const words = this.#words;
    const floats = word >> 1;
    const kind = words[word + record.kind]!;
    const [version, protocol] = [kind >> 8, kind & 0xff];
    const event = EVENTS[words[word + record.event]!]!;
    const reason = words[word + record.reason]!;
    const texts = words[word + record.texts]!;
    const [first, second, third] = [texts & 0xff, (texts >> 8) & 0xff, (texts >> 16) & 0xff];
    const text = 4 * word + TEXTS_AT;
    const count = (i: number): number => this.#floats[floats + number.counts + i]!;
    return {
      event,
      version,
      protocol,
      source: this.#address(version, word + record.source),
      destination: this.#address(version, word + record.destination),
      sourcePort: portOf(protocol, words[word + record.sourcePort]!),
      destinationPort: portOf(protocol, words[word + record.destinationPort]!),
      opener: this.#text(text, first),
      target: this.#text(text + first, second),
      isAnswered: words[word + record.isAnswered] === 1,
      by: event === 'refused' ? null : deciders[words[word + record.by]!]!,
      rule: this.#text(text + first + second, third),
      because: event === 'ended' ? endReasons[reason]! : null,
      reason: event === 'refused' ? reasonNames[reason]! : null,
      openedMs: Math.round(this.#floats[floats + number.openedMs]!),
      latestMs: Math.round(this.#floats[floats + number.latestMs]!),
      atMs: Math.round(this.#floats[floats + number.atMs]!),
      sentPackets: count(0),
      sentBytes: count(1),
      replyPackets: count(2),
      replyBytes: count(3),
    };
  }

  #address(version: number, word: number): Uint8Array {
    const address = new Uint8Array(version === 0 ? 0 : version === 4 ? 4 : 16);
    const view = new DataView(address.buffer);
    for (let i = 0; 4 * i < address.length; i++) view.setInt32(4 * i, this.#words[word + i]!);
    return address;
  }

  #text(from: number, length: number): string | null {
    return length === 0 ? null : this.#bytes.toString('latin1', from, from + length);
  }
}

function portOf(protocol: number, port: number): number | null {
  return (protocol === PROTOCOL_TCP || protocol === PROTOCOL_UDP) && port >= 0 ? port : null;
}

/** The flow log of a gateway: the rings of all workers. */
export class FlowLog {
  readonly rings: readonly SharedArrayBuffer[];
  readonly #readers: readonly FlowLogReader[];
  #next = 0;

  constructor(workers: number) {
    this.rings = Array.from({ length: workers }, createFlowLogRing);
    this.#readers = this.rings.map((ring) => new FlowLogReader(ring));
  }

  /** Takes the next record of any worker, of each in turn; null: none waits. */
  take(): LoggedFlow | null {
    for (let i = 0; i < this.#readers.length; i++) {
      const reader = this.#readers[this.#next]!;
      this.#next = (this.#next + 1) % this.#readers.length;
      const taken = reader.take();
      if (taken !== null) return taken;
    }
    return null;
  }

  /** What was lost since the gateway began. */
  get lost(): { readonly full: number; readonly share: number } {
    const lost = this.#readers.map((reader) => reader.lost);
    const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0);
    return {
      full: sum(lost.map(({ full }) => full)),
      share: sum(lost.map(({ share }) => share)),
    };
  }
}
