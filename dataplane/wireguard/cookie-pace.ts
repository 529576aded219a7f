// Limits cookie replies (paper, section 5.3), because one costs more than everything else that is
// done about a forged initiation.
//
// A sender at the address of a known peer has an allowance of its own; so has one at its address
// and port. A flood with that address as its source can use up the first, and the second only if it
// knows the port. All other senders share one limit. While the gateway is under load, one source
// gets at most its part of it. While only some sources flood, the limit is higher, and one sender
// (an address with a port) gets at most its part.

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

/**
 * Number of slots for sources and for senders. Some share a slot by chance; a prime keeps
 * neighbours apart.
 */
const SLOTS = 65_521;

/** Decides about cookie replies. A sender is a number of `senderOf` (wire/address.ts). */
export class CookiePace {
  /** By source: how many peers were heard there last. */
  readonly #homes = new Map<bigint, number>();
  /** By sender: how many peers were heard there last. */
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

  /** Notes that a peer was heard at a sender. */
  enter(sender: bigint): void {
    add(this.#homesOfSenders, sender, 1);
    add(this.#homes, sourceOfSender(sender), 1);
  }

  /** Notes that a peer is no longer at a sender. */
  leave(sender: bigint): void {
    add(this.#homesOfSenders, sender, -1);
    add(this.#homes, sourceOfSender(sender), -1);
  }

  /** Whether a sender can be sent a cookie now; if so, it is counted. */
  allows(sender: bigint, now: number, isGatewayUnderLoad: boolean): boolean {
    if (this.#homesOfSenders.has(sender) && this.#ofHomeSender.allow(sender, now)) return true;
    const source = sourceOfSender(sender);
    if (this.#homes.has(source) && this.#ofHome.allow(source, now)) return true;
    return isGatewayUnderLoad
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
