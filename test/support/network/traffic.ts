// Traffic for end-to-end tests, run on a host as a program of its own:
//
//   traffic.ts receive PORT                 takes one TCP stream; prints {"bytes","sha256"}, and
//                                           while it comes {"at","pausedMs"}: when some came, and
//                                           the longest wait for any so far
//   traffic.ts send HOST PORT BYTES         sends one; prints its {"bytes","sha256"}
//   traffic.ts trickle HOST PORT EVERY_MS [COUNT]   sends a stream in so many pieces, or until its
//                                           input ends; prints the same
//   traffic.ts echo PORT ADDRESS...         answers every UDP datagram with itself
//   traffic.ts ask HOST PORT SIZE COUNT     sends datagrams to an echo; prints {"answered"}
//   traffic.ts watch PORT ADDRESS...        prints {"to","from","number","at","sent"} of each datagram
//   traffic.ts beacon PORT EVERY_MS HOST... sends a numbered datagram to each host, again and again
//   traffic.ts accept PORT...               accepts TCP connections and closes them
//   traffic.ts reach HOST PORT              exits 0 when `accept` there answers within 1 s
//   traffic.ts listen PORT                  accepts TCP connections, and neither reads nor ends them
//   traffic.ts crowd HOST PORT COUNT        opens so many TCP connections and keeps them; prints
//                                           {"opened","ended"}: how many of those ended again
//   traffic.ts pace PORT EVERY_MS [HOST]    sends numbered datagrams at a pace until its input ends,
//                                           and takes those of the other end, which is HOST or who
//                                           comes first; prints {"sent","received"}, delays in ms,
//                                           the longest time without one, how many were late and
//                                           how many times that began
//   traffic.ts fire HOST PORT FILE          sends the datagrams of a file (base64 lines), prints
//                                           {"answers"} after half a second of listening

import { createCipheriv, createHash, type Hash } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Socket as TcpSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const CHUNK_BYTES = 1024 * 1024;
/** A beacon: its number, the Unix time in ms at which it was sent, and zeros. */
const BEACON_BYTES = 64;
/** A datagram that takes longer has met a stall. */
const STALL_MS = 20;
/** Between fifty connections of a crowd. */
const CROWD_PAUSE_MS = 50;
/** So many datagrams fit the smallest receive buffer on their way, and so long they have to pass. */
const FIRED_AT_ONCE = 25;
const FIRE_PAUSE_MS = 10;
/** After the last one: a relay ends those that it has no room for. */
const CROWD_SETTLES_MS = 1_500;
/** How often the receiver of a stream tells that it comes. */
const TELL_MS = 100;

const programs: Record<string, (args: string[]) => Promise<void>> = {
  receive,
  send,
  trickle,
  echo,
  ask,
  watch,
  beacon,
  pace,
  accept,
  reach,
  listen,
  crowd,
  fire,
};

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

async function receive([port]: string[]): Promise<void> {
  const server = createServer();
  server.listen(Number(port), '::');
  await once(server, 'listening');
  print({ ready: true });
  const [socket] = (await once(server, 'connection')) as [TcpSocket];
  server.close();
  const hash = createHash('sha256');
  let bytes = 0;
  let pausedMs = 0;
  let cameMs = Date.now();
  let toldMs = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    const at = Date.now();
    pausedMs = Math.max(pausedMs, at - cameMs);
    cameMs = at;
    if (at - toldMs < TELL_MS) continue;
    toldMs = at;
    print({ at, pausedMs });
  }
  print({ bytes, sha256: hash.digest('hex') });
}

async function send([host, port, size]: string[]): Promise<void> {
  const socket = connect(Number(port), host ?? '');
  await once(socket, 'connect');
  const hash: Hash = createHash('sha256');
  // A key stream: every byte differs from run to run, and it is as fast as the hash.
  const stream = createCipheriv(
    'aes-128-ctr',
    Buffer.alloc(16, Date.now() & 0xff),
    Buffer.alloc(16),
  );
  const zeros = Buffer.alloc(CHUNK_BYTES);
  const bytes = Number(size);
  for (let left = bytes; left > 0; left -= CHUNK_BYTES) {
    const chunk = stream.update(left < CHUNK_BYTES ? zeros.subarray(0, left) : zeros);
    hash.update(chunk);
    if (!socket.write(chunk)) await once(socket, 'drain');
  }
  socket.end();
  await once(socket, 'close');
  print({ bytes, sha256: hash.digest('hex') });
}

async function trickle([host, port, everyMs, count]: string[]): Promise<void> {
  const socket = connect(Number(port), host ?? '');
  await once(socket, 'connect');
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(1_000);
  let isOver = false;
  if (count === undefined) process.stdin.on('end', () => (isOver = true)).resume();
  let number = 0;
  for (; !isOver && number < Number(count ?? Infinity); number++) {
    chunk.writeUInt32BE(number);
    hash.update(chunk);
    socket.write(Buffer.from(chunk));
    await sleep(Number(everyMs));
  }
  socket.end();
  await once(socket, 'close');
  print({ bytes: number * chunk.length, sha256: hash.digest('hex') });
}

async function echo([port, ...addresses]: string[]): Promise<void> {
  // Bound to its address, an answer leaves from the address that was asked.
  for (const address of addresses) {
    const socket = await bind(Number(port), address);
    socket.on('message', (bytes, from) => socket.send(bytes, from.port, from.address));
  }
  print({ ready: true });
}

async function ask([host = '', port, size, count]: string[]): Promise<void> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const answered = new Set<number>();
  socket.on('message', (bytes) => {
    if (bytes.length === Number(size)) answered.add(bytes.readUInt32BE(0));
  });
  for (let number = 0; number < Number(count); number++) {
    const bytes = Buffer.alloc(Number(size), number & 0xff);
    bytes.writeUInt32BE(number);
    socket.send(bytes, Number(port), host);
    await sleep(2);
  }
  for (let waits = 0; answered.size < Number(count) && waits < 20; waits++) await sleep(100);
  print({ answered: answered.size });
  socket.close();
}

async function watch([port, ...addresses]: string[]): Promise<void> {
  for (const to of addresses) {
    const socket = await bind(Number(port), to);
    socket.on('message', (bytes, { address }) => {
      const sent = bytes.length === BEACON_BYTES ? bytes.readDoubleBE(4) : null;
      print({ to, from: address, number: bytes.readUInt32BE(0), at: Date.now(), sent });
    });
  }
  print({ ready: true });
}

async function beacon([port, everyMs, ...hosts]: string[]): Promise<void> {
  const sockets = hosts.map((host) => createSocket(host.includes(':') ? 'udp6' : 'udp4'));
  for (const socket of sockets) socket.on('error', () => undefined);
  for (let number = 0; ; number++) {
    const bytes = Buffer.alloc(BEACON_BYTES);
    bytes.writeUInt32BE(number);
    bytes.writeDoubleBE(Date.now(), 4);
    for (const [i, host] of hosts.entries())
      sockets[i]!.send(bytes, Number(port), host, () => undefined);
    await sleep(Number(everyMs));
  }
}

/** Both ends run on one machine, so that its monotonic clock is that of both. */
async function pace([port, everyMs, host]: string[]): Promise<void> {
  const socket = await bind(Number(port), '0.0.0.0');
  const delays = new Map<number, number>();
  let cameMs = Number.POSITIVE_INFINITY;
  let gapMs = 0;
  socket.on('message', (bytes) => {
    const now = monotonicMs();
    delays.set(bytes.readUInt32BE(0), now - bytes.readDoubleBE(4));
    gapMs = Math.max(gapMs, now - cameMs);
    cameMs = now;
  });
  let isOver = false;
  process.stdin.on('end', () => (isOver = true)).resume();
  print({ ready: true });
  const other =
    host === undefined
      ? ((await once(socket, 'message')) as [Buffer, { address: string; port: number }])[1]
      : { address: host, port: Number(port) };
  const bytes = Buffer.alloc(200);
  const began = monotonicMs();
  let number = 0;
  for (; !isOver; number++) {
    bytes.writeUInt32BE(number);
    bytes.writeDoubleBE(monotonicMs(), 4);
    socket.send(Buffer.from(bytes), other.port, other.address, () => undefined);
    await sleep(Math.max(0, began + (number + 1) * Number(everyMs) - monotonicMs()));
  }
  await sleep(1_000);
  const sorted = [...delays.values()].sort((a, b) => a - b);
  print({
    sent: number,
    received: sorted.length,
    gapMs,
    medianMs: sorted[sorted.length >> 1],
    p99Ms: sorted[Math.floor(sorted.length * 0.99)],
    maxMs: sorted.at(-1),
    late: sorted.filter((ms) => ms > STALL_MS).length,
    stalls: stalls(delays),
  });
  socket.close();
}

/** How many times datagrams began to be late. @param delays in ms, by the datagram's number */
function stalls(delays: ReadonlyMap<number, number>): number {
  const isLate = (number: number): boolean => (delays.get(number) ?? 0) > STALL_MS;
  return [...delays.keys()].filter((number) => isLate(number) && !isLate(number - 1)).length;
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

async function accept(ports: string[]): Promise<void> {
  for (const port of ports) {
    const server = createServer((socket) => socket.end());
    server.listen(Number(port), '::');
    await once(server, 'listening');
  }
  print({ ready: true });
}

async function listen([port]: string[]): Promise<void> {
  const server = createServer({ pauseOnConnect: true });
  server.listen(Number(port), '::');
  await once(server, 'listening');
  print({ ready: true });
}

async function crowd([host, port, count]: string[]): Promise<void> {
  let opened = 0;
  let ended = 0;
  for (let i = 0; i < Number(count); i++) {
    const socket = connect(Number(port), host ?? '');
    socket.on('connect', () => opened++);
    socket.on('error', () => undefined);
    socket.on('close', () => ended++);
    // So many at once that no queue of a kernel is full.
    if (i % 50 === 49) await sleep(CROWD_PAUSE_MS);
  }
  await sleep(CROWD_SETTLES_MS);
  print({ opened, ended });
  await once(process.stdin.resume(), 'end');
}

async function reach([host, port]: string[]): Promise<void> {
  const socket = connect(Number(port), host ?? '');
  socket.resume();
  // A relay takes a connection before the other end does, so that one must have ended it.
  const ended = await Promise.race([
    once(socket, 'end').then(
      () => true,
      () => false,
    ),
    sleep(1_000, false),
  ]);
  process.exit(ended ? 0 : 1);
}

async function fire([host = '', port, file = '']: string[]): Promise<void> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  let answers = 0;
  socket.on('message', () => answers++);
  for (const [i, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (line !== '') socket.send(Buffer.from(line, 'base64'), Number(port), host);
    if (i % FIRED_AT_ONCE === FIRED_AT_ONCE - 1) await sleep(FIRE_PAUSE_MS);
  }
  await sleep(500);
  print({ answers });
  socket.close();
}

async function bind(port: number, address?: string): Promise<Socket> {
  const isIpv4 = address !== undefined && !address.includes(':');
  const socket = createSocket(isIpv4 ? 'udp4' : 'udp6');
  socket.bind(port, address);
  await once(socket, 'listening');
  return socket;
}

const [, , name = '', ...args] = process.argv;
await programs[name]?.(args);
