// How much is done between two batches of packets, where there may be more to do than packets can
// wait for. The limits, and what one of each costs, are in constants.ts.

import {
  BUSY_BATCH_DATAGRAMS,
  INITIATIONS_PER_BUSY_TURN,
  INITIATIONS_PER_TURN,
  MAX_LOOKED_AT_PER_PART,
  MAX_TOLD_PER_PART,
} from './constants.ts';

/**
 * Initiations of a turn in which so many datagrams came. Single datagrams that pile up make them
 * few; trains, whose turn takes longer, do not.
 */
export function initiationsPerTurn(datagrams: number): number {
  const batches = Math.floor(datagrams / BUSY_BATCH_DATAGRAMS);
  if (batches === 0) return INITIATIONS_PER_TURN;
  return Math.min(INITIATIONS_PER_TURN, Math.max(INITIATIONS_PER_BUSY_TURN, batches));
}

/** Goes around what may have news, a part at a time; what has none yields null. */
export class Round<T> {
  readonly #begin: () => Iterator<T | null>;
  #walk: Iterator<T | null> | null = null;

  constructor(begin: () => Iterator<T | null>) {
    this.#begin = begin;
  }

  /** Whether the round that was begun has more to look at. */
  get isUnderWay(): boolean {
    return this.#walk !== null;
  }

  /** Takes the next part, or the first one of another round. */
  take(): T[] {
    const told: T[] = [];
    const walk = (this.#walk ??= this.#begin());
    for (let looks = 0; looks < MAX_LOOKED_AT_PER_PART; looks++) {
      if (told.length === MAX_TOLD_PER_PART) return told;
      const { value, done } = walk.next();
      if (done === true) {
        this.#walk = null;
        return told;
      }
      if (value !== null) told.push(value as T);
    }
    return told;
  }
}

/** What a map holds, in maps of at most `size`. */
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
