// Who is sent a cookie when everyone asks: devices where they were heard, and of the others as many
// as the pace lets through, none of them more than its part.

import test from 'ava';
import {
  COOKIE_REPLIES_BURST,
  COOKIE_REPLIES_BURST_PER_SOURCE,
  COOKIE_REPLIES_PER_SECOND,
  COOKIE_REPLIES_PER_SECOND_AND_SOURCE,
  RATE_LIMIT_BURST,
} from '../../../dataplane/constants.ts';
import { CookiePace } from '../../../dataplane/wireguard/cookie-pace.ts';

const HOME = 7n;

/** How many of `count` asks at a time are allowed, from one source or from another one each. */
function allowed(pace: CookiePace, count: number, now: number, sourceOf: (i: number) => bigint) {
  return Array.from({ length: count }, (_, i) => pace.allows(sourceOf(i), now)).filter(Boolean)
    .length;
}

const everywhere = (i: number): bigint => BigInt(1_000 + i);

test('many sources share a burst and then a pace', (t) => {
  const pace = new CookiePace();
  t.is(allowed(pace, 5_000, 0, everywhere), COOKIE_REPLIES_BURST);
  t.is(allowed(pace, 5_000, 1_000, everywhere), COOKIE_REPLIES_BURST);
  let later = 0;
  for (let now = 1_001; now <= 2_000; now++) later += allowed(pace, 50, now, everywhere);
  t.is(later, COOKIE_REPLIES_PER_SECOND);
});

test('one source has its part and leaves the rest to others', (t) => {
  const pace = new CookiePace();
  t.is(
    allowed(pace, 5_000, 0, () => HOME),
    COOKIE_REPLIES_BURST_PER_SOURCE,
  );
  let later = 0;
  for (let now = 1; now <= 1_000; now++) later += allowed(pace, 50, now, () => HOME);
  t.is(later, COOKIE_REPLIES_PER_SECOND_AND_SOURCE);
  t.is(allowed(pace, 5_000, 2_000, everywhere), COOKIE_REPLIES_BURST);
});

test('where a peer was heard an ask is answered, however many others ask', (t) => {
  const pace = new CookiePace();
  pace.enter(HOME);
  allowed(pace, 5_000, 0, everywhere);
  t.is(
    allowed(pace, 100, 0, () => HOME),
    RATE_LIMIT_BURST,
  );
  allowed(pace, 5_000, 5_000, everywhere);
  t.true(pace.allows(HOME, 5_000));
});

test('a place is home to nobody once all peers have left it', (t) => {
  const pace = new CookiePace();
  pace.enter(HOME);
  pace.enter(HOME);
  allowed(pace, 5_000, 0, everywhere);
  pace.leave(HOME);
  t.true(pace.allows(HOME, 0));
  pace.leave(HOME);
  t.false(pace.allows(HOME, 0));
  pace.leave(HOME);
  t.false(pace.allows(HOME, 0));
});
