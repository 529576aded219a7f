// The relay between two real sockets: what one end does, the other one sees.

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { Relay, RELAY_CARRIED, RELAY_REFUSED } from '../../../dataplane/io/relay.ts';
import type { Destination } from '../../../dataplane/native/index.ts';
import type { NetworkRange } from '../../../dataplane/wire/network.ts';
import { address } from '../../support/dataplane/packets.ts';
import { until } from '../../support/gateway/postern.ts';

interface World {
  readonly refused: () => number;
  readonly carried: () => number;
  /** A connection of a device, which the kernel has redirected. */
  readonly dial: () => Socket;
  /** The connection that the relay opens to the host. */
  readonly arrival: () => Promise<Socket>;
  readonly host: Server;
  readonly relay: Relay;
}

/** A relay to a host on the loopback; `destination` changes where all connections are bound for. */
async function makeWorld(
  t: ExecutionContext,
  destination?: (port: number) => Destination | null,
  room = { capacity: 10, share: 10 },
): Promise<World> {
  const host = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(host, 'listening');
  const { port } = host.address() as AddressInfo;
  const counts = [0, 0];
  const relay = new Relay({
    destinationOf: () =>
      destination === undefined ? { address: '127.0.0.1', port } : destination(port),
    ...room,
    count: (what, by) => (counts[what]! += by),
  });
  const ports = await relay.listen();
  t.teardown(() => {
    relay.close();
    host.close();
  });
  return {
    host,
    relay,
    refused: () => counts[RELAY_REFUSED]!,
    carried: () => counts[RELAY_CARRIED]!,
    dial: () => {
      const socket = connect({ host: '127.0.0.1', port: ports.ipv4!, allowHalfOpen: true });
      return socket.on('error', () => undefined);
    },
    arrival: async () => {
      const [socket] = (await once(host, 'connection')) as [Socket];
      return socket.on('error', () => undefined);
    },
  };
}

/** The code of the error with which a connection ends; null where it ends as it should. */
async function endOf(socket: Socket): Promise<string | null> {
  socket.resume();
  return new Promise((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    socket.once('end', () => resolve(null));
  });
}

test('what is sent arrives both ways, and each way ends on its own', async (t) => {
  const { dial, arrival, carried } = await makeWorld(t);
  const coming = arrival();
  const device = dial();
  const host = await coming;
  t.is(carried(), 1);
  const sent = Buffer.alloc(3_000_000, 'up');
  device.end(sent);
  t.true(sent.equals(await buffer(host)));
  const answer = Buffer.alloc(2_000_000, 'down');
  host.end(answer);
  t.true(answer.equals(await buffer(device)));
  await until('it is counted no more', () => carried() === 0);
});

test('a host that refuses looks like a reset', async (t) => {
  const { dial, host } = await makeWorld(t);
  host.close();
  await once(host, 'close');
  t.is(await endOf(dial()), 'ECONNRESET');
});

test('a reset of one end is one of the other, both ways', async (t) => {
  const { dial, arrival } = await makeWorld(t);
  for (const whose of ['device', 'host']) {
    const coming = arrival();
    const ends = { device: dial(), host: await coming };
    const [failing, other] = whose === 'host' ? [ends.host, ends.device] : [ends.device, ends.host];
    const end = endOf(other);
    other.write('not lost');
    await once(failing, 'data');
    failing.resetAndDestroy();
    t.is(await end, 'ECONNRESET', whose);
  }
});

test('a connection that nobody redirected is reset', async (t) => {
  const { dial } = await makeWorld(t, () => null);
  t.is(await endOf(dial()), 'ECONNRESET');
});

for (const room of [
  { capacity: 1, share: 10 },
  { capacity: 10, share: 1 },
])
  test(`${JSON.stringify(room)}: one more is reset and counted; one that ended makes room`, async (t) => {
    const { dial, arrival, refused } = await makeWorld(t, undefined, room);
    const coming = arrival();
    const first = dial();
    const host = await coming;
    t.is(await endOf(dial()), 'ECONNRESET');
    t.is(refused(), 1);
    const end = endOf(host);
    first.resetAndDestroy();
    await end;
    const next = arrival();
    const second = dial();
    second.write('x');
    await once(await next, 'data');
    t.is(refused(), 1);
  });

test('a close ends all connections', async (t) => {
  const { relay, dial, arrival } = await makeWorld(t);
  const coming = arrival();
  const device = dial();
  const host = await coming;
  device.write('x');
  await once(host, 'data');
  const ends = [endOf(device), endOf(host)];
  relay.close();
  t.deepEqual(await Promise.all(ends), ['ECONNRESET', 'ECONNRESET']);
});

test('the connections of a device that is gone end, and no others', async (t) => {
  const { relay, dial, arrival } = await makeWorld(t);
  const coming = arrival();
  const device = dial();
  const host = await coming;
  relay.resetFrom({ addresses: ['127.0.0.2', '::1'], networks: [] });
  device.write('x');
  await once(host, 'data');
  const ends = [endOf(device), endOf(host)];
  relay.resetFrom({ addresses: ['127.0.0.1'], networks: [] });
  t.deepEqual(await Promise.all(ends), ['ECONNRESET', 'ECONNRESET']);
});

test('the connections from a network that is no longer behind a device end, and no others', async (t) => {
  const { relay, dial, arrival } = await makeWorld(t);
  const coming = arrival();
  const device = dial();
  const host = await coming;
  const networkOf = (text: string, prefixBits: number): NetworkRange => ({
    network: address(text),
    prefixBits,
  });
  relay.resetFrom({ addresses: [], networks: [networkOf('127.0.1.0', 24), networkOf('::', 8)] });
  device.write('x');
  await once(host, 'data');
  const ends = [endOf(device), endOf(host)];
  relay.resetFrom({ addresses: [], networks: [networkOf('127.0.0.0', 24)] });
  t.deepEqual(await Promise.all(ends), ['ECONNRESET', 'ECONNRESET']);
});
