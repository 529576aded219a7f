// The sockets in place of a TUN, from end to end but for the tunnel: devices with TCP of their own,
// and servers of the test behind the twin's sockets.

import { createHash, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { constants } from 'node:os';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { createBatch } from '../../../dataplane/contract.ts';
import type { Lead } from '../../../dataplane/io/twin-sockets.ts';
import type { DeviceStream } from '../../../dataplane/memory/streams.ts';
import { PIECE_ERROR, PIECE_LENGTH, PIECE_WORDS } from '../../../dataplane/socket-contract.ts';
import { echoRequest, flagsOf, ip, tcp, udp, viewOf } from '../../support/dataplane/packets.ts';
import { fragmentsOf } from '../../support/dataplane/fragments.ts';
import { GATEWAY, Rig } from '../../support/tcp/rig.ts';

const { EMSGSIZE } = constants.errno;
const MIB = 1_048_576;
const HOST = '192.0.2.7';
const LAPTOP = '10.8.0.2';
const PHONE = '10.8.0.3';

/** Everything at HOST is on loopback, at the same port. */
const toLoopback: Lead = ({ address, port }) =>
  address === HOST ? { address: '127.0.0.1', port } : null;

function makeRig(t: ExecutionContext, lead = toLoopback, capacity?: number): Rig {
  const rig = new Rig(lead, capacity);
  t.teardown(() => rig.close());
  return rig;
}

async function serve(t: ExecutionContext, onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  let hasEnded = false;
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    sockets.add(socket);
    // A connection may come when the test has ended.
    if (hasEnded) socket.destroy();
    else onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    hasEnded = true;
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

async function all(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

async function failureOf(stream: DeviceStream): Promise<string> {
  const [error] = (await once(stream, 'error')) as [NodeJS.ErrnoException];
  return error.code!;
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (isSo()) return;
    await pause(10);
  }
  throw new Error(`never: ${what}`);
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('bytes pass both ways, and each half ends on its own', async (t) => {
  const rig = makeRig(t);
  const sent = randomBytes(3_000_000);
  const port = await serve(t, (socket) => {
    void all(socket).then((bytes) => socket.end(digest(bytes)));
  });
  const stream = rig.device(LAPTOP).connect(HOST, port);
  stream.end(sent);
  t.is(String(await all(stream)), digest(sent));
  t.deepEqual(rig.drops, {});
  await until('the sockets are closed', () => rig.egress.counts.sockets === 0);
});

/** A batch in memory of its own, as what another worker hands over; other memory has other bytes. */
function comeByWorker(rig: Rig): void {
  rig.taken = createBatch(MIB, 256);
  const { datagrams, packets } = rig.batches;
  for (const { bytes } of [datagrams, packets]) bytes.fill(0x53);
}

test('what another worker hands over reaches the host as it is: TCP', async (t) => {
  const rig = makeRig(t);
  comeByWorker(rig);
  const sent = randomBytes(400_000);
  const arrived = new Promise<Buffer>((resolve) => {
    void serve(t, (socket) => void all(socket).then((bytes) => resolve(bytes))).then((port) =>
      rig.device(LAPTOP).connect(HOST, port).end(sent),
    );
  });
  t.is(digest(await arrived), digest(sent));
  t.deepEqual(rig.drops, {});
});

test('a download goes on when its device takes smaller packets', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  rig.losesToDevices = (packet) => packet.length > rig.mtu;
  let socket: Socket | null = null;
  const port = await serve(t, (opened) => (socket = opened));
  const stream = laptop.connect(HOST, port);
  await once(stream, 'connect');
  await until('the host has the connection', () => socket !== null);
  rig.mtu = 1_280;
  rig.egress.deviceChanged(laptop.number);
  const sent = randomBytes(100_000);
  socket!.end(sent);
  stream.end();
  const arrived = await Promise.race([all(stream), pause(30_000, null, { ref: false })]);
  t.is(arrived === null ? 'nothing' : digest(arrived), digest(sent));
});

test('a large download arrives whole', async (t) => {
  const rig = makeRig(t);
  const sent = randomBytes(5_000_000);
  const port = await serve(t, (socket) => void socket.end(sent));
  const stream = rig.device(LAPTOP).connect(HOST, port);
  stream.end();
  t.is(digest(await all(stream)), digest(sent));
});

test('packets that are lost are sent again', async (t) => {
  const rig = makeRig(t);
  let count = 0;
  rig.losesToDevices = () => count++ % 20 === 19;
  const sent = randomBytes(400_000);
  const port = await serve(t, (socket) => void socket.end(sent));
  const stream = rig.device(LAPTOP).connect(HOST, port);
  stream.end();
  t.is(digest(await all(stream)), digest(sent));
  t.true(rig.egress.counts.retransmitted > 0);
});

test('a SYN is answered when the host has answered: refused, unreachable, or accepted', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const free = await serve(t, () => undefined);
  const accepted = laptop.connect(HOST, free);
  await once(accepted, 'connect');
  t.is(await failureOf(laptop.connect(HOST, 1)), 'ECONNREFUSED');
  t.is(await failureOf(laptop.connect('192.0.2.99', 80)), 'EHOSTUNREACH');
});

test('a host that resets a connection resets that of the device', async (t) => {
  const rig = makeRig(t);
  const port = await serve(t, (socket) => socket.once('data', () => socket.resetAndDestroy()));
  const stream = rig.device(LAPTOP).connect(HOST, port);
  stream.write('go away');
  t.is(await failureOf(stream), 'ECONNRESET');
  await until('the socket is closed', () => rig.egress.counts.sockets === 0);
});

test('a device that resets a connection resets that of the host', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const failed: string[] = [];
  const port = await serve(t, (socket) => {
    socket.resume();
    socket.on('error', (error: NodeJS.ErrnoException) => failed.push(error.code!));
  });
  const ends = { source: LAPTOP, destination: HOST, sourcePort: 9_000, destinationPort: port };
  laptop.send(tcp({ ...ends, flags: flagsOf('S'), sequence: 100 }));
  const answer = viewOf(await laptop.packet());
  const numbers = { sequence: 101, acknowledgement: (answer.getUint32(24) + 1) >>> 0 };
  laptop.send(tcp({ ...ends, ...numbers, flags: flagsOf('A') }));
  await until('the host has the connection', () => rig.egress.counts.connecting === 0);
  laptop.send(tcp({ ...ends, ...numbers, flags: flagsOf('R') }));
  await until('the host has heard of it', () => failed.length === 1);
  t.deepEqual(failed, ['ECONNRESET']);
  t.is(rig.egress.counts.sockets, 0);
});

test('what nobody reads closes the window, and nothing is lost', async (t) => {
  const rig = makeRig(t);
  let reader: Socket | null = null;
  const port = await serve(t, (socket) => {
    socket.pause();
    reader = socket;
  });
  const sent = randomBytes(6_000_000);
  const stream = rig.device(LAPTOP).connect(HOST, port);
  stream.end(sent);
  await until('the host has it', () => reader !== null);
  await pause(1_000);
  t.true(rig.egress.counts.bufferedBytes <= 4 * 1_048_576);
  t.is(digest(await all(reader!)), digest(sent));
  await until('the memory is free', () => rig.egress.counts.bufferedBytes === 0);
});

test('connections that a device does not read leave memory to its next one', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const bytes = randomBytes(1_000_000);
  const port = await serve(t, (socket) => void socket.end(bytes));
  for (let i = 0; i < 30; i++) await once(laptop.connect(HOST, port), 'connect');
  await until('they have filled what they may', () => rig.egress.counts.bufferedBytes > MIB);
  await pause(500);
  t.true(rig.egress.counts.bufferedBytes <= 2 * MIB, 'a quarter of the pool');
  const stream = laptop.connect(HOST, port);
  stream.end();
  const arrived = await Promise.race([all(stream), pause(5_000, null, { ref: false })]);
  t.is(arrived === null ? 'nothing' : digest(arrived), digest(bytes));
});

test('the host itself is never reached', async (t) => {
  const asked: string[] = [];
  const rig = makeRig(t, ({ address, port }) => {
    asked.push(address);
    return { address, port };
  });
  const laptop = rig.device(LAPTOP);
  for (const address of [
    '127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
  ]) {
    laptop.send(tcp({ source: LAPTOP, destination: address, flags: flagsOf('S') }));
    laptop.send(udp({ source: LAPTOP, destination: address, data: 'x' }));
  }
  await pause(50);
  t.deepEqual(asked, []);
  t.is(rig.egress.counts.sockets, 0);
  t.deepEqual(rig.drops, { inner_destination_host: 10 });
});

test('10,000 SYNs and RSTs leave nothing behind', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const port = await serve(t, () => undefined);
  for (let i = 0; i < 10_000; i += 20) {
    const ports = Array.from({ length: 20 }, (_, k) => 10_000 + i + k);
    const ends = { source: LAPTOP, destination: HOST, destinationPort: port, sequence: 9 };
    laptop.send(...ports.map((sourcePort) => tcp({ ...ends, sourcePort, flags: flagsOf('S') })));
    laptop.send(
      ...ports.map((sourcePort) => tcp({ ...ends, sourcePort, flags: flagsOf('R'), sequence: 10 })),
    );
    if (i % 1_000 === 0) await pause(1);
  }
  await until('all are gone', () => rig.egress.counts.connections === 0);
  t.is(rig.egress.counts.sockets, 0);
  t.is(rig.egress.counts.connecting, 0);
});

test('connections that end abruptly leave nothing behind, whoever ends them', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  // The host ends every second one, the device the others; bytes are on their way both ways.
  let hosts = 0;
  const port = await serve(t, (socket) => {
    socket.on('data', () => undefined);
    socket.write(Buffer.alloc(40_000));
    if (hosts++ % 2 === 0) socket.resetAndDestroy();
  });
  for (let round = 0; round < 20; round++) {
    const streams = Array.from({ length: 30 }, () => {
      const stream = laptop.connect(HOST, port);
      stream.on('error', () => undefined);
      stream.once('connect', () => stream.write(Buffer.alloc(5_000), () => stream.destroy()));
      return new Promise((resolve) => void stream.once('close', resolve));
    });
    await Promise.all(streams);
    await until('all sockets are closed', () => rig.egress.counts.sockets === 0);
  }
  await until('all connections are gone', () => rig.egress.counts.connections === 0);
  t.is(rig.egress.counts.bufferedBytes, 0);
  t.deepEqual(rig.drops, {});
});

test('a device that asks for silent hosts delays no other, and learns why it waits', async (t) => {
  const silent = await echoServer(t);
  const lead: Lead = (spot) =>
    spot.address === '192.0.2.8' ? { address: '127.0.0.1', port: silent } : toLoopback(spot);
  const rig = makeRig(t, lead, 1_024);
  const { sockets } = rig.egress;
  const connectTcp = sockets.connectTcp.bind(sockets);
  // A socket of UDP hears nothing until it has said something.
  sockets.connectTcp = (address, port) =>
    address.at(-1) === 8 ? sockets.connectUdp(address, port) : connectTcp(address, port);
  const laptop = rig.device(LAPTOP);
  const phone = rig.device(PHONE);
  const ends = { source: LAPTOP, destination: '192.0.2.8', destinationPort: 80, sequence: 1 };
  for (let sourcePort = 20_000; sourcePort < 20_200; sourcePort++)
    laptop.send(tcp({ ...ends, sourcePort, flags: flagsOf('S') }));
  t.is(rig.drops['connecting_full'], 72);
  const port = await serve(t, (socket) => void socket.end('here'));
  const stream = phone.connect(HOST, port);
  stream.end();
  t.is(String(await all(stream)), 'here');
});

test('a rule that forbids it ends a connection: the host gets RST and no byte more', async (t) => {
  const rig = makeRig(t);
  const got: Buffer[] = [];
  const failed: string[] = [];
  const port = await serve(t, (socket) => {
    socket.on('data', (data: Buffer) => got.push(data));
    socket.on('error', (error: NodeJS.ErrnoException) => failed.push(error.code!));
  });
  const stream = rig.device(LAPTOP).connect(HOST, port);
  stream.write('before');
  await until('it has come', () => Buffer.concat(got).length === 6);
  stream.on('error', () => undefined);
  rig.forbidden.add(`0 ${HOST}`);
  rig.egress.rulesChanged();
  stream.write('after');
  await until('the host has heard of it', () => failed.length === 1);
  t.is(String(Buffer.concat(got)), 'before');
  t.is(rig.egress.counts.sockets, 0);
  t.is(rig.egress.counts.connections, 0);
});

test('a host that a change forbids is not asked, however long its SYN has waited', async (t) => {
  const asked: string[] = [];
  const rig: Rig = makeRig(t, ({ address }) => {
    asked.push(address);
    rig.forbidden.add(`0 ${HOST}`);
    rig.egress.rulesChanged();
    return null;
  });
  const laptop = rig.device(LAPTOP);
  const ends = { source: LAPTOP, destination: HOST, sequence: 1, flags: flagsOf('S') };
  laptop.send(...[1, 2, 3].map((sourcePort) => tcp({ ...ends, sourcePort })));
  t.deepEqual(asked, [HOST]);
  await until('all are gone', () => rig.egress.counts.connections === 0);
});

test('a device that is removed leaves no socket', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const port = await serve(t, () => undefined);
  await once(laptop.connect(HOST, port), 'connect');
  laptop.send(udp({ source: LAPTOP, destination: HOST, destinationPort: port, data: 'x' }));
  t.is(rig.egress.counts.sockets, 2);
  rig.egress.removeDevice(laptop.number);
  t.deepEqual(rig.egress.counts, {
    sockets: 0,
    connections: 0,
    connecting: 0,
    udp: 0,
    echo: 0,
    retransmitted: 0,
    bufferedBytes: 0,
  });
});

// ---- UDP and the rest --------------------------------------------------------------------------

async function echoServer(t: ExecutionContext): Promise<number> {
  const socket = createSocket('udp4');
  socket.on('message', (bytes, { port, address }) => socket.send(bytes, port, address));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  return socket.address().port;
}

test('what another worker hands over reaches the host as it is: UDP', async (t) => {
  const rig = makeRig(t);
  comeByWorker(rig);
  const destinationPort = await echoServer(t);
  const ends = { source: LAPTOP, destination: HOST, sourcePort: 5_000, destinationPort };
  // More than the memory that packets are copied to has places for.
  const texts = Array.from({ length: 200 }, (_, i) => `datagram ${i}`);
  const laptop = rig.device(LAPTOP);
  // The twin opens the socket, and then those that come later need not wait.
  laptop.send(udp({ ...ends, data: 'first' }));
  await laptop.packet();
  laptop.send(...texts.map((data) => udp({ ...ends, data })));
  const back: string[] = [];
  for (const _ of texts) back.push(String(Buffer.from(await laptop.packet()).subarray(28)));
  t.deepEqual(back, texts);
});

test('a batch is copied only where nobody uses that of packets', (t) => {
  const rig = makeRig(t);
  comeByWorker(rig);
  const laptop = rig.device(LAPTOP);
  rig.batches.packets.count = 1;
  const packet = udp({ source: LAPTOP, destination: HOST, data: 'x' });
  t.throws(() => laptop.send(packet), { message: /in use/ });
});

test('datagrams go and come back, each flow by a socket of its own', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const destinationPort = await echoServer(t);
  const ends = { source: LAPTOP, destination: HOST, destinationPort };
  laptop.send(udp({ ...ends, sourcePort: 5_000, data: 'one' }));
  laptop.send(udp({ ...ends, sourcePort: 5_001, data: '' }));
  const back = { source: HOST, destination: LAPTOP, sourcePort: destinationPort };
  const packets = [await laptop.packet(), await laptop.packet()].toSorted(
    (a, b) => viewOf(a).getUint16(22) - viewOf(b).getUint16(22),
  );
  for (const [i, data] of ['one', ''].entries()) {
    const expected = udp({ ...back, destinationPort: 5_000 + i, data });
    t.deepEqual(packets[i]!.subarray(12), expected.subarray(12));
    // It may be fragmented on its way.
    t.is(viewOf(packets[i]!).getUint16(6), 0);
  }
  t.is(rig.egress.counts.udp, 2);
});

test('datagrams of a flow leave by one call, whatever comes between them', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const destinationPort = await echoServer(t);
  const ends = { source: LAPTOP, destination: HOST, destinationPort };
  const { sockets } = rig.egress;
  const calls: number[] = [];
  const send = sockets.send.bind(sockets);
  sockets.send = (handle, count) => {
    calls.push(count);
    return send(handle, count);
  };
  const packets = Array.from({ length: 12 }, (_, i) =>
    udp({ ...ends, sourcePort: 5_000 + (i % 2), data: `${i}` }),
  );
  laptop.send(...packets);
  t.deepEqual(calls, [6, 6]);
  const got: Record<number, string> = { 5_000: '', 5_001: '' };
  for (let i = 0; i < packets.length; i++) {
    const packet = await laptop.packet();
    got[viewOf(packet).getUint16(22)] += `${Buffer.from(packet.subarray(28)).toString()} `;
  }
  t.deepEqual(got, { 5_000: '0 2 4 6 8 10 ', 5_001: '1 3 5 7 9 11 ' });
});

test('a datagram that is larger than the device takes comes in fragments', async (t) => {
  const rig = makeRig(t);
  rig.mtu = 1_280;
  const laptop = rig.device(LAPTOP);
  const destinationPort = await echoServer(t);
  const data = randomBytes(4_000);
  const whole = udp({ source: LAPTOP, destination: HOST, sourcePort: 7, destinationPort, data });
  laptop.send(...fragmentsOf(whole, 1_000));
  const parts: Buffer[] = [];
  let hasMore = true;
  while (hasMore) {
    const packet = Buffer.from(await laptop.packet());
    t.true(packet.length <= 1_280);
    hasMore = (packet.readUInt16BE(6) & 0x2000) !== 0;
    parts.push(packet.subarray(20));
  }
  t.deepEqual(Buffer.concat(parts).subarray(8), data);
});

test('what is larger than the network of the host leaves in fragments, if it may', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const destinationPort = await echoServer(t);
  const { sockets } = rig.egress;
  const send = sockets.send.bind(sockets);
  const mtu = 1_300;
  let fragmented = 0;
  sockets.sendFragmented = (handle) => {
    fragmented++;
    return send(handle, 1);
  };
  sockets.pathMtu = () => mtu;
  sockets.send = (handle, count) => {
    const isLarge = (i: number): boolean =>
      sockets.pieces[i * PIECE_WORDS + PIECE_LENGTH]! > mtu - 28;
    for (let i = 0; i < count; i++)
      sockets.pieces[i * PIECE_WORDS + PIECE_ERROR] = isLarge(i) ? EMSGSIZE : 0;
    return isLarge(0) ? 0 : send(handle, count);
  };
  const ends = { source: LAPTOP, destination: HOST, sourcePort: 7, destinationPort };
  const data = randomBytes(1_350);
  const whole = udp({ ...ends, data, fragment: 0 });
  const fixed = udp({ ...ends, data, fragment: 0x4000 });
  laptop.send(...fragmentsOf(whole, 1_000));
  t.deepEqual(Buffer.from(await laptop.packet()).subarray(28), data, 'it came in fragments');
  laptop.send(whole);
  t.deepEqual(Buffer.from(await laptop.packet()).subarray(28), data, 'it has no DF');
  t.is(fragmented, 2);
  laptop.send(fixed);
  const answer = Buffer.from(await laptop.packet());
  t.deepEqual([answer[9], answer[20], answer[21], answer.readUInt16BE(26)], [1, 3, 4, mtu]);
  t.is(fragmented, 2);
});

test('a device learns that a UDP port is refused', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  laptop.send(
    udp({ source: LAPTOP, destination: HOST, sourcePort: 5_000, destinationPort: 1, data: 'x' }),
  );
  const packet = Buffer.from(await laptop.packet());
  t.deepEqual([...packet.subarray(20, 22)], [3, 3]);
  t.is(packet.subarray(12, 16).join('.'), HOST);
  t.is(packet.readUInt16BE(28 + 20), 5_000);
});

test('an answer to a question of a resolver ends its flow', async (t) => {
  const port = await echoServer(t);
  const rig = makeRig(t, () => ({ address: '127.0.0.1', port }));
  const laptop = rig.device(LAPTOP);
  const question = { source: LAPTOP, destination: HOST, sourcePort: 5_000, destinationPort: 53 };
  laptop.send(udp({ ...question, data: 'A' }), udp({ ...question, data: 'AAAA' }));
  await laptop.packet();
  await laptop.packet();
  t.is(rig.egress.counts.sockets, 0);
});

test('flows of UDP are no more than the ports that they may have', async (t) => {
  const rig = new Rig(toLoopback, 1_024, 256);
  t.teardown(() => rig.close());
  const destinationPort = await echoServer(t);
  for (const address of [LAPTOP, PHONE]) {
    const device = rig.device(address);
    const ends = { source: address, destination: HOST, destinationPort };
    for (let sourcePort = 1_000; sourcePort < 1_070; sourcePort++)
      device.send(udp({ ...ends, sourcePort, data: 'x' }));
  }
  t.is(rig.egress.counts.udp, 2 * 64);
  t.is(rig.drops['egress_full'], 2 * 6);
});

test('a device that asks for many flows at once leaves some for others', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const phone = rig.device(PHONE);
  const destinationPort = await echoServer(t);
  const many = Array.from({ length: 100 }, (_, i) => {
    const ends = { source: LAPTOP, destination: '192.0.2.99', sourcePort: 1_000 + i };
    return { device: laptop.number, packet: udp({ ...ends, destinationPort, data: 'x' }) };
  });
  const one = udp({ source: PHONE, destination: HOST, sourcePort: 7, destinationPort, data: 'me' });
  rig.takeAll(...many, { device: phone.number, packet: one });
  t.is(Buffer.from(await phone.packet()).toString('utf8', 28), 'me');
  t.deepEqual(rig.drops, { egress_full: 68 });
});

test('what no socket carries is refused with its reason', (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  laptop.send(ip({ source: LAPTOP, destination: HOST, protocol: 47, payload: new Uint8Array(8) }));
  laptop.send(echoRequest(LAPTOP, HOST));
  t.deepEqual(rig.drops, { no_socket_for_protocol: 2 });
});

test('broken packets are refused before anybody is asked', (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  const break_ = (packet: Uint8Array): Uint8Array => {
    const copy = packet.slice();
    copy[copy.length - 1]! ^= 1;
    return copy;
  };
  const ends = { source: LAPTOP, destination: HOST };
  laptop.send(break_(tcp({ ...ends, flags: flagsOf('S'), data: 'xy' })));
  laptop.send(break_(udp({ ...ends, data: 'xy' })));
  laptop.send(udp({ ...ends, destinationPort: 0, data: 'xy' }));
  laptop.send(tcp({ ...ends, destinationPort: 0, flags: flagsOf('S') }));
  t.deepEqual(rig.drops, { inner_tcp_malformed: 2, inner_udp_malformed: 2 });
  t.is(rig.egress.counts.connections, 0);
});

test('the last hop is this gateway, and it says so', async (t) => {
  const rig = makeRig(t);
  const laptop = rig.device(LAPTOP);
  laptop.send(
    udp({ source: LAPTOP, destination: HOST, sourcePort: 33_000, hopLimit: 1, data: 'x' }),
  );
  const packet = Buffer.from(await laptop.packet());
  t.deepEqual([...packet.subarray(20, 22)], [11, 0]);
  t.is(packet.subarray(12, 16).join('.'), GATEWAY);
  t.is(packet.readUInt16BE(28 + 20), 33_000);
});

test('a device has its share of the sockets, and no more', async (t) => {
  const rig = makeRig(t, toLoopback, 64);
  const laptop = rig.device(LAPTOP);
  const destinationPort = await echoServer(t);
  for (let sourcePort = 1_000; sourcePort < 1_040; sourcePort++)
    laptop.send(udp({ source: LAPTOP, destination: HOST, sourcePort, destinationPort, data: 'x' }));
  t.is(rig.egress.counts.sockets, 16);
  t.is(rig.drops['egress_full'], 24);
});
