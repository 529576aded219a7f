// Limits how much is done between two batches, because packets wait meanwhile. The limits and the
// cost of each are in constants.ts.

import {
  BUSY_BATCH_DATAGRAMS,
  INITIATIONS_PER_BUSY_TURN,
  INITIATIONS_PER_TURN,
  MAX_LOOKED_AT_PER_PART,
  MAX_REPORTED_PER_PART,
} from './constants.ts';

/**
 * How many initiations are taken in a turn that received so many datagrams. Many single datagrams
 * leave time for two. The turn of a train of datagrams takes longer anyway, so it leaves time for
 * more.
 */
export function initiationsPerTurn(datagrams: number): number {
  const batches = Math.floor(datagrams / BUSY_BATCH_DATAGRAMS);
  if (batches === 0) return INITIATIONS_PER_TURN;
  return Math.min(INITIATIONS_PER_TURN, Math.max(INITIATIONS_PER_BUSY_TURN, batches));
}

/** Visits everything that may have news, a part at a time. A visit that yields null has no news. */
export class Round<T> {
  readonly #begin: () => Iterator<T | null>;
  #walk: Iterator<T | null> | null = null;

  constructor(begin: () => Iterator<T | null>) {
    this.#begin = begin;
  }

  /** Whether the current round has more to visit. */
  get isUnderWay(): boolean {
    return this.#walk !== null;
  }

  /** Takes the next part, or the first part of a new round. */
  take(): T[] {
    const news: T[] = [];
    const walk = (this.#walk ??= this.#begin());
    for (let looks = 0; looks < MAX_LOOKED_AT_PER_PART; looks++) {
      if (news.length === MAX_REPORTED_PER_PART) return news;
      const { value, done } = walk.next();
      if (done === true) {
        this.#walk = null;
        return news;
      }
      if (value !== null) news.push(value as T);
    }
    return news;
  }
}

/** Yields the entries of a map in maps of at most `size`. */
export function* pagesOf<K, V>(map: ReadonlyMap<K, V>, size: number): Generator<Map<K, V>> {
  let page = new Map<K, V>();
  for (const [key, value] of map) {
    page.set(key, value);
    if (page.size < size) continue;
    yield page;
    page = new Map();
  }
  if (page.size > 0) yield page;
}
