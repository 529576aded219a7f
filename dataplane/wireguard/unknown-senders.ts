// Who sent handshakes that no peer of this gateway can have sent: keys that nobody has, and senders
// that take this gateway for another one (a wrong mac1). They are kept for people who look why a
// device does not connect. Anybody can send such messages, from any source, so both lists have a
// fixed size, the oldest entry goes, and one source has at most a share of the unknown keys.

import {
  KEY_BYTES,
  MAX_OTHER_GATEWAY_SENDERS,
  MAX_UNKNOWN_KEYS,
  MAX_UNKNOWN_KEYS_PER_SOURCE,
} from '../constants.ts';
import { reasons } from '../reasons.ts';
import {
  createEndpointTable,
  type Endpoint,
  ENDPOINT_BYTES,
  type EndpointTable,
  endpoint,
  readEndpoint,
} from '../wire/address.ts';
import { copyHead } from './handshake-log.ts';

/** Somebody who sent what no peer sends. */
export interface UnknownSender {
  /** Where the last message came from. */
  readonly endpoint: Endpoint;
  /** How many messages came. */
  readonly count: number;
  /** Unix time in ms. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** Somebody whose key no peer has. */
export interface UnknownKey extends UnknownSender {
  /** Base64. */
  readonly publicKey: string;
}

/** All unknown senders that are remembered, the latest first. */
export interface UnknownSenders {
  readonly keys: readonly UnknownKey[];
  /** Senders of initiations that were made for the key of another gateway. */
  readonly otherGateway: readonly UnknownSender[];
}

const KEY_WORDS = KEY_BYTES / 4;
const RECORD_WORDS = ENDPOINT_BYTES / 4;
/** The source of a sender, as limits count it: two words from its address on. */
const SOURCE_WORD = endpoint.address / 4;

/** Numbers of an entry. */
const FIRST = 0;
const LAST = 1;
const COUNT = 2;
const ORDER = 3;
const NUMBERS = 4;

/** A list of a fixed size. An entry is found by the words of its key. */
class SenderList {
  readonly #size: number;
  readonly #keyWords: number;
  readonly #perSource: number;
  readonly #numbers: Float64Array;
  readonly #keys: Int32Array;
  readonly #senders: EndpointTable;
  #order = 0;

  constructor(size: number, keyWords: number, perSource = size) {
    this.#size = size;
    this.#keyWords = keyWords;
    this.#perSource = perSource;
    this.#numbers = new Float64Array(size * NUMBERS);
    this.#keys = new Int32Array(size * keyWords);
    this.#senders = createEndpointTable(size);
  }

  /** Notes a message; false where another entry had to go. It looks at each entry once. */
  note(key: Int32Array, endpoints: EndpointTable, from: number, wallMs: number): boolean {
    const numbers = this.#numbers;
    let oldest = 0;
    let ownOldest = -1;
    let own = 0;
    for (let at = 0; at < this.#size; at++) {
      const order = numbers[at * NUMBERS + ORDER]!;
      if (order < numbers[oldest * NUMBERS + ORDER]!) oldest = at;
      if (order === 0) continue;
      if (this.#hasKey(at, key)) {
        this.#enter(at, endpoints, from, wallMs);
        return true;
      }
      if (!this.#hasSource(at, endpoints, from)) continue;
      own++;
      if (ownOldest < 0 || order < numbers[ownOldest * NUMBERS + ORDER]!) ownOldest = at;
    }
    const at = own >= this.#perSource ? ownOldest : oldest;
    const wasFree = numbers[at * NUMBERS + ORDER] === 0;
    numbers[at * NUMBERS + COUNT] = 0;
    numbers[at * NUMBERS + FIRST] = wallMs;
    for (let i = 0; i < this.#keyWords; i++) this.#keys[at * this.#keyWords + i] = key[i]!;
    this.#enter(at, endpoints, from, wallMs);
    return wasFree;
  }

  #enter(at: number, endpoints: EndpointTable, from: number, wallMs: number): void {
    const numbers = this.#numbers;
    numbers[at * NUMBERS + LAST] = wallMs;
    numbers[at * NUMBERS + COUNT]! += 1;
    numbers[at * NUMBERS + ORDER] = ++this.#order;
    copyHead(endpoints, from, this.#senders, at);
  }

  #hasKey(at: number, key: Int32Array): boolean {
    const start = at * this.#keyWords;
    for (let i = 0; i < this.#keyWords; i++) if (this.#keys[start + i] !== key[i]) return false;
    return true;
  }

  #hasSource(at: number, { words }: EndpointTable, from: number): boolean {
    const own = this.#senders.words;
    const [a, b] = [at * RECORD_WORDS + SOURCE_WORD, from * RECORD_WORDS + SOURCE_WORD];
    return own[a] === words[b] && own[a + 1] === words[b + 1];
  }

  /** All entries with their keys, the latest first. */
  read(): (UnknownSender & { readonly key: Uint8Array })[] {
    const numbers = this.#numbers;
    const of = (at: number, number: number): number => numbers[at * NUMBERS + number]!;
    return Array.from({ length: this.#size }, (_, at) => at)
      .filter((at) => of(at, ORDER) > 0)
      .toSorted((a, b) => of(b, ORDER) - of(a, ORDER))
      .flatMap((at) => {
        const sender = readEndpoint(this.#senders, at);
        const start = at * this.#keyWords;
        const key = new Uint8Array(this.#keys.slice(start, start + this.#keyWords).buffer);
        const times = { firstAtMs: of(at, FIRST), lastAtMs: of(at, LAST) };
        return sender === null ? [] : [{ key, endpoint: sender, count: of(at, COUNT), ...times }];
      });
  }
}

/** Remembers unknown senders. Noting one never allocates. */
export class UnknownSenderLog {
  readonly #endpoints: EndpointTable;
  readonly #drop: (reason: number) => void;
  readonly #keys = new SenderList(MAX_UNKNOWN_KEYS, KEY_WORDS, MAX_UNKNOWN_KEYS_PER_SOURCE);
  readonly #others = new SenderList(MAX_OTHER_GATEWAY_SENDERS, 2);
  readonly #key = new Int32Array(KEY_WORDS);
  readonly #keyBytes = new Uint8Array(this.#key.buffer);
  readonly #source = new Int32Array(2);

  /** `drop` counts refusals, and entries that had to go. */
  constructor(endpoints: EndpointTable, drop: (reason: number) => void) {
    this.#endpoints = endpoints;
    this.#drop = drop;
  }

  /** An initiation came whose key (32 bytes) no peer has. */
  unknownKey(publicKey: Uint8Array, from: number, wallMs: number): void {
    this.#keyBytes.set(publicKey);
    if (!this.#keys.note(this.#key, this.#endpoints, from, wallMs))
      this.#drop(reasons.unknown_sender_forgotten);
  }

  /** Refuses and notes an initiation that was made for the key of another gateway. */
  otherGateway(from: number, wallMs: number): void {
    this.#drop(reasons.mac1_invalid);
    const at = from * RECORD_WORDS + SOURCE_WORD;
    this.#source[0] = this.#endpoints.words[at]!;
    this.#source[1] = this.#endpoints.words[at + 1]!;
    if (!this.#others.note(this.#source, this.#endpoints, from, wallMs))
      this.#drop(reasons.unknown_sender_forgotten);
  }

  /** All that are remembered. */
  read(): UnknownSenders {
    return {
      keys: this.#keys.read().map(({ key, ...sender }) => ({
        publicKey: Buffer.from(key).toString('base64'),
        ...sender,
      })),
      otherGateway: this.#others.read().map(({ endpoint: from, count, firstAtMs, lastAtMs }) => ({
        endpoint: from,
        count,
        firstAtMs,
        lastAtMs,
      })),
    };
  }
}
