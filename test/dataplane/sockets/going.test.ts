// Datagrams that wait to leave, by their flows.

import test from 'ava';
import { DATAGRAM_SLOTS, DATAGRAMS_PER_SLOT } from '../../../dataplane/constants.ts';
import { Going } from '../../../dataplane/sockets/going.ts';

/** What leaves: of each flow in turn, the packets of its datagrams. */
function takeAll(going: Going): [slot: number, packets: number[]][] {
  const taken: [number, number[]][] = [];
  for (let slot = going.takeFlow(); slot !== 0; slot = going.takeFlow()) {
    const packets: number[] = [];
    for (let entry = going.take(slot); entry !== 0; entry = going.take(slot))
      packets.push(going.packets[entry]!);
    taken.push([slot, packets]);
  }
  return taken;
}

test('datagrams of a flow leave together, in their order', (t) => {
  const going = new Going(4);
  for (const [i, slot] of [2, 1, 2, 4, 1, 2].entries()) going.add(slot, 10 * i, i, 100 + i);
  t.deepEqual(takeAll(going), [
    [2, [100, 102, 105]],
    [1, [101, 104]],
    [4, [103]],
  ]);
  t.deepEqual(takeAll(going), []);
  going.add(1, 7, 8, 9);
  const slot = going.takeFlow();
  const entry = going.take(slot);
  t.deepEqual([going.offsets[entry], going.lengths[entry], going.packets[entry]], [7, 8, 9]);
});

test('the datagrams of a flow that is closed do not leave, those of the next flow do', (t) => {
  const going = new Going(2);
  going.add(1, 0, 0, 1);
  going.add(2, 0, 0, 2);
  going.drop(1);
  t.deepEqual(takeAll(going), [
    [1, []],
    [2, [2]],
  ]);
  going.add(1, 0, 0, 3);
  going.drop(1);
  going.add(1, 0, 0, 4);
  t.deepEqual(takeAll(going), [[1, [4]]]);
});

test('there is room for a batch', (t) => {
  const going = new Going(1);
  for (let i = 0; i < DATAGRAM_SLOTS * DATAGRAMS_PER_SLOT; i++) {
    t.false(going.isFull);
    going.add(1, i, i, i);
  }
  t.true(going.isFull);
  takeAll(going);
  t.false(going.isFull);
});
