// What a run took beside its budget: growth is named, a slow day is not.

import test from 'ava';
import { whatGrew } from './budget.ts';

const BUDGET = new Map([
  ['unit lib/web', 60],
  ['unit lib/auth', 40],
  ['unit dataplane/path', 50],
  ['unit models', 2],
  ['e2e e2e', 100],
]);

/** The budget, so many times as long. */
const times = (factor: number): Map<string, number> =>
  new Map([...BUDGET].map(([room, seconds]) => [room, seconds * factor]));

test('a run at its budget, and one on a machine of half or twice the speed, has nothing to say', (t) => {
  for (const factor of [0.5, 1, 2]) t.deepEqual(whatGrew(times(factor), BUDGET), []);
});

test('a room that grew by more than a tenth is named with what it may take', (t) => {
  const measured = times(1.5).set('unit lib/web', 60 * 1.5 * 1.2);
  t.deepEqual(whatGrew(measured, BUDGET), [
    "unit lib/web: 108 s of CPU, grown from 90 (budget 60, at this run's speed)",
  ]);
});

test('growth by less than a tenth, and by few seconds, is not named', (t) => {
  t.deepEqual(whatGrew(times(1).set('e2e e2e', 109), BUDGET), []);
  t.deepEqual(whatGrew(times(1).set('unit models', 6), BUDGET), []);
});

test('a room without a budget is named once it takes time', (t) => {
  t.deepEqual(whatGrew(times(1).set('unit lib/hooks', 7).set('unit lib/kit/mail', 1), BUDGET), [
    'unit lib/hooks: 7 s of CPU, and test/budget.json has no line for it',
  ]);
});
