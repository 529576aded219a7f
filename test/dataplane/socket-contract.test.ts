// The contract of the sockets that face the host, with real servers on loopback. Both
// implementations run the same tests. What routers and the kernel answer beyond loopback is in
// test/e2e/host-sockets.test.ts.

import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { constants } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import {
  type DestinationKind,
  HOST_SOCKETS_MAX,
  ORIGIN_ICMP,
  ORIGIN_ICMP6,
  PIECE_ARENA,
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_OFFSET,
  PIECE_SEGMENT,
  SOCKET_ENDED,
  SOCKET_FAILED,
  SOCKET_READABLE,
} from '../../dataplane/socket-contract.ts';
import { address, counting, echoRequest, tcp, udp } from '../support/dataplane/packets.ts';
import { SocketBench, socketKinds, socketsTo, soon } from '../support/network/host-sockets.ts';

const {
  EAGAIN,
  EBADF,
  EBADMSG,
  ECONNREFUSED,
  ECONNRESET,
  EFAULT,
  EMFILE,
  EMSGSIZE,
  ENETUNREACH,
  ENOTCONN,
} = constants.errno;
const LOOPBACKS = ['127.0.0.1', '::1'] as const;

/** A server of the test, and the connections that it has got. */
interface Server {
  readonly port: number;
  /** The next connection. */
  accept(): Promise<Socket>;
}

async function serve(t: ExecutionContext, at = '127.0.0.1'): Promise<Server> {
  const accepted: Socket[] = [];
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    socket.on('error', () => undefined);
    accepted.push(socket);
    t.teardown(() => socket.destroy());
  });
  server.listen(0, at);
  await once(server, 'listening');
  t.teardown(() => server.close());
  return {
    port: (server.address() as AddressInfo).port,
    accept: () => soon(() => accepted.shift() ?? null),
  };
}

/** Reads all that comes to the end. */
async function drain(socket: Socket): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.resume();
  await once(socket, 'end');
  return Buffer.concat(chunks);
}

async function bindUdp(t: ExecutionContext, at = '127.0.0.1'): Promise<UdpSocket> {
  const socket = createSocket(at.includes(':') ? 'udp6' : 'udp4');
  socket.bind(0, at);
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  return socket;
}

/** A port of loopback at which nobody listens. */
async function refusedPort(at: string, type: 'tcp' | 'udp'): Promise<number> {
  const server = type === 'tcp' ? createServer() : createSocket(at === '::1' ? 'udp6' : 'udp4');
  if ('listen' in server) server.listen(0, at);
  else server.bind(0, at);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

for (const [kind, open] of socketKinds) {
  // ---- TCP ----

  for (const at of LOOPBACKS) {
    test.serial(`${kind}: bytes go both ways to ${at}, each half ends by itself`, async (t) => {
      const bench = SocketBench.for(t, open);
      const server = await serve(t, at);
      const handle = await bench.connect(server.port, at);
      t.true(handle > 0);
      const peer = await server.accept();
      await bench.write(handle, counting(100_000), 1_000);
      t.is(bench.sockets.end(handle), 0);
      t.deepEqual(await drain(peer), Buffer.from(counting(100_000)));
      peer.write('an answer after the end');
      peer.end();
      await bench.until(handle, SOCKET_ENDED);
      const { bytes, result } = await bench.read(handle);
      t.is(Buffer.from(bytes).toString(), 'an answer after the end');
      t.is(result, 0);
    });

    test.serial(`${kind}: a refused port of ${at} is a fact, at once or by an event`, async (t) => {
      const bench = SocketBench.for(t, open);
      t.is(await bench.connect(await refusedPort(at, 'tcp'), at), -ECONNREFUSED);
    });
  }

  test.serial(`${kind}: nothing is there yet, and that is no end`, async (t) => {
    const bench = SocketBench.for(t, open);
    const handle = await bench.connect((await serve(t)).port);
    bench.room(0);
    t.is(bench.sockets.read(handle, 1), -EAGAIN);
  });

  test.serial(`${kind}: pieces are filled one after the other`, async (t) => {
    const bench = SocketBench.for(t, open);
    const server = await serve(t);
    const handle = await bench.connect(server.port);
    (await server.accept()).write(counting(25));
    await bench.until(handle, SOCKET_READABLE);
    for (const i of [0, 1, 2]) bench.room(i, 10);
    bench.arena.fill(0xee);
    t.is(bench.sockets.read(handle, 3), 25);
    t.deepEqual(bench.content(1), counting(25).slice(10, 20));
    t.deepEqual(
      bench.arena.slice(2 * 65_536, 2 * 65_536 + 6),
      Uint8Array.from([20, 21, 22, 23, 24, 0xee]),
    );
  });

  test.serial(
    `${kind}: a host that does not read stops the writer, and no byte is lost`,
    async (t) => {
      const bench = SocketBench.for(t, open);
      const server = await serve(t);
      const handle = await bench.connect(server.port);
      const peer = await server.accept();
      let written = 0;
      const chunk = counting(65_536);
      bench.put(0, chunk);
      for (;;) {
        const took = bench.sockets.write(handle, 1);
        if (took === -EAGAIN) break;
        written += took;
        // What was not taken comes again, so that the sum is a repetition of the chunk.
        bench.put(0, chunk.subarray(written % chunk.length));
      }
      const rest = chunk.subarray(written % chunk.length);
      const all = drain(peer);
      await bench.write(handle, rest);
      bench.sockets.end(handle);
      const got = await all;
      t.is(got.length, written + rest.length);
      t.is(got.length % chunk.length, 0);
      for (let at = 0; at < got.length; at += chunk.length)
        t.is(Buffer.compare(got.subarray(at, at + chunk.length), chunk), 0);
    },
  );

  test.serial(
    `${kind}: four megabytes come back as they went, while both sides go on`,
    async (t) => {
      const bench = SocketBench.for(t, open);
      const server = await serve(t);
      const handle = await bench.connect(server.port);
      const peer = await server.accept();
      peer.pipe(peer);
      const sent = Buffer.concat(Array.from({ length: 64 }, (_, i) => counting(65_536, i)));
      const [{ bytes }] = await Promise.all([
        bench.read(handle, sent.length),
        bench.write(handle, sent, 30_000),
      ]);
      t.is(Buffer.compare(bytes, sent), 0);
    },
  );

  test.serial(`${kind}: what came before a reset is read first`, async (t) => {
    const bench = SocketBench.for(t, open);
    const server = await serve(t);
    const handle = await bench.connect(server.port);
    const peer = await server.accept();
    peer.write('last words');
    await bench.until(handle, SOCKET_READABLE);
    peer.resetAndDestroy();
    t.is((await bench.until(handle, SOCKET_FAILED)).error, ECONNRESET);
    const { bytes, result } = await bench.read(handle);
    t.is(Buffer.from(bytes).toString(), 'last words');
    t.is(result, -ECONNRESET);
    bench.put(0, counting(10));
    t.is(bench.sockets.write(handle, 1), -ECONNRESET);
  });

  test.serial(`${kind}: a close delivers what was taken, a reset does not wait`, async (t) => {
    const bench = SocketBench.for(t, open);
    const server = await serve(t);
    const closed = await bench.connect(server.port);
    const first = await server.accept();
    await bench.write(closed, counting(30_000));
    t.is(bench.sockets.closeSocket(closed), 0);
    t.is((await drain(first)).length, 30_000);
    const reset = await bench.connect(server.port);
    const second = await server.accept();
    const failed = once(second, 'error');
    second.resume();
    t.is(bench.sockets.resetSocket(reset), 0);
    const [error] = (await failed) as [NodeJS.ErrnoException];
    t.is(error.code, 'ECONNRESET');
    t.is(bench.sockets.count, 0);
  });

  test.serial(`${kind}: who only connects cannot write, and ends nothing`, async (t) => {
    const bench = SocketBench.for(t, open);
    const handle = bench.sockets.connectTcp(address('127.0.0.1'), (await serve(t)).port);
    t.true(handle > 0);
    // An event that was not taken has not happened.
    t.is(bench.sockets.end(handle), -ENOTCONN);
    t.is(bench.sockets.closeSocket(handle), 0);
  });

  test.serial(`${kind}: a quiet connection is kept alive after two minutes`, async (t) => {
    const bench = SocketBench.for(t, open);
    const { port } = await serve(t);
    t.true((await bench.connect(port)) > 0);
    const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const line = await soon(
      () =>
        readFileSync('/proc/net/tcp', 'utf8')
          .split('\n')
          // The timer of what was sent comes first.
          .find((text) => text.includes(` ${remote} 01 `) && / 02:/.test(text)) ?? null,
    );
    const [, ticks] = / 02:([0-9A-F]{8}) /.exec(line) ?? [];
    const seconds = Number.parseInt(ticks!, 16) / 100;
    t.true(seconds > 100 && seconds <= 120, `${seconds}`);
  });

  // ---- UDP ----

  for (const at of LOOPBACKS) {
    test.serial(
      `${kind}: datagrams go to ${at} and come back, one by one and as a run`,
      async (t) => {
        const bench = SocketBench.for(t, open);
        const host = await bindUdp(t, at);
        const got: string[] = [];
        host.on('message', (bytes, { port, address: from }) => {
          got.push(bytes.toString());
          host.send(`re: ${bytes.toString()}`, port, from);
        });
        const handle = bench.sockets.connectUdp(address(at), host.address().port);
        t.true(handle > 0);
        bench.put(0, Buffer.from('one'));
        bench.put(1, Buffer.from('aaaabbbbcc'), 4);
        bench.put(2, Buffer.from('two'));
        t.is(bench.sockets.send(handle, 3), 3);
        for (const i of [0, 1, 2]) t.is(bench.word(i, PIECE_ERROR), 0);
        const wanted = ['one', 'aaaa', 'bbbb', 'cc', 'two'];
        await soon(() => (got.length === wanted.length ? true : null));
        t.deepEqual(got, wanted);
        await bench.until(handle, SOCKET_READABLE);
        const answers: string[] = [];
        while (answers.length < wanted.length)
          answers.push(Buffer.from(await bench.receive(handle)).toString());
        t.deepEqual(
          answers,
          wanted.map((text) => `re: ${text}`),
        );
        t.is(bench.sockets.receive(handle, 1), -EAGAIN);
      },
    );

    test.serial(
      `${kind}: a refused UDP port of ${at} is an ICMP message, and costs no datagram`,
      async (t) => {
        const bench = SocketBench.for(t, open);
        const port = await refusedPort(at, 'udp');
        const handle = bench.sockets.connectUdp(address(at), port);
        bench.put(0, Buffer.from('anybody?'));
        t.is(bench.sockets.send(handle, 1), 1);
        await bench.until(handle, SOCKET_FAILED);
        const refusal = at === '::1' ? [ORIGIN_ICMP6, 1, 4] : [ORIGIN_ICMP, 3, 3];
        t.deepEqual(await bench.error(handle), [ECONNREFUSED, ...refusal, 0]);
        t.is(bench.sockets.takeError(handle), 0);
        bench.put(0, Buffer.from('anybody now?'));
        t.is(bench.sockets.send(handle, 1), 1);
        await bench.error(handle);
      },
    );
  }

  test.serial(`${kind}: many datagrams come with one call, each in its piece`, async (t) => {
    const bench = SocketBench.for(t, open);
    const host = await bindUdp(t);
    const handle = bench.sockets.connectUdp(address('127.0.0.1'), host.address().port);
    bench.put(0, Buffer.from('begin'));
    bench.sockets.send(handle, 1);
    const [, { port }] = (await once(host, 'message')) as [Buffer, AddressInfo];
    for (let i = 0; i < 20; i++) host.send(counting(i === 7 ? 0 : 100 + i), port, '127.0.0.1');
    let received = 0;
    const lengths: number[] = [];
    await soon(() => {
      for (let i = 0; i < 8; i++) bench.room(i);
      const got = bench.sockets.receive(handle, 8);
      if (got === -EAGAIN) return null;
      for (let i = 0; i < got; i++) {
        lengths.push(bench.word(i, PIECE_LENGTH));
        t.is(bench.word(i, PIECE_ERROR), 0);
        t.is(bench.word(i, PIECE_SEGMENT), 0);
        t.deepEqual(bench.content(i), counting(bench.word(i, PIECE_LENGTH)));
      }
      received += got;
      return received === 20 ? true : null;
    });
    t.deepEqual(
      lengths,
      Array.from({ length: 20 }, (_, i) => (i === 7 ? 0 : 100 + i)),
    );
  });

  test.serial(`${kind}: a datagram that has no room is cut, and says so`, async (t) => {
    const bench = SocketBench.for(t, open);
    const host = await bindUdp(t);
    const handle = bench.sockets.connectUdp(address('127.0.0.1'), host.address().port);
    bench.put(0, Buffer.from('begin'));
    bench.sockets.send(handle, 1);
    const [, { port }] = (await once(host, 'message')) as [Buffer, AddressInfo];
    host.send(counting(500), port, '127.0.0.1');
    t.deepEqual(await bench.receive(handle, 100), counting(100));
    t.is(bench.word(0, PIECE_ERROR), EMSGSIZE);
  });

  test.serial(`${kind}: only the other end of a flow is heard`, async (t) => {
    const bench = SocketBench.for(t, open);
    const [host, stranger] = [await bindUdp(t), await bindUdp(t)];
    const handle = bench.sockets.connectUdp(address('127.0.0.1'), host.address().port);
    bench.put(0, Buffer.from('begin'));
    bench.sockets.send(handle, 1);
    const [, { port }] = (await once(host, 'message')) as [Buffer, AddressInfo];
    await new Promise((done) => {
      stranger.send('a strange word', port, '127.0.0.1', done);
    });
    host.send('from the host', port, '127.0.0.1');
    t.is(Buffer.from(await bench.receive(handle)).toString(), 'from the host');
    bench.room(0);
    t.is(bench.sockets.receive(handle, 1), -EAGAIN);
  });

  // ---- the table ----

  test.serial(`${kind}: the handle of a socket that is closed is refused everywhere`, async (t) => {
    const bench = SocketBench.for(t, open, { capacity: 1 });
    const { sockets } = bench;
    const server = await serve(t);
    const old = await bench.connect(server.port);
    sockets.resetSocket(old);
    const handle = await bench.connect(server.port);
    t.is(handle & 0xffff, old & 0xffff);
    t.not(handle, old);
    bench.put(0, counting(10));
    const calls = ['read', 'write', 'receive', 'send'] as const;
    const others = ['end', 'takeError', 'pathMtu', 'closeSocket', 'resetSocket'] as const;
    for (const gone of [old, 0, -1, handle + 1, handle | 0xffff, 2 ** 31 - 1]) {
      for (const name of calls) t.is(sockets[name](gone, 1), -EBADF, `${name} ${gone}`);
      for (const name of others) t.is(sockets[name](gone), -EBADF, `${name} ${gone}`);
    }
    t.is(sockets.write(handle, 1), 10);
    t.is(sockets.receive(handle, 1), -EBADF);
    t.is(sockets.send(handle, 1), -EBADF);
    t.is(sockets.takeError(handle), -EBADF);
  });

  test.serial(`${kind}: a UDP socket is no connection`, (t) => {
    const bench = SocketBench.for(t, open);
    const handle = bench.sockets.connectUdp(address('127.0.0.1'), 9);
    bench.put(0, counting(10));
    t.is(bench.sockets.read(handle, 1), -EBADF);
    t.is(bench.sockets.write(handle, 1), -EBADF);
    t.is(bench.sockets.end(handle), -EBADF);
  });

  test.serial(`${kind}: as many sockets are open as there are places`, (t) => {
    const bench = SocketBench.for(t, open, { capacity: 3 });
    const { sockets } = bench;
    const opened = [9, 10, 11].map((port) => sockets.connectUdp(address('127.0.0.1'), port));
    t.is(new Set(opened).size, 3);
    t.true(opened.every((handle) => handle > 0));
    t.is(sockets.connectUdp(address('127.0.0.1'), 12), -EMFILE);
    t.is(sockets.connectTcp(address('127.0.0.1'), 12), -EMFILE);
    t.is(sockets.count, 3);
    t.is(sockets.closeSocket(opened[1]!), 0);
    t.true(sockets.connectUdp(address('127.0.0.1'), 12) > 0);
    t.is(sockets.count, 3);
  });

  test.serial(`${kind}: events that found no room come with the next call`, async (t) => {
    const bench = SocketBench.for(t, open, { eventsMax: 2 });
    const server = await serve(t);
    const handles = Array.from({ length: 5 }, () =>
      bench.sockets.connectTcp(address('127.0.0.1'), server.port),
    );
    for (const _ of handles) await server.accept();
    const heard = new Set<number>();
    await soon(() => {
      const count = bench.sockets.takeEvents();
      t.true(count <= 2);
      for (let i = 0; i < count; i++) heard.add(bench.sockets.events[i * 3]!);
      return heard.size === 5 ? true : null;
    });
    t.deepEqual(heard, new Set(handles));
  });

  test.serial(`${kind}: a socket that is closed has no events`, async (t) => {
    const bench = SocketBench.for(t, open);
    const server = await serve(t);
    const handle = bench.sockets.connectTcp(address('127.0.0.1'), server.port);
    await server.accept();
    bench.sockets.resetSocket(handle);
    const other = await bench.connect(server.port);
    t.is(bench.look(handle).flags, 0);
    t.true(other > 0);
  });

  test.serial(`${kind}: an IPv6 address does not lead to loopback of IPv4`, async (t) => {
    const bench = SocketBench.for(t, open);
    const { port } = await serve(t);
    const inside = address('::ffff:127.0.0.1');
    t.is(inside.length, 16);
    t.is(bench.sockets.connectTcp(inside, port), -ENETUNREACH);
    t.is(bench.sockets.connectUdp(inside, port), -ENETUNREACH);
    t.is(bench.sockets.count, 0);
  });

  test.serial(`${kind}: pieces outside of the arenas touch nothing`, async (t) => {
    const bench = SocketBench.for(t, open);
    const server = await serve(t);
    const tcp = await bench.connect(server.port);
    const udp = bench.sockets.connectUdp(address('127.0.0.1'), 9);
    const size = bench.arena.length;
    const bad: [word: number, value: number][][] = [
      [[PIECE_ARENA, 1]],
      [[PIECE_ARENA, -1]],
      [[PIECE_OFFSET, -1]],
      [[PIECE_LENGTH, -1]],
      [[PIECE_OFFSET, size - 5]],
      [
        [PIECE_OFFSET, size + 1],
        [PIECE_LENGTH, 0],
      ],
      [
        [PIECE_OFFSET, 2 ** 31 - 1],
        [PIECE_LENGTH, 2 ** 31 - 1],
      ],
    ];
    for (const words of bad) {
      bench.put(0, counting(10));
      bench.put(1, counting(10));
      for (const [word, value] of words) bench.sockets.pieces[5 + word] = value;
      for (const name of ['read', 'write'] as const)
        t.is(bench.sockets[name](tcp, 2), -EFAULT, `${name} ${words.join()}`);
      for (const name of ['receive', 'send'] as const)
        t.is(bench.sockets[name](udp, 2), -EFAULT, `${name} ${words.join()}`);
    }
    bench.room(0, 0);
    t.is(bench.sockets.read(tcp, 1), -EFAULT);
    t.is(bench.sockets.write(tcp, 1), -EFAULT);
    for (const count of [0, 65, 1.5, NaN])
      t.throws(() => bench.sockets.read(tcp, count), { instanceOf: TypeError });
  });

  test.serial(`${kind}: no packet is found right that is not, and the addon finds some`, (t) => {
    const bench = SocketBench.for(t, open);
    const { sockets } = bench;
    const found = (packet: Uint8Array): number => {
      bench.put(0, packet);
      sockets.verify(1);
      return bench.word(0, PIECE_ERROR);
    };
    const right = kind === 'native' ? 0 : EBADMSG;
    for (const [source, destination] of [
      ['10.0.0.2', '192.0.2.1'],
      ['fd00::2', '2001:db8::1'],
    ] as const)
      for (const make of [tcp, udp])
        for (const bytes of [0, 1, 2, 3, 700, 1_401]) {
          const packet = make({ source, destination, data: counting(bytes) });
          t.is(found(packet), right);
          // Padding, and a length that lies, are for others to judge.
          t.is(found(Uint8Array.from([...packet, 0])), EBADMSG);
          t.is(found(packet.subarray(0, -1)), EBADMSG);
          const upper = source.includes(':') ? 40 : 20;
          // The destination, a port, the checksum, the last byte.
          for (const at of [upper - 1, upper, upper + (make === tcp ? 17 : 7), packet.length - 1]) {
            const broken = packet.slice();
            broken[at]! ^= 0x10;
            t.is(found(broken), EBADMSG, `${source} ${bytes} ${at}`);
          }
        }
    const ends = { source: '10.0.0.2', destination: '192.0.2.1' };
    const fragment = tcp({ ...ends, data: counting(9) });
    fragment[6]! |= 0x20;
    const plain = udp(ends);
    plain.fill(0, 26, 28);
    for (const other of [fragment, plain, echoRequest(ends.source, ends.destination)])
      t.is(found(other), EBADMSG);
    for (let length = 0; length < 60; length++)
      t.is(found(new Uint8Array(length).fill(0x45)), EBADMSG);
    bench.put(0, tcp(ends));
    bench.put(1, udp(ends));
    sockets.pieces[5 + PIECE_OFFSET] = bench.arena.length;
    sockets.verify(2);
    t.is(bench.word(1, PIECE_ERROR), EBADMSG, 'outside of the arena');
    for (const count of [0, 65, 1.5])
      if (kind === 'native') t.throws(() => sockets.verify(count), { instanceOf: TypeError });
  });

  test.serial(`${kind}: an address has 4 or 16 bytes, and a port is one`, (t) => {
    const { sockets } = SocketBench.for(t, open);
    for (const length of [0, 3, 5, 15, 17])
      t.throws(() => sockets.connectTcp(new Uint8Array(length), 9), { instanceOf: TypeError });
    for (const port of [0, -1, 65_536, 1.5])
      t.throws(() => sockets.connectUdp(address('127.0.0.1'), port), { instanceOf: TypeError });
  });

  test.serial(`${kind}: whoever closes the table closes all sockets, with RST`, async (t) => {
    const bench = new SocketBench(open);
    const server = await serve(t);
    t.true((await bench.connect(server.port)) > 0);
    bench.sockets.connectUdp(address('127.0.0.1'), 9);
    const peer = await server.accept();
    const failed = once(peer, 'error');
    peer.resume();
    bench.sockets.close();
    bench.sockets.close();
    const [error] = (await failed) as [NodeJS.ErrnoException];
    t.is(error.code, 'ECONNRESET');
    t.throws(() => bench.sockets.takeEvents(), { message: 'the sockets are closed' });
    t.throws(() => bench.sockets.connectTcp(address('127.0.0.1'), 9), {
      message: 'the sockets are closed',
    });
  });

  test.serial(`${kind}: a capacity is within its bounds`, (t) => {
    for (const capacity of [0, -1, 1.5, HOST_SOCKETS_MAX + 1])
      t.throws(() => new SocketBench(open, { capacity }), { instanceOf: TypeError });
  });

  test.serial(`${kind}: connections that come and go leave no socket`, async (t) => {
    const server = await serve(t);
    const bench = SocketBench.for(t, open);
    const kept = await bench.connect(server.port);
    for (let i = 0; i < 300; i++) {
      const handle = await bench.connect(server.port);
      t.true(handle > 0);
      (await server.accept()).destroy();
      if (i % 3 === 0) bench.sockets.closeSocket(handle);
      else bench.sockets.resetSocket(handle);
      bench.sockets.closeSocket(bench.sockets.connectUdp(address('127.0.0.1'), server.port));
    }
    t.is(bench.sockets.count, 1);
    await soon(() => (socketsTo(server.port) === 1 ? true : null));
    bench.sockets.resetSocket(kept);
    await soon(() => (socketsTo(server.port) === 0 ? true : null));
    t.is(bench.sockets.count, 0);
  });

  test.serial(`${kind}: addresses of the host are known, and special ones`, (t) => {
    const { sockets } = SocketBench.for(t, open);
    const kinds: Record<string, DestinationKind> = {
      '127.0.0.1': 'local',
      '127.255.0.9': 'local',
      '0.0.0.0': 'local',
      '0.0.0.1': 'local',
      '224.0.0.251': 'multicast',
      '239.1.2.3': 'multicast',
      '255.255.255.255': 'broadcast',
      '::': 'local',
      '::1': 'local',
      'ff02::fb': 'multicast',
      '::ffff:10.0.0.1': 'unreachable',
      '::ffff:127.0.0.1': 'unreachable',
    };
    for (const [text, wanted] of Object.entries(kinds))
      t.is(sockets.routeTo(address(text)).kind, wanted, text);
  });
}
