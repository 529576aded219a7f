// Some in a row, then one in a while, each peer for itself.

import test from 'ava';
import { Pace } from '../../dataplane/pace.ts';

function allowed(pace: Pace, slot: number, times: readonly number[]): number[] {
  return times.filter((now) => pace.allows(slot, now));
}

test('a burst is allowed, and then one per interval', (t) => {
  const pace = new Pace(4, 3, 100);
  t.deepEqual(allowed(pace, 0, [0, 1, 2, 3, 4, 99, 100, 101, 200, 201]), [0, 1, 2, 100, 200]);
});

test('a pause fills the burst again, and no further', (t) => {
  const pace = new Pace(4, 3, 100);
  allowed(pace, 0, [0, 0, 0]);
  t.is(
    allowed(
      pace,
      0,
      Array.from({ length: 10 }, () => 1_000_000.5),
    ).length,
    3,
  );
});

test('nobody pays for another', (t) => {
  const pace = new Pace(4, 1, 100);
  t.true(pace.allows(0, 0));
  t.false(pace.allows(0, 0));
  t.true(pace.allows(1, 0));
});

test('over a long time the pace is kept', (t) => {
  const pace = new Pace(1, 10, 100);
  const count = Array.from({ length: 10_000 }, (_, i) => i * 7).filter((now) =>
    pace.allows(0, now),
  );
  t.is(count.length, 10 + Math.floor((9_999 * 7) / 100));
});
