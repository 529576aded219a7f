// Who is sent a cookie when (paper, section 5.3). A cookie reply costs more than all else that is
// done about a forged initiation, so not every one is owed one. Where a peer was heard, asks have
// an allowance of their own, which a flood does not touch, not even one with that very address as
// its source, unless it knows the port too. All others share a pace. While the house is under load,
// no single source has more than its part of it. While only some sources flood, their pace is
// higher, and no single sender, which is an address with a port, has more than its part.

import {
  COOKIE_REPLIES_BURST,
  COOKIE_REPLIES_BURST_OF_FLOODS,
  COOKIE_REPLIES_BURST_PER_SOURCE,
  COOKIE_REPLIES_PER_SECOND,
  COOKIE_REPLIES_PER_SECOND_AND_SOURCE,
  COOKIE_REPLIES_PER_SECOND_OF_FLOODS,
  RATE_LIMIT_BURST,
  RATE_LIMIT_PER_SECOND,
} from '../constants.ts';
import { Pace } from '../pace.ts';
import { RateLimiter } from './rate-limiter.ts';

/** Sources, and senders, share a slot by chance; a prime, so that neighbours do not. */
const SLOTS = 65_521;

/** Decides about cookie replies; senders are those of `senderOf` (wire/address.ts). */
export class CookiePace {
  /** By source and by sender: how many peers were last heard there. */
  readonly #homes = new Map<bigint, number>();
  readonly #homesOfSenders = new Map<bigint, number>();
  readonly #ofHome = new RateLimiter();
  readonly #ofHomeSender = new RateLimiter();
  readonly #ofSource = new Pace(
    SLOTS,
    COOKIE_REPLIES_BURST_PER_SOURCE,
    1_000 / COOKIE_REPLIES_PER_SECOND_AND_SOURCE,
  );
  readonly #ofAll = new Pace(1, COOKIE_REPLIES_BURST, 1_000 / COOKIE_REPLIES_PER_SECOND);
  readonly #ofSender = new Pace(SLOTS, RATE_LIMIT_BURST, 1_000 / RATE_LIMIT_PER_SECOND);
  readonly #ofFloods = new Pace(
    1,
    COOKIE_REPLIES_BURST_OF_FLOODS,
    1_000 / COOKIE_REPLIES_PER_SECOND_OF_FLOODS,
  );

  /** A peer was heard at a sender. */
  enter(sender: bigint): void {
    add(this.#homesOfSenders, sender, 1);
    add(this.#homes, sourceOfSender(sender), 1);
  }

  /** A peer that was heard there is somewhere else now, or gone. */
  leave(sender: bigint): void {
    add(this.#homesOfSenders, sender, -1);
    add(this.#homes, sourceOfSender(sender), -1);
  }

  /** Whether a sender may be sent a cookie now; if so, it is counted. */
  allows(sender: bigint, now: number, isHouseUnderLoad: boolean): boolean {
    if (this.#homesOfSenders.has(sender) && this.#ofHomeSender.allow(sender, now)) return true;
    const source = sourceOfSender(sender);
    if (this.#homes.has(source) && this.#ofHome.allow(source, now)) return true;
    return isHouseUnderLoad
      ? this.#ofSource.allows(slotOf(source), now) && this.#ofAll.allows(0, now)
      : this.#ofSender.allows(slotOf(sender), now) && this.#ofFloods.allows(0, now);
  }
}

function sourceOfSender(sender: bigint): bigint {
  return sender >> 16n;
}

function slotOf(value: bigint): number {
  return Number(value % BigInt(SLOTS));
}

function add(homes: Map<bigint, number>, key: bigint, more: 1 | -1): void {
  const peers = (homes.get(key) ?? 0) + more;
  if (peers > 0) homes.set(key, peers);
  else homes.delete(key);
}
