// Engines in memory share their batches: no message of one gateway reaches another one.

import test from 'ava';
import { batchesOf } from '../../../dataplane/memory/batches.ts';
import { MemoryScene } from './scene.ts';

test('workers of one number share batches, others do not', (t) => {
  t.is(batchesOf(0), batchesOf(0));
  t.not(batchesOf(0), batchesOf(1));
});

test('what a turn leaves that an exception ended is nothing to the next gateway', async (t) => {
  const [one, other] = [new MemoryScene(t), new MemoryScene(t)];
  const [a, b] = [(await one.addDevice(2)).device, (await other.addDevice(2)).device];
  const { datagrams, packets } = batchesOf(0);
  for (const scene of [one, other]) scene.addHost('192.0.2.80');
  // As many as fit, of what the device had sent before.
  await a.ping('192.0.2.80');
  for (const batch of [datagrams, packets]) batch.count = 16;
  await b.ping('192.0.2.80');
  for (const batch of [datagrams, packets]) batch.count = 16;
  await a.ping('192.0.2.80');
  t.deepEqual(
    [one, other].map(({ gateway }) => gateway.drops()),
    [{}, {}],
  );
});
