// Token buckets, in virtual time.

import test from 'ava';
import fc from 'fast-check';
import { Buckets, KEYS_MAX } from '../../../lib/auth/buckets.ts';

/** Buckets and the hand of their clock. */
function make(perSecond: number, burst: number) {
  const clock = { ms: 1_000_000 };
  return { clock, buckets: new Buckets({ perSecond, burst }, () => clock.ms) };
}

const taken = (buckets: Buckets, key: string, count: number): number =>
  Array.from({ length: count }, () => buckets.take(key)).filter(Boolean).length;

test('a full bucket gives its burst, then as much as flows in', (t) => {
  const { clock, buckets } = make(10, 20);
  t.is(taken(buckets, 'a', 100), 20);
  clock.ms += 99;
  t.false(buckets.take('a'));
  clock.ms += 1;
  t.true(buckets.take('a'));
  t.false(buckets.take('a'));
  clock.ms += 1_000;
  t.is(taken(buckets, 'a', 100), 10);
  clock.ms += 3_600_000;
  t.is(taken(buckets, 'a', 100), 20, 'it holds no more than its burst');
});

test('asking an empty bucket again and again does not keep it empty', (t) => {
  const { clock, buckets } = make(10, 20);
  taken(buckets, 'a', 20);
  let count = 0;
  for (let i = 0; i < 1_000; i += 1) {
    clock.ms += 1;
    if (buckets.take('a')) count += 1;
  }
  t.true(count >= 9 && count <= 10, String(count));
});

test('keys do not take from one another', (t) => {
  const { buckets } = make(1, 2);
  t.is(taken(buckets, 'a', 5), 2);
  t.is(taken(buckets, 'b', 5), 2);
});

test('what is given back can be taken again, and no bucket holds more than it can', (t) => {
  const { buckets } = make(10, 20);
  t.is(taken(buckets, 'a', 100), 20);
  buckets.giveBack('a');
  t.is(taken(buckets, 'a', 100), 1);
  for (let i = 0; i < 100; i += 1) buckets.giveBack('a');
  t.is(taken(buckets, 'a', 100), 20);
  buckets.giveBack('b');
  t.is(buckets.count, 1, 'nobody took one');
});

test('what is full again is forgotten, what is not is kept', (t) => {
  const { clock, buckets } = make(10, 20);
  for (let i = 0; i < 1_000; i += 1) buckets.take(`old ${i}`);
  clock.ms += 1_999;
  buckets.take('a');
  t.is(buckets.count, 1_001);
  clock.ms += 1;
  buckets.take('b');
  t.is(buckets.count, 2);
});

test('the table is bounded, whoever comes from how many addresses', (t) => {
  const { buckets } = make(10, 20);
  for (let i = 0; i < KEYS_MAX + 100; i += 1) buckets.take(String(i));
  t.true(buckets.count <= KEYS_MAX);
});

test('over any time no more is given than burst and flow', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 }),
      (perSecond, steps) => {
        const { clock, buckets } = make(perSecond, 2 * perSecond);
        const beganMs = clock.ms;
        let count = 0;
        for (const step of steps) {
          clock.ms += step;
          if (buckets.take('a')) count += 1;
        }
        const seconds = (clock.ms - beganMs) / 1_000;
        return count <= 2 * perSecond + seconds * perSecond + 1e-6;
      },
    ),
  );
  t.pass();
});
