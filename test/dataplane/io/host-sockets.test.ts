// The host's sockets by the addon: what an engine waits for, and what becomes of descriptors. The
// contract is in test/dataplane/socket-contract.test.ts.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import { constants } from 'node:os';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { knownKind, NativeHostSockets, portsForEach } from '../../../dataplane/io/host-sockets.ts';
import { type Addon, EVENT_SOCKETS, EVENT_UDP } from '../../../dataplane/native/index.ts';
import {
  PAIR_END,
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_SEGMENT,
  SOCKET_CONNECTED,
  SOCKET_ENDED,
  SOCKET_FAILED,
  SOCKET_GONE,
} from '../../../dataplane/socket-contract.ts';
import { bytesPerCall, openNative } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { address, counting } from '../../support/dataplane/packets.ts';
import {
  type BenchOptions,
  SocketBench,
  socketsTo,
  soon,
} from '../../support/network/host-sockets.ts';

const { EACCES, EAGAIN, EBADF, ECONNRESET, EMFILE, EMSGSIZE, ENODEV } = constants.errno;
const LOOPBACK = address('127.0.0.1');
const nothing = { udp4: -1, udp6: -1, wake: -1, tun: -1, tunTakesUdp: true, mtu: 1_420 };

function open(native: Addon, options?: BenchOptions): SocketBench {
  return new SocketBench((all) => new NativeHostSockets(native, all), options);
}

nativeTest('events of the sockets end the wait of an engine', async (t, native) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bench = open(native);
  const engine = openNative(native, { ...nothing, sockets: bench.sockets.descriptor });
  t.is(engine.poll(0), 0);
  const handle = bench.sockets.connectTcp(LOOPBACK, (server.address() as AddressInfo).port);
  t.is(engine.poll(5_000), EVENT_SOCKETS);
  t.is(engine.poll(0), EVENT_SOCKETS);
  t.is(bench.look(handle).flags & SOCKET_CONNECTED, SOCKET_CONNECTED);
  t.is(engine.poll(0), 0);
  // The engine has a descriptor of its own: the number of the closed one may be another file's.
  bench.sockets.close();
  const taker = native.openWake();
  native.wake(taker);
  t.is(engine.poll(0), 0);
  engine.close();
  native.closeFd(taker);
  server.close();
});

nativeTest(
  'a pair carries bytes within the process, and each end sees the other one end',
  async (t, native) => {
    const bench = open(native, { capacity: 2 });
    const { sockets } = bench;
    const handle = sockets.openPair(65_536);
    t.true(handle > 0);
    const peer = new Socket({ fd: sockets.error[PAIR_END]!, allowHalfOpen: true });
    bench.put(0, Buffer.from('from a device'));
    t.is(sockets.write(handle, 1), 13);
    t.is(String((await once(peer, 'data'))[0]), 'from a device');
    await new Promise((resolve) => peer.write('to a device', resolve));
    bench.room(0);
    t.is(sockets.read(handle, 1), 11);
    t.is(String(Buffer.from(bench.arena.subarray(0, 11))), 'to a device');
    const second = sockets.openPair(4_096);
    const unread = sockets.error[PAIR_END]!;
    t.is(sockets.openPair(4_096), -EMFILE, 'the table is full');
    let waits = 0;
    for (let got = 1; got > 0; waits += Math.max(0, got)) {
      bench.put(0, Buffer.alloc(16_384));
      got = sockets.write(second, 1);
    }
    t.true(waits <= 65_536, `${waits} bytes wait for who does not read`);
    t.is(sockets.resetSocket(handle), 0);
    await once(peer, 'end');
    peer.destroy();
    native.closeFd(unread);
    sockets.close();
  },
);

nativeTest('a pair can be ended before anything is asked of it', async (t, native) => {
  const { sockets } = SocketBench.for(t, (all) => new NativeHostSockets(native, all));
  const handle = sockets.openPair(65_536);
  const peer = new Socket({ fd: sockets.error[PAIR_END]!, allowHalfOpen: true }).resume();
  t.is(sockets.end(handle), 0);
  await once(peer, 'end');
  peer.destroy();
});

nativeTest('a pair says when its other end is gone, and not when a half is', async (t, native) => {
  const bench = SocketBench.for(t, (all) => new NativeHostSockets(native, all));
  const { sockets } = bench;
  const open = (): [number, Socket] => {
    const handle = sockets.openPair(65_536);
    const peer = new Socket({ fd: sockets.error[PAIR_END]!, allowHalfOpen: true });
    t.teardown(() => peer.destroy());
    return [handle, peer];
  };
  const [first, destroyed] = open();
  await new Promise<void>((done) => void destroyed.end('left', () => done()));
  await bench.until(first, SOCKET_ENDED);
  t.is(bench.look(first).flags & SOCKET_GONE, 0);
  destroyed.destroy();
  await bench.until(first, SOCKET_GONE);
  bench.room(0);
  t.is(sockets.read(first, 1), 4, 'what is left can be read');
  t.is(sockets.read(first, 1), 0);
  const [second, ended] = open();
  sockets.end(second);
  ended.end();
  await bench.until(second, SOCKET_GONE);
});

nativeTest('an engine refuses a descriptor that is not open', (t, native) => {
  t.throws(() => openNative(native, { ...nothing, sockets: 1_000_000 }), {
    message: 'the descriptor of the sockets is not open',
  });
});

nativeTest('a failure that a read or a write has found is not forgotten', async (t, native) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  for (const first of ['read', 'write'] as const) {
    const bench = open(native);
    const { sockets } = bench;
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const handle = await bench.connect((server.address() as AddressInfo).port);
    const [peer] = await accepted;
    peer.resetAndDestroy();
    const found = await soon(() => {
      bench.put(0, counting(10));
      const result = sockets[first](handle, 1);
      return result < 0 && result !== -EAGAIN ? result : null;
    });
    t.is(found, -ECONNRESET);
    bench.room(0);
    t.is(sockets.read(handle, 1), -ECONNRESET, 'no end of the stream');
    t.is(sockets.write(handle, 1), -ECONNRESET);
    const { flags, error } = bench.look(handle);
    t.deepEqual([flags & SOCKET_FAILED, error], [SOCKET_FAILED, ECONNRESET]);
    sockets.close();
  }
});

nativeTest('a worker that dies leaves no socket, and the host hears a reset', async (t, native) => {
  t.truthy(native);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
    Promise.all([
      import('${new URL('../../../dataplane/io/host-sockets.ts', import.meta.url).href}'),
      import('${new URL('../../../dataplane/native/index.ts', import.meta.url).href}'),
    ]).then(([{ NativeHostSockets }, { loadAddon }]) => {
      const options = { capacity: 100, interfaceName: null, eventsMax: 8 };
      const sockets = new NativeHostSockets(loadAddon().addon, {
        ...options,
        arenas: [new Uint8Array(100)],
      });
      const to = Uint8Array.of(127, 0, 0, 1);
      sockets.connectTcp(to, ${port});
      for (let i = 0; i < 50; i++) sockets.connectUdp(to, ${port});
      parentPort.postMessage(sockets.count);
      setInterval(() => sockets.count, 1_000);
    });`,
    { eval: true },
  );
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const [count] = (await once(worker, 'message')) as [number];
  t.is(count, 51);
  const [peer] = await accepted;
  t.is(socketsTo(port), 51);
  const failed = once(peer, 'error') as Promise<[NodeJS.ErrnoException]>;
  peer.resume();
  await worker.terminate();
  t.is((await failed)[0].code, 'ECONNRESET');
  await soon(() => (socketsTo(port) === 0 ? true : null));
  server.close();
});

nativeTest('a program that is started has none of the sockets', (t, native) => {
  const inherited = (): string =>
    execFileSync('ls', ['/proc/self/fd'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const before = inherited();
  const bench = open(native);
  for (let i = 0; i < 20; i++) t.true(bench.sockets.connectUdp(LOOPBACK, 9) > 0);
  t.is(inherited(), before);
  bench.sockets.close();
});

nativeTest('a place has 32,767 handles, each another one, before one comes again', (t, native) => {
  const { sockets } = open(native, { capacity: 1 });
  const seen = new Set<number>();
  for (let i = 0; i < 32_767; i++) {
    const handle = sockets.connectUdp(LOOPBACK, 9);
    if (handle <= 0 || handle >= 2 ** 31) t.fail(`handle ${handle}`);
    seen.add(handle);
    sockets.closeSocket(handle);
  }
  t.is(seen.size, 32_767);
  const first = sockets.connectUdp(LOOPBACK, 9);
  t.true(seen.has(first));
  sockets.close();
});

nativeTest('places are taken in turn, so that handles come again late', (t, native) => {
  const { sockets } = open(native, { capacity: 4 });
  const places = Array.from({ length: 8 }, () => {
    const handle = sockets.connectUdp(LOOPBACK, 9);
    sockets.closeSocket(handle);
    return handle & 0xffff;
  });
  t.deepEqual(places, [0, 1, 2, 3, 0, 1, 2, 3]);
  sockets.close();
});

nativeTest('an interface that does not exist is a fact', (t, native) => {
  const { sockets } = open(native, { interfaceName: 'missing0' });
  t.is(sockets.connectTcp(LOOPBACK, 9), -ENODEV);
  t.is(sockets.connectUdp(LOOPBACK, 9), -ENODEV);
  t.is(sockets.count, 0);
  sockets.close();
  t.throws(() => open(native, { interfaceName: 'an-interface-name-that-is-too-long' }), {
    instanceOf: TypeError,
  });
});

nativeTest('a flow on one interface hears of that interface alone', (t, native) => {
  const { sockets } = open(native, { interfaceName: 'lo' });
  t.true(sockets.connectUdp(LOOPBACK, 9) > 0);
  sockets.close();
});

nativeTest('a run comes as one piece, and its datagrams are of one size', async (t, native) => {
  const bench = open(native);
  const { sockets } = bench;
  // A socket of the gateway's kind takes the first word, and answers it by a train.
  const host = native.openUdp(false, 0);
  const engine = openNative(native, { ...nothing, udp4: host });
  const handle = sockets.connectUdp(LOOPBACK, native.boundPort(host));
  bench.put(0, counting(1));
  t.is(sockets.send(handle, 1), 1);
  t.is(engine.poll(5_000), EVENT_UDP);
  engine.receive();
  for (const length of [500, 500, 500, 300]) engine.send(counting(length), 0);
  engine.flush();
  const run = await bench.receive(handle);
  t.is(run.length, 1_800);
  t.is(bench.word(0, PIECE_SEGMENT), 500);
  t.is(bench.word(0, PIECE_ERROR), 0);
  t.deepEqual(run.slice(1_500), counting(300));
  t.is(bench.word(0, PIECE_LENGTH), 1_800);
  engine.close();
  sockets.close();
  native.closeFd(host);
});

nativeTest('what is too large comes back with the MTU, and is lost alone', (t, native) => {
  const bench = open(native);
  const { sockets } = bench;
  const handle = sockets.connectUdp(LOOPBACK, 9);
  const mtu = sockets.pathMtu(handle);
  t.true(mtu >= 1_280, `${mtu}`);
  bench.put(0, counting(10));
  bench.room(1, 65_536);
  bench.put(2, counting(20));
  t.is(sockets.send(handle, 3), 2);
  t.deepEqual(
    [0, 1, 2].map((i) => bench.word(i, PIECE_ERROR)),
    [0, EMSGSIZE, 0],
  );
  sockets.close();
});

nativeTest('a ping comes back, or the kernel says that it allows none', async (t, native) => {
  for (const [to, request, reply] of [
    ['127.0.0.1', 8, 0],
    ['::1', 128, 129],
  ] as const) {
    const bench = open(native);
    const handle = bench.sockets.openEcho(address(to));
    if (handle < 0) {
      t.is(handle, -EACCES);
      t.is(bench.sockets.count, 0);
      bench.sockets.close();
      continue;
    }
    bench.put(0, Uint8Array.of(request, 0, 0, 0, 0, 0, 0, 7, 1, 2, 3));
    t.is(bench.sockets.send(handle, 1), 1);
    const answer = await bench.receive(handle);
    t.is(answer[0], reply);
    t.deepEqual(answer.slice(6), Uint8Array.of(0, 7, 1, 2, 3));
    bench.sockets.close();
  }
});

nativeTest('a turn allocates nothing', async (t, native) => {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bench = open(native);
  const { sockets } = bench;
  const tcp = await bench.connect((server.address() as AddressInfo).port);
  const udp = sockets.connectUdp(LOOPBACK, 9);
  bench.put(0, counting(1));
  const bytes = bytesPerCall(
    () => {
      sockets.takeEvents();
      sockets.write(tcp, 1);
      if (sockets.read(tcp, 1) !== -EAGAIN) throw new Error('something came');
      sockets.send(udp, 1);
      sockets.receive(udp, 1);
      sockets.takeError(udp);
      if (sockets.read(udp, 1) !== -EBADF) throw new Error('a flow is a connection');
    },
    { calls: 100, rounds: 151 },
  );
  t.true(bytes < 1, `${bytes} bytes`);
  sockets.close();
  server.close();
});

test('what an address is says itself, where it does not depend on the host', (t) => {
  for (const text of ['10.0.0.1', '169.254.169.254', '192.0.2.255', '240.0.0.1', '2001:db8::1'])
    t.is(knownKind(address(text)), null, text);
  for (const text of ['::2', '::127.0.0.1', '64:ff9b::7f00:1', 'fe80::1'])
    t.is(knownKind(address(text)), null, text);
});

test('workers share the ports of UDP, and a quarter stays for the rest of the host', (t) => {
  t.is(portsForEach(1, '32768\t60999'), 21_174);
  t.is(portsForEach(2, '32768\t60999'), 10_587);
  t.is(portsForEach(1, '40000 40003'), 3);
  t.true(portsForEach(1) > 0);
});
