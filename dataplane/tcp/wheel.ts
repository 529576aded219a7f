// A timer wheel with ticks of 1 ms (Varghese and Lauck, 1987). Each connection is in it at most
// once, at its earliest deadline or before. There are three rings of 256 places: of ticks, of 256
// ticks, and of 65,536 ticks. What is far away moves inward when its place comes. An empty wheel
// has no deadline, so nobody wakes up for it.

import { NEVER } from './columns.ts';

const BITS = 8;
const PLACES = 1 << BITS;
const MASK = PLACES - 1;
const RINGS = 3;
const WORDS_PER_RING = PLACES / 32;
/** What is later comes to the wheel again when this time is over. */
const LONGEST_MS = 2 ** (BITS * RINGS) - 1;

/** No entry; entries begin at 1. */
const NONE = 0;
/** The next tick must be looked for. */
const UNKNOWN = -1;

/** The deadlines of entries, which are numbers. */
export class Wheel {
  readonly #first = new Int32Array(RINGS * PLACES);
  /** One bit for each place that has entries. */
  readonly #occupied = new Int32Array(RINGS * WORDS_PER_RING);
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  /** The place of each entry, plus 1; 0: it is not in the wheel. */
  readonly #place: Int32Array;
  /** When an entry is due, in ticks. */
  readonly #due: Float64Array;
  /** The tick up to which all was fired. */
  readonly #now = new Float64Array(1);
  /** The next tick at which a place comes that has entries, as long as it is known. */
  readonly #nextTick = new Float64Array([NEVER]);
  #count = 0;

  constructor(entries: number) {
    this.#next = new Int32Array(entries + 1);
    this.#previous = new Int32Array(entries + 1);
    this.#place = new Int32Array(entries + 1);
    this.#due = new Float64Array(entries + 1);
  }

  /**
   * Makes sure that an entry fires at a time or before; with NEVER, or when it fires early already,
   * nothing changes, as whoever is called looks at its deadlines.
   */
  schedule(entry: number, at: number): void {
    if (at === NEVER) return;
    const now = this.#now[0]!;
    const due = Math.min(Math.max(Math.ceil(at), now + 1), now + LONGEST_MS);
    if (this.#place[entry] !== 0) {
      if (this.#due[entry]! <= due) return;
      this.remove(entry);
    }
    this.#due[entry] = due;
    this.#insert(entry);
    this.#count++;
  }

  /** Takes an entry out. */
  remove(entry: number): void {
    const place = this.#place[entry]! - 1;
    if (place === -1) return;
    const next = this.#next[entry]!;
    const previous = this.#previous[entry]!;
    if (next !== NONE) this.#previous[next] = previous;
    if (previous !== NONE) this.#next[previous] = next;
    else {
      this.#first[place] = next;
      if (next === NONE) this.#vacate(place, this.#due[entry]!);
    }
    this.#place[entry] = 0;
    this.#count--;
  }

  /** When `take` may have an entry, in ms; NEVER where the wheel is empty. */
  get deadline(): number {
    return this.#findNextTick();
  }

  /**
   * Takes out an entry that is due at `now` or before; NONE (0) where there is none. The time of
   * the wheel is then `now`.
   */
  take(now: number): number {
    const tick = Math.floor(now);
    const current = this.#now;
    while (this.#count > 0) {
      const entry = this.#first[current[0]! & MASK]!;
      if (entry !== NONE && this.#due[entry]! <= current[0]!) {
        this.remove(entry);
        return entry;
      }
      const next = this.#findNextTick();
      if (next > tick) break;
      current[0] = next;
      this.#nextTick[0] = UNKNOWN;
      this.#cascade(next);
    }
    if (tick > current[0]!) current[0] = tick;
    return NONE;
  }

  /** Notes that a place has no entries any more; `due` is when its last one was due. */
  #vacate(place: number, due: number): void {
    this.#occupied[place >> 5]! &= ~(1 << (place & 31));
    if (comesAt(due, place >> BITS) === this.#nextTick[0]) this.#nextTick[0] = UNKNOWN;
  }

  #insert(entry: number): void {
    const due = this.#due[entry]!;
    const distance = due - this.#now[0]!;
    let ring = 0;
    if (distance >= PLACES * PLACES) ring = 2;
    else if (distance >= PLACES) ring = 1;
    const place = ring * PLACES + ((toWord(due) >>> (BITS * ring)) & MASK);
    const first = this.#first[place]!;
    this.#next[entry] = first;
    this.#previous[entry] = NONE;
    if (first !== NONE) this.#previous[first] = entry;
    this.#first[place] = entry;
    this.#place[entry] = place + 1;
    this.#occupied[place >> 5]! |= 1 << (place & 31);
    const comes = comesAt(due, ring);
    if (comes < this.#nextTick[0]!) this.#nextTick[0] = comes;
  }

  /** Moves inward what is in the places of the outer rings that begin at a tick. */
  #cascade(tick: number): void {
    const word = toWord(tick);
    if ((word & (PLACES * PLACES - 1)) === 0) this.#empty(2 * PLACES + ((word >>> 16) & MASK));
    if ((word & MASK) === 0) this.#empty(PLACES + ((word >>> 8) & MASK));
  }

  #empty(place: number): void {
    let entry = this.#first[place]!;
    this.#first[place] = NONE;
    this.#occupied[place >> 5]! &= ~(1 << (place & 31));
    while (entry !== NONE) {
      const next = this.#next[entry]!;
      this.#insert(entry);
      entry = next;
    }
  }

  /** The next tick at which a place of a ring comes that has entries. */
  #findNextTick(): number {
    if (this.#nextTick[0] !== UNKNOWN) return this.#nextTick[0]!;
    let earliest = NEVER;
    const now = this.#now[0]!;
    for (let ring = 0; ring < RINGS; ring++) {
      const size = 2 ** (BITS * ring);
      const from = Math.floor(now / size) + 1;
      const distance = this.#distance(ring, toWord(from) & MASK);
      if (distance >= 0) earliest = Math.min(earliest, (from + distance) * size);
    }
    this.#nextTick[0] = earliest;
    return earliest;
  }

  /** How many places after `from` the next one with entries is; -1 where there is none. */
  #distance(ring: number, from: number): number {
    const base = ring * WORDS_PER_RING;
    const first = this.#occupied[base + (from >> 5)]! & (-1 << (from & 31));
    if (first !== 0) return lowestBit(first) - (from & 31);
    for (let i = 1; i <= WORDS_PER_RING; i++) {
      const index = ((from >> 5) + i) & (WORDS_PER_RING - 1);
      const word = this.#occupied[base + index]!;
      if (word !== 0) return (32 * index + lowestBit(word) - from) & MASK;
    }
    return -1;
  }
}

/** A tick as a word: modulo 2^32. */
function toWord(tick: number): number {
  return tick | 0;
}

/** The tick at which the place comes that has what is due at a tick in a ring. */
function comesAt(due: number, ring: number): number {
  return due - (toWord(due) & ((1 << (BITS * ring)) - 1));
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
