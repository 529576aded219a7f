// The sockets of the TypeScript twin, on loopback.

import { createSocket, Socket } from 'node:dgram';
import { once } from 'node:events';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { type ReceivedDatagram, UdpSockets } from '../../../dataplane/io/udp.ts';
import { formatAddress } from '../../../dataplane/wire/address.ts';
import { counting } from '../../support/dataplane/packets.ts';

interface Bench {
  sockets: UdpSockets;
  errors: string[];
  arrivals: () => number;
}

/** Sockets on a free port that are closed after the test. */
async function open(t: ExecutionContext, port = 0): Promise<Bench> {
  const errors: string[] = [];
  let arrivals = 0;
  const sockets = await UdpSockets.open(
    port,
    () => {
      arrivals++;
    },
    (kind) => errors.push(kind),
  );
  t.teardown(() => sockets.close());
  return { sockets, errors, arrivals: () => arrivals };
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds() && tries < 400; tries++)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

async function arrived(sockets: UdpSockets, count: number): Promise<ReceivedDatagram[]> {
  const datagrams: ReceivedDatagram[] = [];
  await until(() => {
    while (sockets.hasArrivals) datagrams.push(sockets.take()!);
    return datagrams.length >= count;
  });
  return datagrams;
}

for (const loopback of ['127.0.0.1', '::1']) {
  // docs/bugs-of-others.md#bug-13: addresses of both families.
  test(`a datagram over ${loopback} arrives with its sender`, async (t) => {
    const [a, b] = [await open(t), await open(t)];
    a.sockets.send(counting(100), { address: loopback, port: b.sockets.port });
    const [datagram] = await arrived(b.sockets, 1);
    t.deepEqual(new Uint8Array(datagram!.bytes), counting(100));
    t.is(formatAddress(datagram!.address), loopback);
    t.is(datagram!.port, a.sockets.port);
    t.is(b.arrivals(), 1);
  });
}

test('datagrams wait in the order in which they came', async (t) => {
  const [a, b] = [await open(t), await open(t)];
  for (let i = 0; i < 20; i++)
    a.sockets.send(counting(1 + i), { address: '127.0.0.1', port: b.sockets.port });
  const lengths = (await arrived(b.sockets, 20)).map(({ bytes }) => bytes.length);
  t.deepEqual(
    lengths,
    Array.from({ length: 20 }, (_, i) => 1 + i),
  );
});

test('nothing has arrived', async (t) => {
  const { sockets } = await open(t);
  t.false(sockets.hasArrivals);
  t.is(sockets.take(), undefined);
});

test('a queue that is full loses what comes, and counts it', async (t) => {
  const [a, b] = [await open(t), await open(t)];
  for (let i = 0; i < 1_100; i++) {
    a.sockets.send(counting(10), { address: '127.0.0.1', port: b.sockets.port });
    if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => b.arrivals() + b.errors.length >= 1_100);
  t.is(b.arrivals(), 1_024);
  t.deepEqual(new Set(b.errors), new Set(['receive']));
});

test('both families are bound to one port', async (t) => {
  const { sockets } = await open(t);
  for (const type of ['udp4', 'udp6'] as const) {
    const socket = createSocket({ type, ipv6Only: type === 'udp6' });
    t.teardown(() => socket.close());
    socket.bind(sockets.port);
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    t.is(error.code, 'EADDRINUSE');
  }
});

for (const type of ['udp4', 'udp6'] as const) {
  test(`a port that is taken by a socket of ${type} is refused`, async (t) => {
    const other = createSocket({ type, ipv6Only: type === 'udp6' });
    t.teardown(() => other.close());
    other.bind(0);
    await once(other, 'listening');
    await t.throwsAsync(open(t, other.address().port), { code: 'EADDRINUSE' });
  });
}

const openSockets = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'UDPWrap').length;

/** A host whose IPv6 sockets fail so often; tells how often IPv4 was bound. */
function withoutIpv6(t: ExecutionContext, code: string, times: number): { bound: () => number } {
  const { bind } = Object.getOwnPropertyDescriptors(Socket.prototype);
  t.teardown(() => Object.defineProperty(Socket.prototype, 'bind', bind));
  let [left, bound] = [times, 0];
  Object.assign(Socket.prototype, {
    bind(this: Socket & { type?: string }, port: number): Socket {
      if (this.type === 'udp6' && left-- > 0)
        process.nextTick(() => this.emit('error', Object.assign(new Error(code), { code })));
      else Reflect.apply(bind.value!, this, [port]);
      if (this.type === 'udp4') bound++;
      return this;
    },
  });
  return { bound: () => bound };
}

// Serial tests come before the others, which need their IPv6.

// docs/bugs-of-others.md#bug-13: hosts without IPv6.
test.serial(
  'a host without IPv6 gets one socket, and counts what would need the other',
  async (t) => {
    const { bound } = withoutIpv6(t, 'EAFNOSUPPORT', Infinity);
    const [{ sockets, errors }, b] = [await open(t), await open(t)];
    t.is(bound(), 2);
    sockets.send(counting(10), { address: '::1', port: 9 });
    t.deepEqual(errors, ['send']);
    sockets.send(counting(10), { address: '127.0.0.1', port: b.sockets.port });
    t.is((await arrived(b.sockets, 1)).length, 1);
  },
);

// docs/bugs-of-others.md#bug-13: a random port that IPv6 has taken.
test.serial('a free port that IPv6 has taken is given back, and another tried', async (t) => {
  const { bound } = withoutIpv6(t, 'EADDRINUSE', 2);
  const { sockets } = await open(t);
  t.is(bound(), 3);
  t.true(sockets.port > 0);
});

test.serial('where no port is free for both families, that is said in the end', async (t) => {
  const { bound } = withoutIpv6(t, 'EADDRINUSE', Infinity);
  const before = openSockets();
  await t.throwsAsync(open(t), { code: 'EADDRINUSE' });
  t.true(bound() > 2 && bound() < 100);
  await until(() => openSockets() <= before);
  t.true(openSockets() <= before, 'a socket that was not bound is closed');
});

test('a closed port is free again', async (t) => {
  const first = await UdpSockets.open(
    0,
    () => undefined,
    () => undefined,
  );
  const { port } = first;
  first.close();
  await new Promise((resolve) => setImmediate(resolve));
  const { sockets } = await open(t, port);
  t.is(sockets.port, port);
});

test('a datagram that cannot be sent is counted, and those around it arrive', async (t) => {
  const [{ sockets, errors }, b] = [await open(t), await open(t)];
  const there = { address: '127.0.0.1', port: b.sockets.port };
  // EACCES, as a firewall's refusal is EPERM.
  for (const to of [there, { address: '255.255.255.255', port: 9 }, there])
    sockets.send(counting(10), to);
  t.is((await arrived(b.sockets, 2)).length, 2);
  await until(() => errors.length > 0);
  t.deepEqual(errors, ['send']);
});

// docs/bugs-of-others.md#bug-9: oversized or odd datagrams.
test('an answer to port 0, from which anybody may send, is counted and does not throw', async (t) => {
  const { sockets, errors } = await open(t);
  t.notThrows(() => sockets.send(counting(10), { address: '127.0.0.1', port: 0 }));
  await until(() => errors.length > 0);
  t.deepEqual(errors, ['send']);
});

test('the room of the send buffer gets smaller by what waits, and comes back', async (t) => {
  const { sockets } = await open(t);
  const room = sockets.sendRoom;
  t.true(room > 1_000_000);
  t.is(await untilRoom(sockets, room), true, 'nothing waits');
  for (let i = 0; i < 200; i++) sockets.send(counting(1_000), { address: '127.0.0.1', port: 9 });
  t.true(sockets.sendRoom <= room);
  t.is(await untilRoom(sockets, room), true, 'and again');
});

async function untilRoom(sockets: UdpSockets, room: number): Promise<boolean> {
  await until(() => sockets.sendRoom === room);
  return sockets.sendRoom === room;
}
