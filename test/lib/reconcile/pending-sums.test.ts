// Sums on their way into the database: when they are taken, what comes back, what is lost.

import test from 'ava';
import { GATHER_MS, PendingSums } from '../../../lib/reconcile/pending-sums.ts';

const counted = (reports: readonly { subject: string; counts: readonly number[] }[]) =>
  reports.map(({ subject, counts }) => [subject, ...counts]);

test('what is added waits for a minute, and is taken once, with all that waits', (t) => {
  const sums = new PendingSums(10);
  sums.add('a', 600, 1, 2, 0);
  sums.add('a', 600, 3, 4, 30_000);
  sums.add('b', 600, 5, 6, 30_000);
  t.deepEqual(sums.take(GATHER_MS - 1), []);
  t.is(sums.size, 2);
  t.deepEqual(counted(sums.take(GATHER_MS)), [
    ['a', 4, 6],
    ['b', 5, 6],
  ]);
  t.is(sums.size, 0);
  t.deepEqual(sums.take(2 * GATHER_MS), []);
});

test('ten minutes that are over are taken at once, and at a stop everything is', (t) => {
  const sums = new PendingSums(10);
  sums.add('a', 600, 1, 1, 0);
  t.deepEqual(counted(sums.take(0, true)), [['a', 1, 1]]);
  sums.add('a', 600, 2, 2, 0);
  sums.add('a', 1_200, 3, 3, 1);
  const taken = sums.take(2);
  t.deepEqual(
    taken.map(({ start }) => start),
    [600, 1_200],
  );
});

test('one statement takes some hundred rows, or a part of very many', (t) => {
  const sums = new PendingSums(100_000);
  for (let i = 0; i < 1_000; i += 1) sums.add(`${i}`, 600, 1, 1, 0);
  t.is(sums.take(GATHER_MS).length, 300);
  t.is(sums.size, 700);
  for (let i = 0; i < 60_000; i += 1) sums.add(`new ${i}`, 600, 1, 1, 0);
  t.is(sums.take(GATHER_MS).length, Math.ceil(60_700 / 60));
});

test('what could not be written is added to what came since, and each sum is taken once', (t) => {
  const sums = new PendingSums(10);
  sums.add('a', 600, 1, 10, 0);
  sums.add('b', 600, 2, 20, 0);
  const failed = sums.take(GATHER_MS);
  sums.add('a', 600, 4, 40, GATHER_MS);
  sums.add('b', 1_200, 8, 80, GATHER_MS);
  sums.giveBack(failed, GATHER_MS);
  t.is(sums.size, 3);
  const again = sums.take(GATHER_MS);
  t.deepEqual(
    again
      .map(({ subject, start, counts }) => [subject, start, ...counts])
      .toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
    [
      ['a', 600, 5, 50],
      ['b', 1_200, 8, 80],
      ['b', 600, 2, 20],
    ],
  );
  // Given back twice, and one with itself: a statement names each sum once.
  sums.giveBack(again, 0);
  sums.giveBack([{ subject: 'b', start: 600, counts: [1, 1] }], 0);
  const last = sums.take(0).filter(({ subject, start }) => subject === 'b' && start === 600);
  t.deepEqual(counted(last), [['b', 3, 21]]);
});

test('too many lose the oldest, and count them', (t) => {
  const sums = new PendingSums(3);
  for (const subject of ['a', 'b', 'c']) sums.add(subject, 600, 1, 1, 0);
  sums.add('a', 1_200, 1, 1, 1);
  t.is(sums.lost, 1);
  t.is(sums.size, 3);
  t.deepEqual(counted(sums.take(GATHER_MS)), [
    ['b', 1, 1],
    ['c', 1, 1],
    ['a', 1, 1],
  ]);
  sums.giveBack(
    ['d', 'e', 'f', 'g', 'h'].map((subject) => ({ subject, start: 600, counts: [1, 1] })),
    0,
  );
  t.is(sums.size, 3);
  t.is(sums.lost, 3);
});
