// How often a client with a good token may ask: so many requests a second for each token.
// strangers.ts says how often strangers may ask. docs/api.md#rate-limits.

import { ApiError } from '../kit/http/errors.ts';
import { Buckets } from './buckets.ts';

/** The limits of one server. */
export class RateLimits {
  readonly #tokens: Buckets | null;

  /** `perSecond` is API_RATE_LIMIT: for each token, twice that at once; 0 means no limit at all. */
  constructor(perSecond: number, nowMs?: () => number) {
    const size = { perSecond, burst: 2 * perSecond };
    this.#tokens = perSecond === 0 ? null : new Buckets(size, nowMs);
  }

  /** Refuses a request of a good token that asks too often. */
  checkToken(tokenId: string): void {
    if (this.#tokens?.take(tokenId) === false)
      throw new ApiError('too_many_requests', { reason: 'too_many_of_token' });
  }
}
