// Who is sent a cookie when (paper, section 5.3). A cookie reply costs more than all else that is
// done about a forged initiation, so not every one is owed one. Where a peer was heard, asks have
// an allowance of their own, which a flood from elsewhere does not touch; all others share one
// pace, of which no single source has more than its part.

import {
  COOKIE_REPLIES_BURST,
  COOKIE_REPLIES_BURST_PER_SOURCE,
  COOKIE_REPLIES_PER_SECOND,
  COOKIE_REPLIES_PER_SECOND_AND_SOURCE,
} from '../constants.ts';
import { Pace } from '../pace.ts';
import { RateLimiter } from './rate-limiter.ts';

/** Sources share a slot by chance; a prime, so that neighbours do not. */
const SOURCE_SLOTS = 65_521;

/** Decides about cookie replies; sources are those of `sourceOf` (wire/address.ts). */
export class CookiePace {
  /** By source: how many peers were last heard there. */
  readonly #homes = new Map<bigint, number>();
  readonly #ofHome = new RateLimiter();
  readonly #ofSource = new Pace(
    SOURCE_SLOTS,
    COOKIE_REPLIES_BURST_PER_SOURCE,
    1_000 / COOKIE_REPLIES_PER_SECOND_AND_SOURCE,
  );
  readonly #ofAll = new Pace(1, COOKIE_REPLIES_BURST, 1_000 / COOKIE_REPLIES_PER_SECOND);

  /** A peer was heard at a source. */
  enter(source: bigint): void {
    this.#homes.set(source, (this.#homes.get(source) ?? 0) + 1);
  }

  /** A peer that was heard there is somewhere else now, or gone. */
  leave(source: bigint): void {
    const peers = this.#homes.get(source) ?? 0;
    if (peers > 1) this.#homes.set(source, peers - 1);
    else this.#homes.delete(source);
  }

  /** Whether a source may be sent a cookie now; if so, it is counted. */
  allows(source: bigint, now: number): boolean {
    if (this.#homes.has(source) && this.#ofHome.allow(source, now)) return true;
    const slot = Number(source % BigInt(SOURCE_SLOTS));
    return this.#ofSource.allows(slot, now) && this.#ofAll.allows(0, now);
  }
}
