// Connections to the gateway's own address, as far as the sockets have them.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { GONE_MS, openDoor } from '../../../dataplane/sockets/doors.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { Budgets } from '../../../dataplane/sockets/budgets.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';
import { createBatch, type DoorConnection } from '../../../dataplane/contract.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { GATEWAY, Rig } from '../../support/tcp/rig.ts';

const FD = 77;

function makeDoors(sockets: number) {
  const arrivals: DoorConnection[] = [];
  let opened = 0;
  let refused = 0;
  const doors = {
    sockets: { error: Int32Array.of(FD, 0, 0, 0, 0), openPair: () => ++opened },
    around: {
      arrived: (connection: DoorConnection) => void arrivals.push(connection),
      drop: () => (refused += 1),
    },
    budgets: new Budgets(sockets, 4),
  };
  return { doors, arrivals, refusals: () => refused };
}

test('the listener gets the other end, with the address and the port of the device', (t) => {
  const { doors, arrivals } = makeDoors(64);
  const ends = new Ends();
  ends.words.set([0x0a08_0001, 0, 0, 0, 0x0a08_0002, 0, 0, 0, (13_000 << 16) | 61_000]);
  t.is(openDoor(doors as never, 1, ends), 1);
  ends.isIpv6 = true;
  ends.words.set([0xfd00_0000 | 0, 0, 0, 1, 0xfd00_0000 | 0, 0, 0, 2, (443 << 16) | 1_024]);
  t.is(openDoor(doors as never, 1, ends), 2);
  t.deepEqual(arrivals, [
    { port: 13_000, descriptor: FD, address: '10.8.0.2', sourcePort: 61_000 },
    { port: 443, descriptor: FD, address: 'fd00::2', sourcePort: 1_024 },
  ]);
});

test('a device that has its part of the sockets gets no more', (t) => {
  const { doors, arrivals, refusals } = makeDoors(64);
  const results = Array.from({ length: 20 }, () => openDoor(doors as never, 1, new Ends()));
  t.is(results.filter((handle) => handle > 0).length, 16);
  t.is(arrivals.length, 16);
  t.is(refusals(), 4);
  t.true(openDoor(doors as never, 2, new Ends()) > 0, 'another device does');
});

test('where no pair can be opened, the device is refused and nothing is left', async (t) => {
  // The twin has no pairs.
  const rig = new Rig(() => null);
  t.teardown(() => rig.close());
  const stream = rig.device('10.8.0.2').connect(GATEWAY, 13_000);
  const [error] = (await once(stream, 'error')) as [NodeJS.ErrnoException];
  t.is(error.code, 'ECONNRESET', 'it was open, because half a handshake opens nothing');
  t.deepEqual(rig.drops, { egress_full: 1 });
  t.is(rig.egress.counts.sockets, 0);
  t.is(rig.egress.counts.connecting, 0);
});

test('while too many are on the way, a connection waits, and its bytes with it', async (t) => {
  const rig = new Rig(() => null);
  t.teardown(() => rig.close());
  rig.isCrowded = true;
  const stream = rig.device('10.8.0.2').connect(GATEWAY, 13_000);
  await once(stream, 'connect');
  stream.write('hello');
  await pause(100);
  t.false(stream.destroyed);
  t.deepEqual(rig.drops, {});
  t.is(rig.egress.counts.sockets, 0, 'it has no socket yet');
  rig.isCrowded = false;
  // The twin has no pairs: now it is asked for one.
  const [error] = (await once(stream, 'error')) as [NodeJS.ErrnoException];
  t.is(error.code, 'ECONNRESET');
  t.deepEqual(rig.drops, { egress_full: 1 });
});

/** The twin has no pairs, so a server of the test is the listener. */
async function withListener(t: ExecutionContext) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = (server.address() as AddressInfo).port;
  const rig = new Rig(() => ({ address: '127.0.0.1', port }));
  t.teardown(() => {
    rig.close();
    server.close();
  });
  const { sockets } = rig.egress;
  sockets.openPair = (room) => sockets.connectTcp(Uint8Array.of(10, 0, 0, 1), 80, room);
  const stream = rig.device('10.8.0.2').connect(GATEWAY, 13_000);
  const [[host]] = (await Promise.all([once(server, 'connection'), once(stream, 'connect')])) as [
    [Socket],
    unknown,
  ];
  host.on('error', () => undefined).resume();
  return { rig, stream, host };
}

for (const what of ['rule_drop', 'default_drop'] as const)
  test(`a device gets RST where ${what} ends its connection to the gateway`, async (t) => {
    const { rig, stream, host } = await withListener(t);
    rig.refusal = reasons[what];
    rig.forbidden.add(`0 ${GATEWAY}`);
    const ended = Promise.all([once(stream, 'error'), once(host, 'close')]);
    rig.egress.rulesChanged();
    rig.move();
    const [[error]] = (await ended) as [[NodeJS.ErrnoException], unknown];
    t.is(error.code, 'ECONNRESET');
    t.is(rig.egress.counts.sockets, 0);
  });

test('a device without its address gets nothing: somebody else may have it', async (t) => {
  const { rig, stream, host } = await withListener(t);
  let packets = 0;
  rig.losesToDevices = () => (packets++, false);
  rig.refusal = reasons.inner_source_not_allowed;
  rig.forbidden.add(`0 ${GATEWAY}`);
  const closed = once(host, 'close');
  rig.egress.deviceChanged(0);
  rig.move();
  await closed;
  t.is(packets, 0);
  t.false(stream.destroyed);
  t.is(rig.egress.counts.sockets, 0);
});

test('what another worker hands over reaches the listener as it is', async (t) => {
  const { rig, stream, host } = await withListener(t);
  rig.taken = createBatch(1 << 20, 256);
  const { datagrams, packets } = rig.batches;
  for (const { bytes } of [datagrams, packets]) bytes.fill(0x53);
  const sent = randomBytes(400_000);
  const parts: Buffer[] = [];
  host.on('data', (part: Buffer) => void parts.push(part));
  stream.end(sent);
  await once(host, 'end');
  t.deepEqual(Buffer.concat(parts), sent);
});

/** A device with a connection, and the listener's end of it. */
async function throughPair(t: ExecutionContext, native: Addon) {
  const rig = new Rig(native);
  t.teardown(() => rig.close());
  const stream = rig.device('10.8.0.2').connect(GATEWAY, 13_000);
  await once(stream, 'connect');
  const [{ descriptor: fd }] = (await until(() => rig.arrivals.length > 0 && rig.arrivals)) as [
    DoorConnection,
  ];
  const host = new Socket({ fd, allowHalfOpen: true });
  t.teardown(() => host.destroy());
  return { rig, stream, host };
}

/** Waits for turns of the loop: one wait may pass at once where the processor was taken away. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await pause(5);
}

/** Waits for something that is not false. */
async function until<Found>(find: () => Found | false): Promise<Found> {
  for (let i = 0; i < 1_000; i++) {
    const found = find();
    if (found !== false) return found;
    await pause(5);
  }
  throw new Error('it has not come');
}

for (const isHalfClosed of [false, true])
  nativeTest(
    `a device that never ends keeps nothing of a listener that has gone${isHalfClosed ? ', after its end' : ''}`,
    async (t, native) => {
      const { rig, stream, host } = await throughPair(t, native);
      const came: Buffer[] = [];
      stream.on('data', (bytes: Buffer) => came.push(bytes));
      const ended = once(stream, 'end');
      await new Promise<void>((done) => void host.write(Buffer.alloc(50_000, 7), () => done()));
      if (isHalfClosed) {
        host.end();
        await ended;
        t.is(rig.egress.counts.sockets, 1, 'it may still send');
      }
      host.destroy();
      await ended;
      await until(() => rig.egress.counts.sockets === 0);
      t.true(Buffer.concat(came).equals(Buffer.alloc(50_000, 7)));
      t.is(rig.egress.counts.connections, 1, 'it may still say its end');
      for (let i = 0; i < 5 && rig.egress.counts.connections > 0; i++) {
        // The device acknowledges first.
        await pause(100);
        rig.skippedMs += 61_000;
        rig.move();
      }
      t.is(rig.egress.counts.connections, 0);
    },
  );

nativeTest('a device that sends to a listener that has gone gets RST', async (t, native) => {
  const { rig, stream, host } = await throughPair(t, native);
  stream.resume();
  const ended = once(stream, 'end');
  host.destroy();
  await ended;
  const failed = once(stream, 'error') as Promise<[NodeJS.ErrnoException]>;
  stream.write('more');
  t.is((await failed)[0].code, 'ECONNRESET');
  t.is(rig.egress.counts.connections, 0);
});

nativeTest('what a listener has left is kept for a while', async (t, native) => {
  const { rig, stream, host } = await throughPair(t, native);
  stream.on('error', () => undefined);
  // The device reads nothing, so its window closes.
  for (let isTaken = true; isTaken;) {
    const taken = new Promise<true>(
      (done) => void host.write(Buffer.alloc(65_536), () => done(true)),
    );
    isTaken = await Promise.race([taken, turns(100).then(() => false)]);
  }
  host.destroy();
  await turns(20);
  rig.skippedMs += GONE_MS - 10_000;
  rig.move();
  t.is(rig.egress.counts.sockets, 1);
  rig.skippedMs += 10_000;
  rig.move();
  t.is(rig.egress.counts.sockets, 0);
});
