// Devices that may get nothing for now, and how much is made in a batch.

import test from 'ava';
import { HeldUp } from '../../../dataplane/sockets/held-up.ts';
import { AWAITS_SESSION } from '../../../dataplane/sockets/shared.ts';

const NEVER = Number.POSITIVE_INFINITY;
const sendRoom = (): number => NEVER;

test('a device without an allowance is asked about again, and goes on when it has one', (t) => {
  const allowed = new Map([
    [0, 0],
    [1, 0],
    [2, 500],
  ]);
  const heldUp = new HeldUp({ allowance: (device) => allowed.get(device)!, sendRoom }, 4);
  t.is(heldUp.allowance(2, 100), 500);
  t.is(heldUp.deadline, NEVER);
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
  t.true(heldUp.deadline > at && heldUp.deadline < NEVER);
  allowed.set(0, 10);
  heldUp.resume(heldUp.deadline, waiting);
  t.deepEqual(resumed, [1, 0]);
  t.is(heldUp.deadline, NEVER);
});

test('what was made in a batch is taken from what a device may get in it', (t) => {
  const heldUp = new HeldUp({ allowance: () => 5_000, sendRoom }, 4);
  heldUp.made(1, 3_000, 1);
  t.is(heldUp.allowance(1, 0), 2_000);
  t.is(heldUp.allowance(2, 0), 5_000, 'of another device');
  heldUp.made(1, 1_900, 2);
  t.true(heldUp.allowance(1, 0) < 100, 'each segment of a run has headers');
  heldUp.made(1, 100, 1);
  t.is(heldUp.allowance(1, 0), 0);
  t.true(heldUp.deadline < NEVER);
  heldUp.begin();
  t.is(heldUp.allowance(1, 0), 5_000);
});

test('all devices together get what the send buffer takes', (t) => {
  let [room, asked] = [20_000, 0];
  const around = { allowance: () => 1 << 20, sendRoom: () => (asked++, room) };
  const heldUp = new HeldUp(around, 4);
  t.is(heldUp.allowance(0, 7), 20_000);
  heldUp.made(0, 10_000, 7);
  const left = heldUp.allowance(1, 7);
  t.true(left > 0 && left < 10_000, 'the kernel counts more than the bytes');
  heldUp.made(1, left, 1);
  t.is(heldUp.allowance(2, 7), 0);
  t.is(asked, 1, 'it is asked once for a batch');
  t.is(heldUp.deadline, 7, 'the next batch follows at once');
  room = 0;
  heldUp.begin();
  heldUp.resume(7, { resume: () => t.fail() });
  t.true(heldUp.deadline > 7, 'a buffer that stays full gets time');
});

test('a device that awaits a session is not asked about again and again', (t) => {
  const heldUp = new HeldUp({ allowance: () => AWAITS_SESSION, sendRoom }, 4);
  t.is(heldUp.allowance(3, 0), AWAITS_SESSION);
  t.is(heldUp.deadline, NEVER);
});

test('a device that awaits a session after it was held up is made to know it, once', (t) => {
  let allowed = 0;
  const heldUp = new HeldUp({ allowance: () => allowed, sendRoom }, 4);
  t.is(heldUp.allowance(3, 0), 0);
  allowed = AWAITS_SESSION;
  const resumed: number[] = [];
  heldUp.resume(heldUp.deadline, { resume: (device) => void resumed.push(device) });
  t.deepEqual(resumed, [3]);
  t.is(heldUp.deadline, NEVER);
});
