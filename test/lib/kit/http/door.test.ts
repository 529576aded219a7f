// A listener of HTTP gets connections as descriptors, with the addresses of devices.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { NativeHostSockets } from '../../../../dataplane/io/host-sockets.ts';
import { PAIR_END } from '../../../../dataplane/socket-contract.ts';
import { type KeyAndCertificate, makeCertificate } from '../../../../lib/auth/saml/certificate.ts';
import { Door, listensEverywhere } from '../../../../lib/kit/http/door.ts';
import { createListener, HTTP_LIMITS } from '../../../../lib/kit/http/listener.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import type { Services } from '../../../../lib/services.ts';
import { logInto, openServer } from '../../../support/api/server.ts';
import type { Addon } from '../../../../dataplane/native/index.ts';
import { nativeTest } from '../../../support/dataplane/native-test.ts';
import { SocketBench } from '../../../support/network/host-sockets.ts';

const { EAGAIN } = constants.errno;
const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

test('only a listener at all addresses has a door', (t) => {
  for (const host of ['0.0.0.0', '::', '::0', '0']) t.true(listensEverywhere(host), host);
  for (const host of ['127.0.0.1', '::1', '192.0.2.1', 'localhost', 'gateway.example.test'])
    t.false(listensEverywhere(host), host);
});

nativeTest(
  'a listener takes devices by their addresses, and no more than it may',
  async (t, native) => {
    const counters = new Counters();
    const limits = { ...HTTP_LIMITS, connectionsPerAddressMax: 2 };
    const log = logInto([]);
    const listener = createListener({
      limits,
      counters,
      log,
      isProxy: () => false,
      scopeOf: (address) => address,
    });
    listener.on('request', ({ socket, url }, response) => {
      if (url === '/wait') return;
      response.end(`${socket.remoteAddress} ${socket.remotePort} ${socket.remoteFamily}`);
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    t.teardown(() => listener.close());
    const bench = new SocketBench((all) => new NativeHostSockets(native, all), { capacity: 16 });
    t.teardown(() => bench.sockets.close());
    const door = new Door(listener, 3);
    const connect = (address: string, sourcePort: number): number => {
      const handle = bench.sockets.openPair(65_536);
      const descriptor = bench.sockets.error[PAIR_END]!;
      door.take({ port: 80, descriptor, address, sourcePort });
      return handle;
    };
    const ask = async (handle: number): Promise<string> => {
      bench.put(0, Buffer.from(REQUEST));
      bench.sockets.write(handle, 1);
      for (let i = 0; i < 500; i++) {
        bench.room(0);
        const got = bench.sockets.read(handle, 1);
        if (got > 0) return String(Buffer.from(bench.arena.subarray(0, got)));
        if (got !== -EAGAIN) return got === 0 ? 'ended' : 'reset';
        await pause(5);
      }
      return 'silent';
    };
    const first = connect('10.8.0.2', 4_000);
    t.regex(await ask(first), /10\.8\.0\.2 4000 IPv4$/);
    t.regex(await ask(connect('fd00::2', 4_001)), /fd00::2 4001 IPv6$/);
    const third = connect('10.8.0.2', 4_002);
    t.regex(await ask(third), /4002/);
    t.regex(await ask(connect('10.8.0.3', 4_003)), /ended|reset/, 'three are open');
    t.is(counters.of('connections_refused', 'too_many'), 1);
    t.is(door.open, 3);
    bench.sockets.closeSocket(first);
    await pause(50);
    t.regex(await ask(connect('10.8.0.3', 4_004)), /10\.8\.0\.3/, 'one was closed');
    t.is(counters.of('connections_refused', 'too_many_from_address'), 0);
    bench.put(0, Buffer.from(REQUEST.replace('/', '/wait')));
    bench.sockets.write(third, 1);
    await pause(50);
    listener.close();
    t.regex(await ask(connect('10.8.0.4', 4_005)), /ended|reset/, 'nobody listens any more');
    // The listener has closed, and connections of devices are still there.
    const begun = performance.now();
    await door.drain(300);
    t.true(performance.now() - begun > 250, 'it waits for them');
    t.regex(await ask(third), /ended|reset/, 'then they end');
    await door.drain(10_000);
    t.true(performance.now() - begun < 5_000, 'nothing is left to wait for');
  },
);

/** The device's end of a connection. */
function streamOf(bench: SocketBench, handle: number): Duplex {
  const { sockets, arena } = bench;
  const stream = new Duplex({
    write(bytes: Buffer, _encoding, done) {
      bench.put(0, bytes);
      // Where the connection has ended, nothing comes back, and that is found.
      sockets.write(handle, 1);
      done();
    },
    read() {
      if (stream.destroyed) return;
      bench.room(0);
      const got = sockets.read(handle, 1);
      if (got > 0) stream.push(Buffer.from(arena.subarray(0, got)));
      else if (got === -EAGAIN) setTimeout(() => stream._read(0), 5);
      else stream.push(null);
    },
  });
  return stream;
}

/** A server with a door, and what asks at it from any address; `found` is what it was asked. */
async function serverWithDoor(
  t: ExecutionContext,
  native: Addon,
  settings: Record<string, string>,
  services: Partial<Services> = {},
) {
  const opened = await openServer(t, 'sqlite over a socket', settings, services);
  const bench = SocketBench.for(t, (all) => new NativeHostSockets(native, all));
  const door = new Door(opened.server.listener, 100);
  t.teardown(() => door.drain(0));
  let sourcePort = 4_000;
  const dial = (address: string): Duplex => {
    const handle = bench.sockets.openPair(65_536);
    sourcePort += 1;
    door.take({ port: 80, descriptor: bench.sockets.error[PAIR_END]!, address, sourcePort });
    return streamOf(bench, handle);
  };
  let found: string | undefined;
  opened.server.ext('onPreResponse', ({ app }, h) => {
    found = app.address;
    return h.continue;
  });
  const ask = async (address: string, path = '/v0/users', headers = {}): Promise<number> => {
    const line = dial(address);
    const socket =
      'HTTP_TLS_CERT' in settings ? connectTls({ socket: line, rejectUnauthorized: false }) : line;
    t.teardown(() => line.destroy());
    const asked = request({ path, headers, createConnection: () => socket }).end();
    const [answer] = (await once(asked, 'response')) as [{ statusCode: number; resume(): void }];
    answer.resume();
    return answer.statusCode;
  };
  return { ...opened, dial, ask, found: () => found };
}

/** Addresses that a network behind a device may hold: of the LAN, of proxies, of this host. */
const NEIGHBOURS = ['192.168.1.7', '10.0.0.5', '10.0.0.9', '127.0.0.1', '2001:db8::7'];
const PROXIES = { TRUSTED_PROXIES: '10.0.0.0/8,10.0.0.5,100.64.0.80', API_RATE_LIMIT: '0' };

function tlsFiles(t: ExecutionContext, { privateKey, certificate }: KeyAndCertificate) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-door-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(cert, certificate);
  writeFileSync(key, privateKey);
  return { HTTP_TLS_CERT: cert, HTTP_TLS_KEY: key };
}

for (const isTls of [false, true])
  nativeTest(
    `whoever comes by a door is a device, whatever the address${isTls ? ', with TLS' : ''}`,
    async (t, native) => {
      const files = isTls ? tlsFiles(t, await makeCertificate(new Date(), Uint8Array.of(17))) : {};
      const settings = { ...PROXIES, ...files, HTTP_THROUGH_TUNNEL: 'off' };
      const { server, ask } = await serverWithDoor(t, native, settings);
      for (const address of NEIGHBOURS) t.is(await ask(address), 403, address);
      t.is(await ask('100.64.0.80'), 401, 'a device that is a proxy by its exact address');
      for (const remoteAddress of NEIGHBOURS)
        t.is((await server.inject({ url: '/v0/users', remoteAddress })).statusCode, 401);
    },
  );

nativeTest('nobody behind a device chooses an address at a door', async (t, native) => {
  const settings = { ...PROXIES, HTTP_THROUGH_TUNNEL: 'on', METRICS_ACCESS: 'loopback' };
  const { log, ask, found } = await serverWithDoor(t, native, settings);
  const headers = { 'x-forwarded-for': '203.0.113.5' };
  for (const address of NEIGHBOURS) {
    t.is(await ask(address, '/v0/users', headers), 401);
    t.is(found(), address);
  }
  await ask('100.64.0.80', '/v0/users', headers);
  t.is(found(), '203.0.113.5');
  t.deepEqual(
    log.filter(({ level }) => level === 'warn'),
    [],
    'nobody is advised to trust them',
  );
  t.is(await ask('127.0.0.1', '/metrics', { host: 'localhost' }), 401, 'no program of this host');
});

nativeTest('the address of a proxy has a limit at a door', async (t, native) => {
  const settings = { ...PROXIES, HTTP_THROUGH_TUNNEL: 'on' };
  const httpLimits = { connectionsPerAddressMax: 2 };
  const { services, dial } = await serverWithDoor(t, native, settings, { httpLimits });
  for (const address of ['10.0.0.5', '127.0.0.1'])
    for (let i = 0; i < 3; i++) {
      const line = dial(address);
      t.teardown(() => line.destroy());
    }
  t.is(services.counters.of('connections_refused', 'too_many_from_address'), 2);
});
