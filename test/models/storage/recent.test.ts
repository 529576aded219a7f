// What was asked for lately is there, what was not is not.

import test from 'ava';
import { Recent } from '../../../models/storage/recent.ts';

/** Values of which at most three are in a generation, and the clock in seconds that ages them. */
function scene(): { clock: { s: number }; recent: Recent<number> } {
  const clock = { s: 0 };
  return { clock, recent: new Recent<number>(3, () => clock.s * 1_000) };
}

test('what was asked for within two minutes is there, and keeps its place by that', (t) => {
  const { clock, recent } = scene();
  recent.set('a', 1);
  for (let i = 0; i < 10; i++) {
    clock.s += 119;
    t.is(recent.get('a'), 1, `${clock.s} s`);
  }
});

test('what nobody asked for in four minutes is forgotten', (t) => {
  const { clock, recent } = scene();
  recent.set('a', 1);
  for (clock.s = 10; clock.s < 240; clock.s += 10) recent.set('b', 2);
  clock.s = 240;
  t.is(recent.get('a'), undefined);
  t.is(recent.get('b'), 2);
});

test('after a pause nothing is left, whatever generation it was of', (t) => {
  const { clock, recent } = scene();
  recent.set('a', 1);
  clock.s = 240;
  t.is(recent.get('a'), undefined);
});

test('of more than fit two generations the latest are there', (t) => {
  for (const [key, value] of Object.entries({ a: undefined, c: undefined, d: 3, f: 5, h: 7 })) {
    const { recent } = scene();
    for (let i = 0; i < 8; i++) recent.set('abcdefgh'.charAt(i), i);
    t.is(recent.get(key), value, key);
  }
});

test('as many as fit a generation stay, however often all are asked for', (t) => {
  const { recent } = scene();
  for (const key of 'abc') recent.set(key, 1);
  for (let round = 0; round < 5; round++) for (const key of 'abc') t.is(recent.get(key), 1);
});

test('a value that is said anew is the one that is there', (t) => {
  const { recent } = scene();
  recent.set('a', 1);
  for (const key of 'bcd') recent.set(key, 1);
  recent.set('a', 2);
  t.is(recent.get('a'), 2);
});
