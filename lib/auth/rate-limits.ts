// How often one may ask: so many requests a second for each token, and few for an address that
// shows none that is good. A good token has its own bucket, so bad ones from the same address do
// not lock it out. docs/api.md#rate-limits.

import { addressScope } from '../http/client-address.ts';
import { ApiError } from '../http/errors.ts';
import { Buckets } from './buckets.ts';

/** Unauthenticated requests that one address may make in a second, and at once. */
const UNAUTHENTICATED = { perSecond: 20, burst: 40 };

/** The limits of one server. */
export class RateLimits {
  readonly #tokens: Buckets | null;
  readonly #addresses: Buckets | null;

  /** `perSecond` is API_RATE_LIMIT: for each token, twice that at once; 0 means no limit at all. */
  constructor(perSecond: number, nowMs?: () => number) {
    const size = { perSecond, burst: 2 * perSecond };
    this.#tokens = perSecond === 0 ? null : new Buckets(size, nowMs);
    this.#addresses = perSecond === 0 ? null : new Buckets(UNAUTHENTICATED, nowMs);
  }

  /** Refuses a request of a good token that asks too often. */
  judgeToken(tokenId: string): void {
    if (this.#tokens?.take(tokenId) === false)
      throw new ApiError('too_many_requests', { reason: 'too_many_of_token' });
  }

  /** Refuses a request without a good token, from an address that makes too many of them. */
  judgeStranger(address: string): void {
    if (this.#addresses?.take(addressScope(address)) === false)
      throw new ApiError('too_many_requests', { reason: 'too_many_of_address' });
  }
}
