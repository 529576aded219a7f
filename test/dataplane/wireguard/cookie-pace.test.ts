// Which initiations get a cookie under load: those from addresses where devices were heard, and a
// limited number of others, each source within its part.

import test from 'ava';
import {
  COOKIE_REPLIES_BURST,
  COOKIE_REPLIES_BURST_OF_FLOODS,
  COOKIE_REPLIES_BURST_PER_SOURCE,
  COOKIE_REPLIES_PER_SECOND,
  COOKIE_REPLIES_PER_SECOND_AND_SOURCE,
  COOKIE_REPLIES_PER_SECOND_OF_FLOODS,
  RATE_LIMIT_BURST,
} from '../../../dataplane/constants.ts';
import { CookiePace } from '../../../dataplane/wireguard/cookie-pace.ts';

/** A port of a source. */
const at = (source: bigint, port = 51_820): bigint => (source << 16n) | BigInt(port);
const HOME = at(7n);
const HOUSE = true;
const FLOOD = false;

/** How many of `count` requests are allowed, from one sender or from another one each. */
function allowed(
  pace: CookiePace,
  count: number,
  now: number,
  senderOf: (i: number) => bigint,
  isHouse = HOUSE,
) {
  return Array.from({ length: count }, (_, i) => pace.allows(senderOf(i), now, isHouse)).filter(
    Boolean,
  ).length;
}

const everywhere = (i: number): bigint => at(BigInt(1_000 + i));
/** Every port of the source of HOME except its own. */
const around = (i: number): bigint => at(7n, i % 50_000);

test('many sources share a burst and then a rate', (t) => {
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

test('a request from an address where a peer was heard is answered, however many others ask', (t) => {
  const pace = new CookiePace();
  pace.enter(HOME);
  allowed(pace, 5_000, 0, everywhere);
  t.is(
    allowed(pace, 100, 0, () => HOME),
    2 * RATE_LIMIT_BURST,
    'at its port, and at its address',
  );
  t.false(pace.allows(at(8n), 0, HOUSE));
  allowed(pace, 5_000, 5_000, everywhere);
  t.true(pace.allows(HOME, 5_000, HOUSE));
});

test('an address is no longer preferred once no peer has it', (t) => {
  const pace = new CookiePace();
  pace.enter(HOME);
  pace.enter(HOME);
  allowed(pace, 5_000, 0, everywhere);
  pace.leave(HOME);
  t.true(pace.allows(HOME, 0, HOUSE));
  pace.leave(HOME);
  t.false(pace.allows(HOME, 0, HOUSE));
  pace.leave(HOME);
  t.false(pace.allows(HOME, 0, HOUSE));
});

test('a request from the endpoint of a peer is answered, however many come from its other ports', (t) => {
  for (const isHouse of [HOUSE, FLOOD]) {
    const pace = new CookiePace();
    pace.enter(HOME);
    for (let now = 0; now < 10_000; now += 50) {
      allowed(pace, 2_500, now, around, isHouse);
      t.true(pace.allows(HOME, now, isHouse), `${isHouse} at ${now}`);
    }
  }
});

test('one sender that floods leaves the rest of the part of its source to others', (t) => {
  const pace = new CookiePace();
  t.is(
    allowed(pace, 20_000, 0, () => HOME, FLOOD),
    RATE_LIMIT_BURST,
  );
  t.true(pace.allows(at(7n, 4_711), 0, FLOOD));
});

test('while some sources flood, enough requests are answered that every other source gets one', (t) => {
  const pace = new CookiePace();
  const each = COOKIE_REPLIES_PER_SECOND_OF_FLOODS / 1_000;
  for (let now = 0; now < 2_000; now++)
    t.is(
      allowed(pace, each, now, (i) => around(now * each + i), FLOOD),
      each,
    );
  const burst = allowed(pace, 50_000, 10_000, around, FLOOD);
  t.true(Math.abs(burst - COOKIE_REPLIES_BURST_OF_FLOODS) <= 1, `${burst}`);
  t.is(allowed(pace, 5_000, 10_000, everywhere), COOKIE_REPLIES_BURST, 'others have their own');
});

test('a client gets its cookie at each try, despite 50,000 forgeries a second from its address', (t) => {
  const pace = new CookiePace();
  let tries = 0;
  for (let now = 0; now < 10_000; now++) {
    allowed(pace, 50, now, (i) => at(7n, 1_024 + ((now * 50 + i) % 60_000)), FLOOD);
    if (now % 60 !== 0) continue;
    tries++;
    t.true(pace.allows(at(7n, 900), now, FLOOD), `try ${tries} at ${now}`);
  }
});
