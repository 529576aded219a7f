// Devices take turns: one with many entries does not delay the others.

import test from 'ava';
import { Waiting } from '../../../dataplane/sockets/waiting.ts';

function taken(waiting: Waiting): number[] {
  const all: number[] = [];
  for (let slot = waiting.take(); slot !== 0; slot = waiting.take()) all.push(slot);
  return all;
}

test('devices take turns, and each has its entries in their order', (t) => {
  const waiting = new Waiting(16, 4);
  for (const slot of [1, 2, 3]) waiting.add(0, slot);
  waiting.add(2, 4);
  t.is(waiting.count, 4);
  t.deepEqual(taken(waiting), [1, 4, 2, 3]);
  t.is(waiting.count, 0);
});

test('an entry that is removed is not taken, wherever it is', (t) => {
  for (const gone of [1, 2, 3]) {
    const waiting = new Waiting(16, 4);
    for (const slot of [1, 2, 3]) waiting.add(1, slot);
    waiting.remove(1, gone);
    waiting.remove(1, 9);
    waiting.add(1, 4);
    t.is(waiting.count, 3);
    t.deepEqual(
      taken(waiting),
      [1, 2, 3, 4].filter((slot) => slot !== gone),
    );
  }
  const waiting = new Waiting(16, 4);
  waiting.add(1, 5);
  waiting.remove(1, 5);
  t.deepEqual(taken(waiting), []);
  waiting.add(1, 6);
  t.deepEqual(taken(waiting), [6]);
});
