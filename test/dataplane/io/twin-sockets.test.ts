// Where the twin of the host's sockets differs from the addon. What both do is in
// test/dataplane/socket-contract.test.ts.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { constants, networkInterfaces } from 'node:os';
import process from 'node:process';
import test from 'ava';
import { TwinHostSockets } from '../../../dataplane/io/twin-sockets.ts';
import { address } from '../../support/dataplane/packets.ts';

const { EOPNOTSUPP, EPROTONOSUPPORT } = constants.errno;
const TWIN = import.meta.resolve('../../../dataplane/io/twin-sockets.ts');
const options = { capacity: 4, interfaceName: null, eventsMax: 4, arenas: [new Uint8Array(100)] };

test('it says that something has happened, until it was taken', async (t) => {
  let sockets: TwinHostSockets | null = null;
  const heard = new Promise<void>((resolve) => {
    sockets = new TwinHostSockets(options, resolve);
  });
  const twin = sockets! as TwinHostSockets;
  t.false(twin.hasEvents);
  const handle = twin.connectTcp(address('127.0.0.1'), 1);
  await heard;
  t.true(twin.hasEvents);
  t.is(twin.takeEvents(), 1);
  t.is(twin.events[0], handle);
  t.false(twin.hasEvents);
  twin.close();
});

test('it has no interface to be bound to, no ping and no MTU, and says so', (t) => {
  t.throws(() => new TwinHostSockets({ ...options, interfaceName: 'lo' }, () => undefined), {
    message: 'the sockets of the TypeScript engine cannot be bound to an interface',
  });
  const twin = new TwinHostSockets(options, () => undefined);
  t.is(twin.openEcho(address('127.0.0.1')), -EPROTONOSUPPORT);
  t.is(twin.openPair(65_536), -EOPNOTSUPP);
  t.is(twin.pathMtu(twin.connectUdp(address('127.0.0.1'), 9)), -EOPNOTSUPP);
  twin.close();
});

test('addresses of this host and broadcasts of its networks are known', (t) => {
  const twin = new TwinHostSockets(options, () => undefined);
  for (const own of Object.values(networkInterfaces()).flatMap((all) => all ?? [])) {
    t.is(twin.routeTo(address(own.address)).kind, 'local', own.address);
    const [, bits] = own.cidr?.split('/') ?? [];
    if (own.family !== 'IPv4' || own.internal || Number(bits) > 30) continue;
    const mask = address(own.netmask);
    const last = address(own.address).map((byte, i) => byte | (~mask[i]! & 255));
    t.is(twin.routeTo(last).kind, 'broadcast', own.cidr ?? '');
  }
  t.deepEqual(twin.routeTo(address('198.51.100.77')), { kind: 'unicast', source: null });
  t.is(twin.routeTo(address('2001:db8::77')).kind, 'unicast');
  twin.close();
});

test('a host that does not read keeps no process alive', async (t) => {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  server.on('connection', (peer) => {
    peer.on('error', () => undefined);
    t.teardown(() => peer.destroy());
  });
  const program = `
    import { setTimeout as sleep } from 'node:timers/promises';
    import { TwinHostSockets } from ${JSON.stringify(TWIN)};
    const arena = new Uint8Array(65536);
    const options = { capacity: 4, interfaceName: null, eventsMax: 4, arenas: [arena] };
    const twin = new TwinHostSockets(options, () => undefined);
    const handle = twin.connectTcp(Uint8Array.of(127, 0, 0, 1), ${port});
    while (twin.takeEvents() === 0) await sleep(5);
    twin.pieces.set([0, 0, arena.length]);
    let waits = 0;
    while (waits < 5) {
      if (twin.write(handle, 1) < 0) waits += 1;
      await sleep(5);
    }
    twin.closeSocket(handle);
    twin.close();
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 10_000,
  });
  t.deepEqual(await once(child, 'exit'), [0, null]);
});
