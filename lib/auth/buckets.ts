// Token buckets: how often somebody may do something, and how many times at once. Each key has one
// bucket, in a table with a limit. A bucket that had time to fill again is forgotten, because a new
// one would be the same. Pure, except for the clock that is passed in.

/** How fast a bucket fills, and how much it holds. */
export interface BucketSize {
  readonly perSecond: number;
  readonly burst: number;
}

/** The most buckets that are kept; then those are forgotten that were unused for longest. */
export const KEYS_MAX = 65_536;

interface Bucket {
  level: number;
  /** When `level` was right. */
  atMs: number;
}

/** The buckets of one kind. */
export class Buckets {
  readonly #size: BucketSize;
  readonly #nowMs: () => number;
  readonly #fillMs: number;
  /** By key, in the order of their last use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(size: BucketSize, nowMs: () => number = () => performance.now()) {
    this.#size = size;
    this.#nowMs = nowMs;
    this.#fillMs = (size.burst / size.perSecond) * 1_000;
  }

  /** Buckets that are remembered. */
  get count(): number {
    return this.#buckets.size;
  }

  /** Takes one; false when the bucket is empty. */
  take(key: string): boolean {
    const nowMs = this.#nowMs();
    const { perSecond, burst } = this.#size;
    const bucket = this.#buckets.get(key) ?? { level: burst, atMs: nowMs };
    const filled = bucket.level + ((nowMs - bucket.atMs) / 1_000) * perSecond;
    bucket.level = Math.min(burst, filled);
    bucket.atMs = nowMs;
    this.#buckets.delete(key);
    this.#forget(nowMs);
    this.#buckets.set(key, bucket);
    if (bucket.level < 1) return false;
    bucket.level -= 1;
    return true;
  }

  /** Puts back what was taken; a bucket never holds more than it can. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.level = Math.min(this.#size.burst, bucket.level + 1);
  }

  /** Forgets buckets that are full again, from the one that was used first on. */
  #forget(nowMs: number): void {
    for (const [key, { atMs }] of this.#buckets) {
      if (nowMs - atMs < this.#fillMs && this.#buckets.size < KEYS_MAX) return;
      this.#buckets.delete(key);
    }
  }
}
