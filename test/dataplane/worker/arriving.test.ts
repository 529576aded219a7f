// Connections of devices on the way to listeners of this process.

import test from 'ava';
import { Arriving, ARRIVING_MAX, ARRIVING_OF_DEVICE } from '../../../dataplane/worker/arriving.ts';

const CONNECTION = { port: 80, descriptor: 9, address: '10.8.0.2', sourcePort: 4_000 };

/** Sends as many of a device as it may have; returns how many. */
function fill(arriving: Arriving, device: number): number {
  let sent = 0;
  for (; arriving.mayTake(device); sent += 1) arriving.arrived(CONNECTION, device);
  return sent;
}

test('a device may have some on the way, and more as they are taken', (t) => {
  let sent = 0;
  const arriving = new Arriving(() => (sent += 1));
  t.is(fill(arriving, 1), ARRIVING_OF_DEVICE);
  arriving.taken(10);
  t.is(fill(arriving, 1), 10);
  arriving.taken(ARRIVING_OF_DEVICE);
  t.is(fill(arriving, 1), ARRIVING_OF_DEVICE);
  t.is(sent, 2 * ARRIVING_OF_DEVICE + 10);
});

test('those that were sent first are taken first', (t) => {
  const arriving = new Arriving(() => undefined);
  fill(arriving, 1);
  fill(arriving, 2);
  arriving.taken(ARRIVING_OF_DEVICE);
  t.true(arriving.mayTake(1));
  t.false(arriving.mayTake(2));
});

test('many devices leave some to others, and all together have no more than there may be', (t) => {
  let sent = 0;
  const arriving = new Arriving(() => (sent += 1));
  for (let device = 0; device < 7; device += 1) {
    fill(arriving, device);
    t.true(arriving.mayTake(100 + device), `after ${device}`);
  }
  for (let device = 0; device < 1_000; device += 1) fill(arriving, device);
  t.is(sent, ARRIVING_MAX);
  // A report of a worker that is gone says more than this one has sent.
  arriving.taken(10 * ARRIVING_MAX);
  t.is(fill(arriving, 5), ARRIVING_OF_DEVICE);
});
