// Counts in steps: where the time of a count is spread to, what is forgotten, and what clocks do.

import fc from 'fast-check';
import test from 'ava';
import { Steps } from '../../../../lib/observe/history/steps.ts';

const NOW_MS = Date.UTC(2026, 10, 30, 2);
const SECOND = NOW_MS / 1_000;

function seconds(fields: { kept?: number; max?: number } = {}): Steps {
  return new Steps({ stepMs: 1_000, kept: 10, counts: 2, max: 4, ...fields });
}

function firsts(steps: Steps, subject: string, from: number, to: number): (number | null)[] {
  return Array.from({ length: to - from }, (_, i) => steps.read(subject, from + i)?.[0] ?? null);
}

test('a count goes to the steps of its time, in proportion', (t) => {
  const steps = seconds();
  steps.add('a', [100, 10], NOW_MS + 500);
  steps.add('a', [30, 0], NOW_MS + 3_500, NOW_MS + 500);
  t.deepEqual(firsts(steps, 'a', SECOND, SECOND + 5), [105, 10, 10, 5, null]);
  t.deepEqual(steps.read('a', SECOND), [105, 10]);
  t.is(steps.read('b', SECOND), null);
  t.is(steps.read('a', SECOND - 10), null, 'it is too old');
  t.is(steps.read('a', SECOND - 5)?.[0], 0, 'it is kept, and nothing was counted');
});

test('what is old is forgotten, and a ring begins with nothing', (t) => {
  const steps = seconds();
  for (let i = 0; i < 25; i += 1) steps.add('a', [i, 0], NOW_MS + i * 1_000);
  t.deepEqual(firsts(steps, 'a', SECOND + 14, SECOND + 25), [
    null,
    15,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
  ]);
  steps.add('a', [7, 0], NOW_MS + 60_000);
  t.deepEqual(firsts(steps, 'a', SECOND + 51, SECOND + 61), [0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
});

test('a time of more than all steps has its mean in those that are kept', (t) => {
  const steps = seconds();
  steps.add('a', [1_000, 0], NOW_MS + 100_000, NOW_MS);
  t.deepEqual(
    firsts(steps, 'a', SECOND + 91, SECOND + 101),
    Array.from({ length: 10 }, (_, i) => (i < 9 ? 1_000 / 9 : 0)).map(Math.fround),
  );
});

test('the ring of a silent subject is given to another, and there are no more than the most', (t) => {
  const steps = seconds();
  for (const [i, name] of ['a', 'b', 'c'].entries()) steps.add(name, [1, 0], NOW_MS + i * 1_000);
  const { bytes } = steps.size;
  steps.add('d', [1, 0], NOW_MS + 11_500);
  t.is(steps.size.subjects, 2, 'a and b were silent for longer than is kept');
  t.is(steps.read('a', SECOND), null);
  for (const name of ['e', 'f', 'g']) steps.add(name, [1, 0], NOW_MS + 11_600);
  t.is(steps.size.subjects, 4);
  t.is(steps.read('c', SECOND + 2), null, 'it was silent for longest');
  t.deepEqual(steps.read('g', SECOND + 11), [1, 0]);
  t.deepEqual(steps.read('g', SECOND + 10), [0, 0], 'nothing of whose ring it was');
  t.is(steps.size.bytes, bytes);
});

test('whoever is counted again was not silent for longest', (t) => {
  const steps = seconds();
  for (const name of ['a', 'b', 'c', 'd']) steps.add(name, [1, 0], NOW_MS);
  steps.add('a', [1, 0], NOW_MS + 1_000);
  steps.add('e', [1, 0], NOW_MS + 1_500);
  t.deepEqual(steps.read('a', SECOND + 1), [1, 0]);
  t.is(steps.read('b', SECOND), null);
});

test('rings keep their counts when the array grows', (t) => {
  const steps = seconds({ max: 1_000 });
  for (let i = 0; i < 1_000; i += 1) steps.add(`n${i}`, [i, i], NOW_MS);
  for (let i = 0; i < 1_000; i += 1) t.deepEqual(steps.read(`n${i}`, SECOND), [i, i]);
  t.true(steps.size.bytes <= 1_024 * 10 * 2 * 4, `${steps.size.bytes} bytes`);
});

test('a clock that is set back adds to what is there, or begins anew; 1970 is a time too', (t) => {
  const steps = seconds();
  steps.add('a', [5, 0], NOW_MS);
  steps.add('a', [6, 0], NOW_MS - 3_000);
  t.deepEqual(firsts(steps, 'a', SECOND - 4, SECOND + 1), [0, 6, 0, 0, 5]);
  steps.add('a', [7, 0], NOW_MS - 86_400_000);
  t.is(steps.read('a', SECOND), null);
  t.is(steps.read('a', SECOND - 86_400)?.[0], 7);
  const early = seconds();
  early.add('a', [1, 0], NOW_MS);
  early.add('b', [2, 0], 1_500);
  t.deepEqual(firsts(early, 'b', -3, 3), [0, 0, 0, 0, 2, null]);
  t.is(early.read('a', SECOND)?.[0], 1);
});

test('no count is lost or made, whenever it comes', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ count: fc.nat(1_000), gapMs: fc.nat(900) }), { maxLength: 20 }),
      (all) => {
        const steps = seconds({ kept: 40 });
        let atMs = NOW_MS;
        for (const { count, gapMs } of all) {
          steps.add('a', [count, 1], atMs + gapMs, atMs);
          atMs += gapMs;
        }
        const kept = firsts(steps, 'a', SECOND, SECOND + 40);
        const sum = kept.reduce<number>((total, count) => total + (count ?? 0), 0);
        return Math.abs(sum - all.reduce((total, { count }) => total + count, 0)) < 0.1;
      },
    ),
  );
  t.pass();
});
