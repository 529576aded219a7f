// Deadlines of connections: none is early, the last one that was set counts.

import test from 'ava';
import { Deadlines } from '../../../dataplane/sockets/deadlines.ts';

test('a deadline is taken once its time has come, and once', (t) => {
  const deadlines = new Deadlines(4);
  deadlines.set(1, 300_000);
  deadlines.set(2, 20);
  t.true(deadlines.next <= 20);
  t.is(deadlines.take(19), 0);
  t.is(deadlines.take(20), 2);
  for (let now = 100; now < 300_000; now += 100) t.is(deadlines.take(now), 0, `at ${now}`);
  t.is(deadlines.take(300_000), 1);
  t.is(deadlines.take(600_000), 0);
  t.is(deadlines.next, Number.POSITIVE_INFINITY);
});

test('a later deadline replaces an earlier one, and one that is removed never comes', (t) => {
  const deadlines = new Deadlines(4);
  deadlines.set(1, 20);
  deadlines.set(1, 1_000);
  deadlines.set(2, 30);
  deadlines.remove(2);
  t.is(deadlines.take(500), 0);
  t.is(deadlines.take(1_000), 1);
});
