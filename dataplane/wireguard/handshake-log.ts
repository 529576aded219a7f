// What became of the last handshakes of each peer, for people who ask why a device cannot connect.
// A peer has places for handshakes that were answered and others for those that were refused, so
// that a stranger who repeats old messages makes nobody forget the answered ones. In each kind the
// oldest goes. Peers without a handshake cost nothing; memory comes in pages of PAGE_SLOTS peers.

import { ATTEMPTS_ANSWERED, ATTEMPTS_REFUSED } from '../constants.ts';
import { timestampMs } from '../noise/tai64n.ts';
import { type ReasonName, reasonNames, reasons } from '../reasons.ts';
import {
  createEndpointTable,
  type Endpoint,
  ENDPOINT_BYTES,
  type EndpointTable,
  endpoint,
  readEndpoint,
} from '../wire/address.ts';

/** One handshake, or several in a row with which the same happened. */
export interface Attempt {
  /** `answered`: the device began it, and was answered; `initiated`: the gateway began it. */
  readonly kind: 'answered' | 'initiated' | 'refused';
  /** Why it was refused; null: it was not. */
  readonly reason: Exclude<ReasonName, 'none'> | null;
  /** Where the device is: its message came from there, or ours went there. */
  readonly endpoint: Endpoint | null;
  /** How many there were. */
  readonly count: number;
  /** Unix time in ms, of the first and of the last. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** When the device showed that it has the session of the last one; null: it did not. */
  readonly confirmedAtMs: number | null;
  /** The time that a replayed message has in it, Unix ms; null: it is not known. */
  readonly datedMs: number | null;
  /** The latest time that came before in such messages; null: it is not known. */
  readonly latestDatedMs: number | null;
}

const ANSWERED = 1;
const INITIATED = 2;
const REFUSED = 3;
const kinds = { [ANSWERED]: 'answered', [INITIATED]: 'initiated', [REFUSED]: 'refused' } as const;

const ATTEMPTS = ATTEMPTS_ANSWERED + ATTEMPTS_REFUSED;
/** Peers that share one piece of memory. */
const PAGE_SLOTS = 64;

/** Numbers of an attempt; the order of attempts is that of `order`, whatever the clock does. */
const FIRST = 0;
const LAST = 1;
const CONFIRMED = 2;
const DATED = 3;
const LATEST = 4;
const ORDER = 5;
const COUNT = 6;
const KIND = 7;
const REASON = 8;
const NUMBERS = 9;

/** Words of an endpoint up to the address of the sender. */
const HEAD_WORDS = endpoint.local / 4;
const RECORD_WORDS = ENDPOINT_BYTES / 4;
const ADDRESS_WORD = endpoint.address / 4;

interface Page {
  readonly numbers: Float64Array;
  readonly endpoints: EndpointTable;
}

/** The last handshakes of all peers that this worker knows, by slot. */
export class HandshakeLog {
  readonly #endpoints: EndpointTable;
  readonly #pages: (Page | undefined)[] = [];
  #order = 0;

  constructor(endpoints: EndpointTable) {
    this.#endpoints = endpoints;
  }

  /** An initiation of a peer from the endpoint in slot `from` was answered. */
  answered(slot: number, from: number, wallMs: number): void {
    this.#enter(slot, ANSWERED, reasons.none, from, wallMs);
  }

  /** The gateway sent an initiation to the endpoint in slot `to`. */
  initiated(slot: number, to: number, wallMs: number): void {
    this.#enter(slot, INITIATED, reasons.none, to, wallMs);
  }

  /** The peer uses the session of the last handshake that it (or the gateway) began. */
  confirmed(slot: number, wasInitiated: boolean, wallMs: number): void {
    const page = this.#pages[Math.floor(slot / PAGE_SLOTS)];
    const kind = wasInitiated ? INITIATED : ANSWERED;
    const at = page === undefined ? -1 : this.#newest(page, slot, 0, ATTEMPTS_ANSWERED, kind);
    if (at >= 0) page!.numbers[at * NUMBERS + CONFIRMED] = wallMs;
  }

  /**
   * A handshake message of a peer was refused. `dated`: the time in it, where that is not later
   * than `latest`, the latest one before.
   */
  refused(
    slot: number,
    reason: number,
    from: number,
    wallMs: number,
    dated: Uint8Array | null = null,
    latest: Uint8Array | null = null,
  ): void {
    const { numbers } = this.#pageOf(slot);
    const at = this.#enter(slot, REFUSED, reason, from, wallMs) * NUMBERS;
    if (dated === null || latest === null) return;
    numbers[at + DATED] = timestampMs(dated);
    numbers[at + LATEST] = timestampMs(latest);
  }

  /** Forgets all of a peer: another one may get its slot. */
  forget(slot: number): void {
    const page = this.#pages[Math.floor(slot / PAGE_SLOTS)];
    const start = firstOf(slot) * NUMBERS;
    page?.numbers.fill(0, start, start + ATTEMPTS * NUMBERS);
  }

  /** The last handshakes of a peer, the oldest first. */
  read(slot: number): Attempt[] {
    const page = this.#pages[Math.floor(slot / PAGE_SLOTS)];
    if (page === undefined) return [];
    const { numbers } = page;
    const first = firstOf(slot);
    return Array.from({ length: ATTEMPTS }, (_, i) => first + i)
      .filter((at) => numbers[at * NUMBERS + KIND] !== 0)
      .toSorted((a, b) => numbers[a * NUMBERS + ORDER]! - numbers[b * NUMBERS + ORDER]!)
      .map((at) => attemptAt(page, at));
  }

  /** Joins a handshake with the one before, or gives it the place of the oldest; its place. */
  #enter(slot: number, kind: number, reason: number, from: number, wallMs: number): number {
    const page = this.#pageOf(slot);
    const { numbers } = page;
    const isRefused = kind === REFUSED;
    const start = isRefused ? ATTEMPTS_ANSWERED : 0;
    const end = isRefused ? ATTEMPTS : ATTEMPTS_ANSWERED;
    let at = isRefused
      ? this.#sameRefusal(page, slot, reason, from)
      : this.#sameUnconfirmed(page, slot, kind, from);
    if (at < 0) {
      at = this.#oldest(page, slot, start, end);
      numbers.fill(0, at * NUMBERS, (at + 1) * NUMBERS);
      numbers[at * NUMBERS + FIRST] = wallMs;
      numbers[at * NUMBERS + DATED] = Number.NaN;
      numbers[at * NUMBERS + LATEST] = Number.NaN;
    }
    const place = at * NUMBERS;
    numbers[place + LAST] = wallMs;
    numbers[place + ORDER] = ++this.#order;
    numbers[place + COUNT]! += 1;
    numbers[place + KIND] = kind;
    numbers[place + REASON] = reason;
    copyHead(this.#endpoints, from, page.endpoints, at);
    return at;
  }

  #pageOf(slot: number): Page {
    const number = Math.floor(slot / PAGE_SLOTS);
    return (this.#pages[number] ??= {
      numbers: new Float64Array(PAGE_SLOTS * ATTEMPTS * NUMBERS),
      endpoints: createEndpointTable(PAGE_SLOTS * ATTEMPTS),
    });
  }

  /** The newest handshake, if it is of this kind, at this endpoint, and not confirmed; or -1. */
  #sameUnconfirmed(page: Page, slot: number, kind: number, from: number): number {
    const at = this.#newest(page, slot, 0, ATTEMPTS_ANSWERED, 0);
    if (at < 0 || page.numbers[at * NUMBERS + KIND] !== kind) return -1;
    const isOpen = page.numbers[at * NUMBERS + CONFIRMED] === 0;
    return isOpen && sameHead(this.#endpoints, from, page.endpoints, at, 0) ? at : -1;
  }

  /** A refusal for this reason, from this address and any port; or -1. */
  #sameRefusal(page: Page, slot: number, reason: number, from: number): number {
    const first = firstOf(slot);
    for (let at = first + ATTEMPTS_ANSWERED; at < first + ATTEMPTS; at++) {
      const isSame = page.numbers[at * NUMBERS + REASON] === reason;
      if (isSame && sameHead(this.#endpoints, from, page.endpoints, at, ADDRESS_WORD)) return at;
    }
    return -1;
  }

  /** The newest of some places of a peer, of one kind or (0) of any; -1: there is none. */
  #newest({ numbers }: Page, slot: number, start: number, end: number, kind: number): number {
    let found = -1;
    for (let at = firstOf(slot) + start; at < firstOf(slot) + end; at++) {
      const itsKind = numbers[at * NUMBERS + KIND]!;
      if (itsKind === 0 || (kind !== 0 && itsKind !== kind)) continue;
      const isNewer =
        found < 0 || numbers[at * NUMBERS + ORDER]! > numbers[found * NUMBERS + ORDER]!;
      if (isNewer) found = at;
    }
    return found;
  }

  /** The oldest of some places of a peer; an empty one is older than all others. */
  #oldest({ numbers }: Page, slot: number, start: number, end: number): number {
    let found = firstOf(slot) + start;
    for (let at = found + 1; at < firstOf(slot) + end; at++)
      if (numbers[at * NUMBERS + ORDER]! < numbers[found * NUMBERS + ORDER]!) found = at;
    return found;
  }
}

/** The first place of a peer in its page. */
function firstOf(slot: number): number {
  return (slot % PAGE_SLOTS) * ATTEMPTS;
}

function attemptAt({ numbers, endpoints }: Page, at: number): Attempt {
  const of = (number: number): number => numbers[at * NUMBERS + number]!;
  const reason = reasonNames[of(REASON)]!;
  return {
    kind: kinds[of(KIND) as keyof typeof kinds],
    reason: reason === 'none' ? null : reason,
    endpoint: readEndpoint(endpoints, at),
    count: of(COUNT),
    firstAtMs: of(FIRST),
    lastAtMs: of(LAST),
    confirmedAtMs: of(CONFIRMED) === 0 ? null : of(CONFIRMED),
    datedMs: Number.isNaN(of(DATED)) ? null : of(DATED),
    latestDatedMs: Number.isNaN(of(LATEST)) ? null : of(LATEST),
  };
}

/** Copies family, port and address of a sender from one table to another. */
export function copyHead(from: EndpointTable, slot: number, to: EndpointTable, at: number): void {
  for (let i = 0; i < HEAD_WORDS; i++)
    to.words[at * RECORD_WORDS + i] = from.words[slot * RECORD_WORDS + i]!;
}

/** Whether two senders are the same, from one word of their records on: ports are in the first. */
function sameHead(
  a: EndpointTable,
  slot: number,
  b: EndpointTable,
  at: number,
  firstWord: number,
): boolean {
  for (let i = firstWord; i < HEAD_WORDS; i++)
    if (a.words[slot * RECORD_WORDS + i] !== b.words[at * RECORD_WORDS + i]) return false;
  return true;
}
