// A token bucket per source (paper, section 5.3): how many initiations one source may send under
// load. A source is an IPv4 address or an IPv6 /64, because one sender has all addresses of a /64.

import { MAX_RATE_LIMITED_SOURCES, RATE_LIMIT_BURST, RATE_LIMIT_PER_SECOND } from '../constants.ts';

const COST_MS = 1_000 / RATE_LIMIT_PER_SECOND;
const FULL_MS = COST_MS * RATE_LIMIT_BURST;

interface Bucket {
  /** Credit in milliseconds: one initiation costs COST_MS. */
  creditMs: number;
  at: number;
}

/** The buckets; their number is limited, and new sources are refused while all are in use. */
export class RateLimiter {
  readonly #buckets = new Map<number | bigint, Bucket>();
  #collectedAt = 0;

  /** Whether one more initiation of a source is taken at `now`; if so, it is counted. */
  allow(source: number | bigint, now: number): boolean {
    const bucket = this.#buckets.get(source);
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_RATE_LIMITED_SOURCES) {
        this.#collect(now);
        if (this.#buckets.size >= MAX_RATE_LIMITED_SOURCES) return false;
      }
      this.#buckets.set(source, { creditMs: FULL_MS - COST_MS, at: now });
      return true;
    }
    bucket.creditMs = Math.min(FULL_MS, bucket.creditMs + (now - bucket.at));
    bucket.at = now;
    if (bucket.creditMs < COST_MS) return false;
    bucket.creditMs -= COST_MS;
    return true;
  }

  /** Forgets sources whose bucket is full again; not more often than a bucket takes to fill. */
  #collect(now: number): void {
    if (now - this.#collectedAt < FULL_MS) return;
    this.#collectedAt = now;
    for (const [source, bucket] of this.#buckets) {
      if (bucket.creditMs + (now - bucket.at) >= FULL_MS) this.#buckets.delete(source);
    }
  }
}
