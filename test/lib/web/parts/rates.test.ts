// Bytes a second: over the last seconds, of each thing alone, and never below nothing.

import test from 'ava';
import { Rates } from '../../../../lib/web/parts/rates.ts';

test('a rate is the mean of the last seconds, of each thing alone', (t) => {
  const rates = new Rates();
  const note = (key: string, atMs: number, txBytes: number, rxBytes = 0) =>
    rates.note(key, { atMs, txBytes, rxBytes });
  t.deepEqual(note('a', 0, 5_000), { down: 0, up: 0 }, 'nothing is known before');
  t.deepEqual(note('a', 1_000, 6_000, 500), { down: 1_000, up: 500 });
  t.deepEqual(note('b', 1_000, 9_000), { down: 0, up: 0 });
  for (const second of [2, 3, 4, 5, 6]) note('a', second * 1_000, 6_000, 500);
  t.deepEqual(note('a', 7_000, 6_000, 500), { down: 0, up: 0 }, 'it was silent for four seconds');
});

test('a pause, a clock that is set back and a sum that falls give no rate', (t) => {
  const rates = new Rates();
  const down = (atMs: number, txBytes: number) =>
    rates.note('a', { atMs, txBytes, rxBytes: 0 }).down;
  down(0, 0);
  t.is(down(60_000, 9_000_000), 0);
  t.is(down(61_000, 9_001_000), 1_000);
  t.is(down(1_000, 9_002_000), 0);
  t.is(down(2_000, 9_003_000), 1_000);
  t.is(down(3_000, 1_000), 0);
  rates.keep(new Set(['b']));
  t.is(down(4_000, 5_000), 0, 'it was forgotten');
});
