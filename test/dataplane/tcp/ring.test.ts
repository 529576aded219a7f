// A slot is in the ring once, and comes out in the order in which it came.

import test from 'ava';
import { SlotRing } from '../../../dataplane/tcp/ring.ts';

test('a slot is listed once, and can be listed again when it was taken', (t) => {
  const ring = new SlotRing(3);
  for (const slot of [2, 1, 2, 3]) ring.add(slot);
  t.is(ring.count, 3);
  t.is(ring.take(), 2);
  ring.add(2);
  t.deepEqual([ring.take(), ring.take(), ring.take(), ring.take()], [1, 3, 2, 0]);
});

test('a ring goes round as often as there is something to list', (t) => {
  const ring = new SlotRing(3);
  const taken: number[] = [];
  for (let i = 0; i < 20; i++) {
    ring.add(1 + (i % 3));
    if (i % 2 === 1) ring.add(1 + ((i + 1) % 3));
    taken.push(ring.take());
  }
  t.deepEqual(taken.slice(0, 6), [1, 2, 3, 1, 2, 3]);
  while (ring.count > 0) t.not(ring.take(), 0);
  t.is(ring.take(), 0);
});
