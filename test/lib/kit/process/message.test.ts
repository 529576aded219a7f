// What is said of anything that was thrown.

import test from 'ava';
import { messageOf } from '../../../../lib/kit/process/message.ts';

for (const [thrown, said] of [
  [new TypeError('no address'), 'no address'],
  ['full', 'full'],
  [undefined, 'undefined'],
] as const)
  test(`${String(thrown)} says "${said}"`, (t) => {
    t.is(messageOf(thrown), said);
  });
