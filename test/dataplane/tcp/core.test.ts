// What is to be sent: devices take turns, and so do the connections of each; what ends is gone.

import test from 'ava';
import { DEVICE, ESTABLISHED, STATE, TIMES, WORDS } from '../../../dataplane/tcp/columns.ts';
import { Core } from '../../../dataplane/tcp/core.ts';
import { Ends, NONE } from '../../../dataplane/tcp/table.ts';
import { seededRandom } from '../../support/dataplane/simulation.ts';
import { Idle } from '../../support/tcp/ends.ts';
import { Dice } from '../../support/tcp/world.ts';

function coreOf(owner = new Idle(), connections = 30): Core {
  return new Core({
    owner,
    random: seededRandom(1),
    devices: 4,
    connections,
    poolBytes: 1_048_576,
    records: 10,
    ranges: 10,
  });
}

function add(core: Core, device: number, port: number): number {
  const ends = new Ends();
  ends.words[8] = port;
  return core.table.add(device, ends, ESTABLISHED);
}

test('devices take turns, and connections of a device too', (t) => {
  const core = coreOf();
  const slots = [0, 0, 1, 0, 2].map((device, i) => add(core, device, i));
  for (const slot of slots) core.makeReady(slot);
  core.makeReady(slots[0]!);
  t.is(core.ready, 5);
  const order: number[] = [];
  for (let device = core.takeDevice(); device !== -1; device = core.takeDevice()) {
    const slot = core.takeReady(device);
    if (slot !== NONE) order.push(slot);
    core.list(device);
  }
  t.deepEqual(order, [slots[0], slots[2], slots[4], slots[1], slots[3]]);
  t.is(core.ready, 0);
});

test('what is removed is in no list, whatever its place', (t) => {
  const core = coreOf();
  const dice = new Dice(9);
  const ready = new Set<number>();
  const live: number[] = [];
  for (let i = 0; i < 5_000; i++) {
    const action = dice.below(4);
    if (action === 0 && live.length < 30) live.push(add(core, dice.below(4), i));
    else if (live.length === 0) continue;
    else if (action === 1) {
      const slot = dice.pick(live);
      core.makeReady(slot);
      ready.add(slot);
    } else if (action === 2) {
      const [slot] = live.splice(dice.below(live.length), 1) as [number];
      core.remove(slot);
      ready.delete(slot);
    } else {
      const device = core.takeDevice();
      const slot = device === -1 ? NONE : core.takeReady(device);
      if (slot !== NONE) {
        t.true(ready.delete(slot));
        t.is(core.words[slot * WORDS + DEVICE], device);
      }
      if (device !== -1) core.list(device);
    }
    t.is(core.ready, ready.size);
  }
  for (const slot of live) core.remove(slot);
  t.is(core.ready, 0);
  t.is(core.table.live, 0);
});

test('to remove what waits to send takes no longer where much of it waits', (t) => {
  const core = coreOf(new Idle(), 65_535);
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const slots = Array.from({ length: 16_000 }, (_, port) => add(core, 0, port));
    for (const slot of slots) core.makeReady(slot);
    const start = performance.now();
    for (const slot of slots.toReversed()) core.remove(slot);
    times.push(performance.now() - start);
    t.is(core.ready, 0);
  }
  // It takes some 20 ms, and took 600 when each removal went through the list.
  t.true(Math.min(...times) < 300, times.join(', '));
});

test('the earliest of four deadlines wakes the machine', (t) => {
  const core = coreOf();
  const slot = add(core, 0, 1);
  for (const [i, at] of [900, 70, 800, 60].entries()) core.times[slot * TIMES + i] = at;
  core.schedule(slot);
  t.is(core.wheel.deadline, 60);
});

test('an end is reported once, and the handle finds nothing then', (t) => {
  const reports: number[] = [];
  class Listener extends Idle {
    override ended(_connection: number, how: number): void {
      reports.push(how);
    }
  }
  const core = coreOf(new Listener());
  const slot = add(core, 0, 1);
  const handle = core.table.handleOf(slot);
  core.report(slot, 2);
  core.report(slot, 1);
  core.end(slot, 3);
  t.deepEqual(reports, [2]);
  t.is(core.table.slotOf(handle), NONE);
  t.is(core.words[slot * WORDS + STATE], 0);
});
