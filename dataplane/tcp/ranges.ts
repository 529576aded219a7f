// What came out of order: ranges of sequence numbers of each connection, in the order of their
// numbers, in a pool that all connections share. Their bytes are in the connection's queue already
// (streams.ts). The latest ones are reported by SACK (RFC 2018, 4).

import { DEVICE, RANGE_COUNT, RANGE_FIRST, RANGE_LAST, RECENT, WORDS } from './columns.ts';
import { isAfter, isBefore, later, mayHaveMore, shareOf } from './numbers.ts';

/**
 * One connection has at most so many: more holes than a window of 4 MiB has with one in ten lost.
 */
const PER_CONNECTION = 512;
const RECENT_COUNT = 4;

/** No range; ranges begin at 1. */
const NONE = 0;

/** The ranges of all connections. */
export class Ranges {
  readonly #words: Int32Array;
  readonly #from: Int32Array;
  readonly #to: Int32Array;
  readonly #next: Int32Array;
  readonly #ofDevice: Int32Array;
  readonly #perDevice: number;
  #firstFree = NONE;
  #used = 0;
  #live = 0;

  constructor(words: Int32Array, count: number, devices: number) {
    this.#words = words;
    this.#ofDevice = new Int32Array(devices);
    this.#perDevice = shareOf(count);
    this.#from = new Int32Array(count + 1);
    this.#to = new Int32Array(count + 1);
    this.#next = new Int32Array(count + 1);
  }

  /** How many ranges there are. */
  get live(): number {
    return this.#live;
  }

  /** Whether there is room for one more range of a connection. */
  hasRoom(slot: number): boolean {
    const w = slot * WORDS;
    const ofDevice = this.#ofDevice[this.#words[w + DEVICE]!]!;
    const left = this.#next.length - 1 - this.#live;
    return (
      mayHaveMore(ofDevice, this.#perDevice, left) && this.#words[w + RANGE_COUNT]! < PER_CONNECTION
    );
  }

  /** Whether everything of a range has come already. */
  includes(slot: number, from: number, to: number): boolean {
    let range = this.#words[slot * WORDS + RANGE_FIRST]!;
    for (; range !== NONE; range = this.#next[range]!) {
      if (isAfter(this.#from[range]!, from)) return false;
      if (!isBefore(this.#to[range]!, to)) return true;
    }
    return false;
  }

  /** Adds a range, joined with those that it meets. There must be room. */
  add(slot: number, from: number, to: number): void {
    const words = this.#words;
    const w = slot * WORDS;
    const last = words[w + RANGE_LAST]!;
    let before = NONE;
    // Most ranges come after all others, or right at the end of the last one.
    if (last !== NONE && !isBefore(from, this.#from[last]!)) before = last;
    else
      for (let at = words[w + RANGE_FIRST]!; at !== NONE; at = this.#next[at]!) {
        if (isAfter(this.#from[at]!, from)) break;
        before = at;
      }
    let range = before;
    if (before === NONE || isBefore(this.#to[before]!, from)) range = this.#insert(w, before);
    if (range !== before) {
      this.#from[range] = from;
      this.#to[range] = to;
    } else this.#to[range] = later(this.#to[range]!, to);
    this.#swallow(w, range);
    this.#noteRecent(w, range);
  }

  /** The end of what follows `from` without a hole; ranges before it are removed. */
  advance(slot: number, from: number): number {
    const words = this.#words;
    const w = slot * WORDS;
    let end = from;
    for (;;) {
      const range = words[w + RANGE_FIRST]!;
      if (range === NONE || isAfter(this.#from[range]!, end)) return end;
      end = later(end, this.#to[range]!);
      this.#removeAfter(w, NONE, range);
    }
  }

  /** Writes the edges of up to four ranges, the latest first; returns how many. */
  report(slot: number, blocks: Int32Array, from: number): number {
    const w = slot * WORDS;
    let count = from;
    for (let i = 0; i < RECENT_COUNT && count < RECENT_COUNT; i++) {
      const range = this.#words[w + RECENT + i]!;
      if (range === NONE) break;
      blocks[2 * count] = this.#from[range]!;
      blocks[2 * count + 1] = this.#to[range]!;
      count++;
    }
    return count;
  }

  /** Removes all ranges of a connection. */
  clear(slot: number): void {
    const w = slot * WORDS;
    for (;;) {
      const range = this.#words[w + RANGE_FIRST]!;
      if (range === NONE) return;
      this.#removeAfter(w, NONE, range);
    }
  }

  #insert(w: number, before: number): number {
    const range = this.#firstFree === NONE ? ++this.#used : this.#firstFree;
    if (range === this.#firstFree) this.#firstFree = this.#next[range]!;
    const words = this.#words;
    const next = before === NONE ? words[w + RANGE_FIRST]! : this.#next[before]!;
    this.#next[range] = next;
    if (before === NONE) words[w + RANGE_FIRST] = range;
    else this.#next[before] = range;
    if (next === NONE) words[w + RANGE_LAST] = range;
    words[w + RANGE_COUNT]!++;
    this.#ofDevice[words[w + DEVICE]!]!++;
    this.#live++;
    return range;
  }

  /** Joins a range with those after it that it meets. */
  #swallow(w: number, range: number): void {
    for (;;) {
      const next = this.#next[range]!;
      if (next === NONE || isBefore(this.#to[range]!, this.#from[next]!)) return;
      this.#to[range] = later(this.#to[range]!, this.#to[next]!);
      this.#removeAfter(w, range, next);
    }
  }

  #removeAfter(w: number, before: number, range: number): void {
    const words = this.#words;
    const next = this.#next[range]!;
    if (before === NONE) words[w + RANGE_FIRST] = next;
    else this.#next[before] = next;
    if (next === NONE) words[w + RANGE_LAST] = before;
    this.#forgetRecent(w, range);
    this.#next[range] = this.#firstFree;
    this.#firstFree = range;
    words[w + RANGE_COUNT]!--;
    this.#ofDevice[words[w + DEVICE]!]!--;
    this.#live--;
  }

  #noteRecent(w: number, range: number): void {
    const words = this.#words;
    if (words[w + RECENT] === range) return;
    this.#forgetRecent(w, range);
    for (let i = RECENT_COUNT - 1; i > 0; i--) words[w + RECENT + i] = words[w + RECENT + i - 1]!;
    words[w + RECENT] = range;
  }

  #forgetRecent(w: number, range: number): void {
    const words = this.#words;
    let kept = 0;
    for (let i = 0; i < RECENT_COUNT; i++) {
      const one = words[w + RECENT + i]!;
      if (one !== range && one !== NONE) words[w + RECENT + kept++] = one;
    }
    for (; kept < RECENT_COUNT; kept++) words[w + RECENT + kept] = NONE;
  }
}
