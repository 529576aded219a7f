// The TypeScript engine with its real links: what it waits for, and what it moves.

import { readSync, writeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import {
  ERROR_TUN_WRITE,
  MARK_OPEN,
  MARK_OPENED,
  MARK_SEAL,
  MARK_TUN,
} from '../../../dataplane/contract.ts';
import { TwinEngine } from '../../../dataplane/io/twin.ts';
import { EVENT_TUN, EVENT_UDP } from '../../../dataplane/native/index.ts';
import { portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import {
  createEndpointTable,
  readEndpoint,
  writeEndpoint,
} from '../../../dataplane/wire/address.ts';
import { contentOf, setMarks, place, TARGET, markOf } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { address, counting, udp } from '../../support/dataplane/packets.ts';

const KEY = counting(32, 1);

async function open(t: ExecutionContext, tun = -1): Promise<TwinEngine> {
  const engine = await TwinEngine.open(portablePrimitives, createEndpointTable(128), {
    port: 0,
    tun,
    mtu: 1_420,
  });
  t.teardown(() => engine.close());
  return engine;
}

/** Two engines; what the first sends to TARGET the second receives. */
async function openPair(t: ExecutionContext): Promise<[TwinEngine, TwinEngine]> {
  const pair: [TwinEngine, TwinEngine] = [await open(t), await open(t)];
  writeEndpoint(pair[0].endpoints, TARGET, address('127.0.0.1'), pair[1].port);
  return pair;
}

async function elapsed(work: Promise<void>): Promise<number> {
  const began = performance.now();
  await work;
  return performance.now() - began;
}

test('what one twin seals another opens, over real sockets', async (t) => {
  const [a, b] = await openPair(t);
  const packet = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: counting(100) });
  place(a.packets, 0, packet, { mark: MARK_SEAL, key: a.installKey(KEY, KEY, 1)! });
  a.seal(a.packets);
  a.flush();
  await b.rest(2_000);
  t.is(b.poll(), EVENT_UDP);
  b.receive();
  t.is(b.datagrams.count, 1);
  t.is(b.poll(), 0);
  t.deepEqual(readEndpoint(b.endpoints, 0), { address: '127.0.0.1', port: a.port });
  const at = { offset: b.datagrams.descriptors[0]!, length: b.datagrams.descriptors[1]! };
  setMarks(b.datagrams, 0, { mark: MARK_OPEN, key: b.installKey(KEY, KEY, 1)!, ...at });
  b.open(b.datagrams);
  t.is(markOf(b.datagrams, 0), MARK_OPENED);
  t.deepEqual(contentOf(b.datagrams, 0).slice(0, packet.length), packet);
});

test('a rest ends after its time', async (t) => {
  const engine = await open(t);
  // Timers count from the beginning of a turn of the loop, and this one may be old.
  await nextTurn();
  const took = await elapsed(engine.rest(30));
  t.true(took >= 28 && took < 1_000, `${took}`);
});

test('a rest ends with a datagram', async (t) => {
  const [a, b] = await openPair(t);
  setTimeout(() => a.send(counting(50), TARGET), 10);
  t.true((await elapsed(b.rest(10_000))) < 5_000);
  t.is(b.poll(), EVENT_UDP);
});

test('a rest ends with a wake', async (t) => {
  const engine = await open(t);
  setTimeout(() => engine.wake(), 10);
  t.true((await elapsed(engine.rest(10_000))) < 5_000);
});

test('a wake of one who does not rest does nothing', async (t) => {
  const engine = await open(t);
  t.notThrows(() => engine.wake());
});

test('a rest does not begin while something waits', async (t) => {
  const [a, b] = await openPair(t);
  a.send(counting(50), TARGET);
  await b.rest(2_000);
  t.true((await elapsed(b.rest(10_000))) < 100);
});

test('a batch takes 64 datagrams, the rest comes with the next', async (t) => {
  const [a, b] = await openPair(t);
  for (let i = 0; i < 100; i++) a.send(counting(50), TARGET);
  let [batches, received] = [0, 0];
  for (; received < 100 && batches < 50; batches++) {
    await b.rest(200);
    await new Promise((resolve) => setTimeout(resolve, 20));
    b.datagrams.count = 0;
    b.receive();
    t.true(b.datagrams.count <= 64);
    received += b.datagrams.count;
  }
  t.is(received, 100);
});

test('a port that is taken is refused', async (t) => {
  const { port } = await open(t);
  await t.throwsAsync(
    TwinEngine.open(portablePrimitives, createEndpointTable(128), { port, tun: -1, mtu: 1_420 }),
    { code: 'EADDRINUSE' },
  );
});

nativeTest('packets go through the TUN as they are, both ways', async (t, native) => {
  const [near, far] = native.openPair();
  const engine = await open(t, near);
  const packet = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'hello' });
  t.is(engine.poll() & EVENT_TUN, EVENT_TUN);
  writeSync(far, packet);
  writeSync(far, packet);
  engine.readTun();
  t.is(engine.packets.count, 2);
  t.deepEqual(contentOf(engine.packets, 1), packet);
  place(engine.datagrams, 0, packet, { mark: MARK_TUN });
  engine.writeTun(engine.datagrams);
  const buffer = new Uint8Array(100);
  t.deepEqual(buffer.slice(0, readSync(far, buffer)), packet);
  native.closeFd(near);
  native.closeFd(far);
});

nativeTest(
  'a TUN is looked at soon after it had something, and less often while it is quiet',
  async (t, native) => {
    const [near, far] = native.openPair();
    const engine = await open(t, near);
    for (let i = 0; i < 10; i++) engine.readTun();
    t.true((await elapsed(engine.rest(10_000))) < 1_000);
    t.is(engine.packets.count, 0);
    native.closeFd(near);
    native.closeFd(far);
  },
);

test('without a TUN there is nothing to write to, and that is no error', async (t) => {
  const engine = await open(t);
  place(engine.datagrams, 0, counting(28), { mark: MARK_TUN });
  engine.writeTun(engine.datagrams);
  t.is(engine.errors[ERROR_TUN_WRITE], 0);
});
