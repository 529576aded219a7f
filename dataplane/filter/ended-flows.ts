// The flows that have ended, for people who ask: where each went, which rule decided, what it
// carried, and why it ended. Typed arrays of fixed size. Where there is no room, the oldest record
// is removed: the oldest of the same device if that device has its share. A record costs the same
// however many there are, and allocates nothing.

import { ENDED_FLOWS_SHARE, MAX_PEERS } from '../constants.ts';
import { Chains } from './chains.ts';
import { COUNT_FIELDS, type FlowCount, type FlowCounts, readCount } from './flow-counts.ts';
import { A, A_PORT, B, B_PORT, type FlowTable, KIND } from './flow-table.ts';

/** Why flows end, in the order of their numbers in a record. */
export const endReasons = [
  /** TCP: both sides ended it. */
  'finished',
  /** TCP: one side reset it. */
  'reset',
  /** No packet came for the time that a flow of its kind is remembered. */
  'idle',
  /** A rule or the default action does not let it pass any more. */
  'refused',
  /** The device was removed or switched off, or lost the address. */
  'device_removed',
  /** Another flow needed its place. */
  'no_room',
  /** Its addresses and ports belong to a flow between others by now. */
  'replaced',
  /** The gateway stopped, or the worker that remembered it started again. */
  'gateway_stopped',
] as const;

/** Why a flow ended. */
export type EndReason = (typeof endReasons)[number];

/** What decided on a flow, in the order of the numbers in a record. */
export const deciders = ['nothing', 'default', 'rule'] as const;

/** Words of a record. The first ones are those of a flow in its table. */
const RECORD_WORDS = 17;
const FLOW_PART = B_PORT + 1;
const SLOT = 11;
/** In one word: the reason, above it what decided, above that whether the flow was answered. */
const FACTS = 12;
const BY_SHIFT = 8;
const ANSWERED = 1 << 16;
const OF_DEVICE = 13;
const OF_ALL = 15;

/** Numbers of a record: what it carried, when it ended, and its own number. */
const NUMBERS = COUNT_FIELDS + 2;
const ENDED = COUNT_FIELDS;
const NUMBER = COUNT_FIELDS + 1;

/** A device at one end of a flow, as it was when the flow ended. */
export interface EndDevice {
  /** Its public key. */
  readonly key: string;
  /** The name of its scope, which is its owner. */
  readonly scope: string;
}

/** Facts about the end of a flow that the table of flows does not have. */
export interface FlowEnd {
  /** Slot of the device in whose share it is. */
  slot: number;
  /** Null: it is behind the TUN. */
  opener: EndDevice | null;
  target: EndDevice | null;
  /** Numbers of `endReasons` and of `deciders`. */
  because: number;
  by: number;
  /** The id of the rule that decided; null: none did, or it is not known. */
  rule: string | null;
  isAnswered: boolean;
}

/** A flow that has ended. Times are on the clock of the packet path, in ms. */
export interface EndedRecord extends FlowCount {
  /** Grows from record to record. */
  readonly number: number;
  readonly version: number;
  readonly protocol: number;
  /** Four words; IPv4 uses the first. */
  readonly source: Int32Array;
  readonly destination: Int32Array;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly isAnswered: boolean;
  readonly opener: EndDevice | null;
  readonly target: EndDevice | null;
  readonly because: EndReason;
  readonly by: (typeof deciders)[number];
  readonly rule: string | null;
  readonly endedAt: number;
}

/** What a table is made from. */
export interface EndedFlowsOptions {
  readonly capacity: number;
  /** How many records one device has at most. */
  readonly share?: number;
  /** How many peers there may be: their slots are below. */
  readonly peers?: number;
}

/** Remembers flows that have ended. A record has a place from 1 on. */
export class EndedFlows {
  readonly #capacity: number;
  readonly #share: number;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #openers: (EndDevice | null)[];
  readonly #targets: (EndDevice | null)[];
  readonly #rules: (string | null)[];
  /** By slot of the device: how many records it has. */
  readonly #counts: Int32Array;
  readonly #ofDevice: Chains;
  readonly #ofAll: Chains;
  /** In an array, because V8 may allocate a number in a field or one that is passed. */
  readonly #now = new Float64Array(1);
  /** How many records there were so far, in an array for the same reason. */
  readonly #added = new Float64Array(1);
  #used = 0;
  #forgottenOfShare = 0;
  #forgottenOfAll = 0;

  constructor({
    capacity,
    share = capacity / ENDED_FLOWS_SHARE,
    peers = MAX_PEERS,
  }: EndedFlowsOptions) {
    this.#counts = new Int32Array(peers);
    this.#capacity = capacity;
    this.#share = Math.max(1, share);
    // A page of these arrays takes memory when its first record comes.
    this.#words = new Int32Array((capacity + 1) * RECORD_WORDS);
    this.#numbers = new Float64Array((capacity + 1) * NUMBERS);
    this.#openers = Array.from({ length: capacity + 1 }, () => null);
    this.#targets = Array.from({ length: capacity + 1 }, () => null);
    this.#rules = Array.from({ length: capacity + 1 }, () => null);
    this.#ofDevice = new Chains(this.#words, RECORD_WORDS, OF_DEVICE, peers);
    this.#ofAll = new Chains(this.#words, RECORD_WORDS, OF_ALL, 1);
  }

  /** Sets the time until the next call. */
  begin(now: number): void {
    this.#now[0] = now;
  }

  /** How many records there are. */
  get size(): number {
    return this.#used;
  }

  /** How many records were given up: because their device had its share, or all were in use. */
  get forgotten(): { readonly share: number; readonly full: number } {
    return { share: this.#forgottenOfShare, full: this.#forgottenOfAll };
  }

  /** Adds a flow before it is removed from its table. */
  add(flows: Pick<FlowTable, 'get'>, counts: FlowCounts, flow: number, end: FlowEnd): void {
    const { slot } = end;
    const place = this.#place(slot);
    const words = this.#words;
    const at = place * RECORD_WORDS;
    for (let i = 0; i < FLOW_PART; i++) words[at + i] = flows.get(flow, i);
    words[at + SLOT] = slot;
    words[at + FACTS] = end.because | (end.by << BY_SHIFT) | (end.isAnswered ? ANSWERED : 0);
    this.#openers[place] = end.opener;
    this.#targets[place] = end.target;
    this.#rules[place] = end.rule;
    const numbers = place * NUMBERS;
    counts.copy(flow, this.#numbers, numbers);
    this.#numbers[numbers + ENDED] = this.#now[0]!;
    this.#added[0]! += 1;
    this.#numbers[numbers + NUMBER] = this.#added[0]!;
    this.#counts[slot]! += 1;
    this.#ofDevice.append(slot, place);
    this.#ofAll.append(0, place);
  }

  /** A free place; it makes one where the device has its share, or where all are in use. */
  #place(slot: number): number {
    let given = 0;
    if (this.#counts[slot]! >= this.#share) {
      given = this.#ofDevice.oldest(slot);
      this.#forgottenOfShare++;
    } else if (this.#used === this.#capacity) {
      given = this.#ofAll.oldest(0);
      this.#forgottenOfAll++;
    } else return ++this.#used;
    const holder = this.#words[given * RECORD_WORDS + SLOT]!;
    this.#counts[holder]! -= 1;
    this.#ofDevice.remove(holder, given);
    this.#ofAll.remove(0, given);
    return given;
  }

  // ---- reading -------------------------------------------------------------------------------

  /** The place of the latest record whose number is below `number`; 0: there is none. */
  before(number: number): number {
    const newest = this.#ofAll.newest(0);
    if (newest === 0 || this.#numberAt(newest) < number) return newest;
    let found = 0;
    let highest = 0;
    for (let place = 1; place <= this.#used; place++) {
      const one = this.#numberAt(place);
      if (one < number && one > highest) {
        found = place;
        highest = one;
      }
    }
    return found;
  }

  /** The place of the record that came before the one at a place; 0: there is none. */
  earlier(place: number): number {
    return this.#ofAll.before(place);
  }

  /** What the record at a place says. */
  read(place: number): EndedRecord {
    const words = this.#words;
    const at = place * RECORD_WORDS;
    const numbers = place * NUMBERS;
    const facts = words[at + FACTS]!;
    return {
      number: this.#numberAt(place),
      version: words[at + KIND]! >> 8,
      protocol: words[at + KIND]! & 0xff,
      source: words.subarray(at + A, at + A + 4),
      destination: words.subarray(at + B, at + B + 4),
      sourcePort: words[at + A_PORT]!,
      destinationPort: words[at + B_PORT]!,
      isAnswered: (facts & ANSWERED) !== 0,
      opener: this.#openers[place]!,
      target: this.#targets[place]!,
      because: endReasons[facts & 0xff]!,
      by: deciders[(facts >> BY_SHIFT) & 0xff]!,
      rule: this.#rules[place]!,
      ...readCount(this.#numbers, numbers),
      endedAt: this.#numbers[numbers + ENDED]!,
    };
  }

  #numberAt(place: number): number {
    return this.#numbers[place * NUMBERS + NUMBER]!;
  }
}
