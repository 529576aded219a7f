// A slot is in the ring once, and comes out in the order in which it came.

import test from 'ava';
import { SlotRing } from '../../../dataplane/sockets/ring.ts';

test('a slot is listed once, and can be listed again when it was taken', (t) => {
  const ring = new SlotRing(3);
  for (const slot of [2, 1, 2, 3]) ring.add(slot);
  t.is(ring.count, 3);
  t.is(ring.take(), 2);
  ring.add(2);
  t.deepEqual([ring.take(), ring.take(), ring.take(), ring.take()], [1, 3, 2, 0]);
});
