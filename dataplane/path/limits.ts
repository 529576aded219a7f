// How fast a peer may be: a token bucket for each peer and direction, kept by the worker of the
// peer. Asking whether a bucket is empty changes nothing; forwarder.ts takes what has passed. A
// packet passes while the bucket is not empty, however long the packet is; bytes that the bucket
// lacks are a debt.

import { LIMIT_BURST_MS, MAX_PEERS } from '../constants.ts';

/** To the peer, and from it. */
export const DOWN = 0;
export const UP = 1;

/** What a bucket is: bits per second; what is in it, in thousandths of a bit; as of when, in ms. */
const RATE = 0;
const LEVEL = 1;
const AT = 2;
const WORDS = 3;

/** Thousandths of a bit, so that what comes in a whole millisecond is exact. */
const UNITS_PER_BYTE = 8_000;

/** The buckets of the peers of one worker. Nothing here allocates for each packet. */
export class Limits {
  /** By peer slot, then by direction; null until there is a limit. */
  #buckets: Float64Array | null = null;
  /** How many buckets have a rate. */
  #count = 0;
  #now = 0;

  /** Sets the time of verdicts. */
  begin(now: number): void {
    this.#now = now;
  }

  /** Sets the limits of a peer, in bits per second; null or left out: none. */
  set(slot: number, down: number | null | undefined, up: number | null | undefined): void {
    this.#setRate(slot, DOWN, down ?? 0);
    this.#setRate(slot, UP, up ?? 0);
  }

  /** Whether a peer has a limit in a direction. */
  has(slot: number, direction: number): boolean {
    return this.#count > 0 && this.#buckets![indexOf(slot, direction) + RATE]! > 0;
  }

  /** Whether no packet of a peer passes now in a direction. */
  isReached(slot: number, direction: number): boolean {
    if (this.#count === 0) return false;
    const buckets = this.#buckets!;
    const at = indexOf(slot, direction);
    return buckets[at + RATE]! > 0 && this.#levelOf(buckets, at) <= 0;
  }

  /** How many bytes of a peer may pass now in a direction, the last packet however long it is. */
  left(slot: number, direction: number): number {
    if (!this.has(slot, direction)) return Number.POSITIVE_INFINITY;
    const level = this.#levelOf(this.#buckets!, indexOf(slot, direction));
    return Math.ceil(Math.max(0, level) / UNITS_PER_BYTE);
  }

  /** Takes so many bytes that have passed. */
  take(slot: number, direction: number, bytes: number): void {
    if (this.#count === 0) return;
    const buckets = this.#buckets!;
    const at = indexOf(slot, direction);
    if (buckets[at + RATE]! > 0)
      this.#setLevel(at, this.#levelOf(buckets, at) - bytes * UNITS_PER_BYTE);
  }

  /** A bucket that gets a rate is full; with another rate it keeps its debt, or what it holds. */
  #setRate(slot: number, direction: number, rate: number): void {
    if (this.#buckets === null && rate === 0) return;
    const buckets = (this.#buckets ??= new Float64Array(MAX_PEERS * 2 * WORDS));
    const at = indexOf(slot, direction);
    const before = buckets[at + RATE]!;
    if (rate === before) return;
    const level = before === 0 ? Number.POSITIVE_INFINITY : this.#levelOf(buckets, at);
    this.#count += Math.sign(rate) - Math.sign(before);
    buckets[at + RATE] = rate;
    this.#setLevel(at, Math.min(level, rate * LIMIT_BURST_MS));
  }

  #setLevel(at: number, level: number): void {
    const buckets = this.#buckets!;
    buckets[at + LEVEL] = level;
    buckets[at + AT] = this.#now;
  }

  #levelOf(buckets: Float64Array, at: number): number {
    const rate = buckets[at + RATE]!;
    const filled = buckets[at + LEVEL]! + rate * (this.#now - buckets[at + AT]!);
    return Math.min(filled, rate * LIMIT_BURST_MS);
  }
}

function indexOf(slot: number, direction: number): number {
  return (slot * 2 + direction) * WORDS;
}
