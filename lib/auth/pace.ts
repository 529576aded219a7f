// How often people who are signed in may ask: a limit for all requests, and one for requests that
// change something, because each write of a user leaves an entry in the audit trail. An
// administrator's token has a bucket of its own (rate-limits.ts). docs/api.md#rate-limits.

import type { IncomingMessage } from 'node:http';
import { type Refusal, refusals } from '../kit/http/gate.ts';
import { Buckets } from './buckets.ts';
import type { Somebody } from './known-good.ts';

/** What each user may ask who is no administrator. */
export const REQUESTS = { perSecond: 20, burst: 60 };
/** How many of these may change something. */
export const WRITES = { perSecond: 1, burst: 30 };

const READS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The paces of one server. */
export class Pace {
  readonly #requests: Buckets;
  readonly #writes: Buckets;
  readonly #administrators: Buckets;

  /** `perSecond` is API_RATE_LIMIT, for the sessions of an administrator together. */
  constructor(perSecond: number, nowMs?: () => number) {
    this.#requests = new Buckets(REQUESTS, nowMs);
    this.#writes = new Buckets(WRITES, nowMs);
    this.#administrators = new Buckets({ perSecond, burst: 2 * perSecond }, nowMs);
  }

  /** Takes one for a request; what it is refused with, or null. */
  check({ userId, isAdministrator, by }: Somebody, request: IncomingMessage): Refusal | null {
    // Whoever knows the password alone takes nothing from the user.
    const key = by === 'waiting session' ? `${userId} ${by}` : userId;
    if (isAdministrator) {
      if (by === 'token' || this.#administrators.take(key)) return null;
      return refusals.requests;
    }
    if (!this.#requests.take(key)) return refusals.requests;
    return READS.has(request.method) || this.#writes.take(key) ? null : refusals.writes;
  }
}
