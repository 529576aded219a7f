// Arrivals: reported once between two samples, however many come.

import test from 'ava';
import { REJECT_AFTER_TIME_MS } from '../../../dataplane/constants.ts';
import { Arrivals } from '../../../dataplane/wireguard/arrivals.ts';

test('arrivals are reported once, and again after a sample', (t) => {
  const arrivals = new Arrivals();
  t.false(arrivals.takeReport());
  arrivals.moved();
  arrivals.moved();
  t.true(arrivals.takeReport());
  arrivals.moved();
  t.false(arrivals.takeReport(), 'the sample that was asked for has it');
  arrivals.sampled();
  t.false(arrivals.takeReport());
  arrivals.moved();
  t.true(arrivals.takeReport());
});

test('a peer comes with its first handshake, and with one after a silence', (t) => {
  const now = 1_000_000;
  for (const [before, comes] of [
    [null, true],
    [now, false],
    [now + 5_000, false],
    [now - REJECT_AFTER_TIME_MS + 1, false],
    [now - REJECT_AFTER_TIME_MS, true],
  ] as const) {
    const arrivals = new Arrivals();
    arrivals.handshake(before, now);
    t.is(arrivals.takeReport(), comes, String(before));
  }
});

test('a sample has what was not reported yet', (t) => {
  const arrivals = new Arrivals();
  arrivals.moved();
  arrivals.sampled();
  t.false(arrivals.takeReport());
});
