// Devices that may get nothing for now.

import test from 'ava';
import { HeldUp } from '../../../dataplane/sockets/held-up.ts';

test('a device without an allowance is asked about again, and goes on when it has one', (t) => {
  const allowed = new Map([
    [0, 0],
    [1, 0],
    [2, 500],
  ]);
  const heldUp = new HeldUp({ allowance: (device) => allowed.get(device)! }, 4);
  t.is(heldUp.allowance(2, 100), 500);
  t.is(heldUp.deadline, Number.POSITIVE_INFINITY);
  t.is(heldUp.allowance(0, 100), 0);
  t.is(heldUp.allowance(1, 102), 0);
  const resumed: number[] = [];
  const waiting = { resume: (device: number) => void resumed.push(device) };
  heldUp.resume(heldUp.deadline - 1, waiting);
  t.deepEqual(resumed, []);
  allowed.set(1, 10);
  const at = heldUp.deadline;
  heldUp.resume(at, waiting);
  t.deepEqual(resumed, [1]);
  t.true(heldUp.deadline > at && heldUp.deadline < Number.POSITIVE_INFINITY);
  allowed.set(0, 10);
  heldUp.resume(heldUp.deadline, waiting);
  t.deepEqual(resumed, [1, 0]);
  t.is(heldUp.deadline, Number.POSITIVE_INFINITY);
});
