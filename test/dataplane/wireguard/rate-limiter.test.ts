// The token bucket of each source: five at once, twenty per second.

import test from 'ava';
import { MAX_RATE_LIMITED_SOURCES } from '../../../dataplane/constants.ts';
import { RateLimiter } from '../../../dataplane/wireguard/rate-limiter.ts';

// wireguard-linux, src/selftest/ratelimiter.c: how long to wait, and whether the next is taken.
const table: readonly [afterMs: number, wanted: boolean][] = [
  [0, true],
  [0, true],
  [0, true],
  [0, true],
  [0, true],
  [0, false],
  [50, true],
  [0, false],
  [100, true],
  [0, true],
  [0, false],
  [49, false],
  [1, true],
  [0, false],
];

for (const source of [0x7f000001, 0x20010db8_00000000n]) {
  test(`the table of the kernel holds for source ${source}`, (t) => {
    const limiter = new RateLimiter();
    let now = 10_000;
    for (const [row, [afterMs, wanted]] of table.entries()) {
      now += afterMs;
      t.is(limiter.allow(source, now), wanted, `row ${row + 1}`);
    }
  });
}

test('over a long time a greedy source gets twenty per second and its burst', (t) => {
  const limiter = new RateLimiter();
  let taken = 0;
  for (let now = 0; now < 10_000; now++) if (limiter.allow(1, now)) taken++;
  t.true(taken >= 200 && taken <= 205, `${taken}`);
});

test('a source that rested has its burst again, and not more', (t) => {
  const limiter = new RateLimiter();
  for (let i = 0; i < 10; i++) limiter.allow(1, 0);
  const taken = Array.from({ length: 20 }, () => limiter.allow(1, 1_000_000)).filter(Boolean);
  t.is(taken.length, 5);
});

test('a source that is refused takes nothing from another', (t) => {
  const limiter = new RateLimiter();
  for (let i = 0; i < 1_000; i++) limiter.allow(1, 0);
  t.false(limiter.allow(1, 0));
  t.true(limiter.allow(2, 0));
});

test('being refused costs nothing', (t) => {
  const limiter = new RateLimiter();
  for (let i = 0; i < 5; i++) limiter.allow(1, 0);
  for (let i = 0; i < 100; i++) limiter.allow(1, 10);
  t.true(limiter.allow(1, 50));
});

test('while it is full of active sources new ones are refused, known ones served', (t) => {
  const limiter = new RateLimiter();
  for (let source = 0; source < MAX_RATE_LIMITED_SOURCES; source++)
    t.true(limiter.allow(source, 1_000));
  t.false(limiter.allow(-1, 1_000));
  t.true(limiter.allow(7, 1_000));
});

test('sources that have gone quiet make room', (t) => {
  const limiter = new RateLimiter();
  for (let source = 0; source < MAX_RATE_LIMITED_SOURCES; source++) limiter.allow(source, 1_000);
  t.true(limiter.allow(-1, 2_000));
});

test('a source that was forgotten begins with a full bucket, as it had', (t) => {
  const limiter = new RateLimiter();
  for (let source = 0; source < MAX_RATE_LIMITED_SOURCES; source++) limiter.allow(source, 1_000);
  limiter.allow(-1, 2_000);
  const taken = Array.from({ length: 9 }, () => limiter.allow(7, 2_000)).filter(Boolean);
  t.is(taken.length, 5);
});
