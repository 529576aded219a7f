// Numbers of groups: one for each group that somebody holds, and none twice too soon.

import test from 'ava';
import { GLOBAL_SCOPE, GROUP_NUMBERS } from '../../../dataplane/index.ts';
import {
  GroupNumbers,
  holdAll,
  holdScope,
  releaseAll,
} from '../../../lib/reconcile/group-numbers.ts';

test('a group keeps its number as long as somebody holds it', (t) => {
  const numbers = new GroupNumbers();
  t.deepEqual(
    ['a', 'b', 'a'].map((id) => numbers.hold(id)),
    [0, 1, 0],
  );
  numbers.release(0);
  t.is(numbers.hold('a'), 0);
  t.is(holdAll(numbers, ['b', 'c', 'a']), '\u0000\u0001\u0002');
  releaseAll(numbers, '\u0000\u0001\u0002');
  t.is(holdScope(numbers, { user_id: null, group_id: 'c' }), '#3', 'nobody held the third');
});

test('rules of a user, of a group and of everyone have scopes of their own', (t) => {
  const numbers = new GroupNumbers();
  t.is(holdScope(numbers, { user_id: 'ann', group_id: null }), 'ann');
  t.is(holdScope(numbers, { user_id: null, group_id: null }), GLOBAL_SCOPE);
  t.is(numbers.hold('a'), 0, 'neither holds a number');
  t.is(holdScope(numbers, { user_id: null, group_id: 'a' }), '#0');
});

test('a number is used again once all have been used, the oldest first', (t) => {
  const numbers = new GroupNumbers();
  for (const id of ['a', 'b']) numbers.release(numbers.hold(id));
  for (let number = 2; number < GROUP_NUMBERS; number++)
    if (numbers.hold(`group ${number}`) !== number) t.fail(`${number}`);
  t.deepEqual([numbers.hold('c'), numbers.hold('d')], [0, 1]);
  t.throws(() => numbers.hold('e'), { instanceOf: RangeError });
});

test('a copy changes without the original', (t) => {
  const numbers = new GroupNumbers();
  numbers.hold('a');
  const copy = numbers.copy();
  t.deepEqual([copy.hold('a'), copy.hold('b')], [0, 1]);
  copy.release(0);
  copy.release(0);
  t.is(numbers.hold('a'), 0);
  t.is(numbers.hold('c'), 1);
});
