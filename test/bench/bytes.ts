// Whether a byte is wrong, where packets leave by sockets of the gateway:
// `test/apart.sh node test/bench/bytes.ts [--gigabytes N --connections N --seed N --record]`.
//
// The client is wireguard-go. So many connections at a time, by IPv4 and IPv6, carry bytes both ways,
// between 1 kB and 1 GB each way. Each end makes the bytes of the other one again from the seed
// (AES-128 in counter mode) and compares; a reader rests now and then, so that windows close. Both ends
// close their half when they have sent all. The bar: no wrong, missing or further byte.

import type { ChildProcess } from 'node:child_process';
import { createCipheriv, createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { enrol } from '../e2e/people.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  LAN6,
  letPing,
} from '../support/network/topology.ts';
import { reportHead } from './gateways.ts';
import { keepResult } from './results.ts';

const PORT = 7_100;
const BLOCK = Buffer.alloc(65_536);
const SMALLEST = 1e3;
const LARGEST = 1e9;
const HEADER_BYTES = 20;
/** The server's last byte: all bytes of the client were right. */
const RIGHT = 0x6b;

const { values } = parseArgs({
  options: {
    gigabytes: { type: 'string', default: '100' },
    connections: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
    record: { type: 'boolean', default: false },
    part: { type: 'string', default: 'all' },
  },
});
const gigabytes = Number(values.gigabytes);

/** 16 bytes that only this seed, connection and use have. */
function draw(connection: number, use: string): Buffer {
  const words = `${values.seed} ${connection} ${use}`;
  return createHash('sha256').update(words).digest().subarray(0, 16);
}

/** A size between the smallest and the largest, each power of ten as likely as the next. */
function sizeOf(connection: number, use: string): number {
  const part = draw(connection, `size ${use}`).readUInt32LE() / 2 ** 32;
  return Math.round(SMALLEST * (LARGEST / SMALLEST) ** part);
}

/** The bytes of one direction of a connection; each call gives the next ones. */
function bytesOf(connection: number, way: string): (length: number) => Buffer {
  const cipher = createCipheriv('aes-128-ctr', draw(connection, way), BLOCK.subarray(0, 16));
  return (length) => {
    const zeros = length <= BLOCK.length ? BLOCK.subarray(0, length) : Buffer.alloc(length);
    return cipher.update(zeros);
  };
}

async function send(socket: Socket, connection: number, way: string, size: number): Promise<void> {
  const next = bytesOf(connection, way);
  for (let left = size; left > 0;) {
    const length = Math.min(left, BLOCK.length);
    left -= length;
    if (!socket.write(next(length))) await once(socket, 'drain');
  }
}

/** Compares what comes, chunk by chunk. */
class Comparison {
  readonly #next: (length: number) => Buffer;
  readonly #name: string;
  #left: number;

  constructor(connection: number, way: string, size: number) {
    this.#next = bytesOf(connection, way);
    this.#name = `connection ${connection} ${way}`;
    this.#left = size;
  }

  /** Takes the bytes of this direction; what is behind them is given back. */
  take(chunk: Buffer): Buffer {
    const mine = chunk.subarray(0, this.#left);
    this.#left -= mine.length;
    if (!mine.equals(this.#next(mine.length)))
      throw new Error(`${this.#name}: a wrong byte, ${this.#left} bytes before the last`);
    return chunk.subarray(mine.length);
  }

  get left(): number {
    return this.#left;
  }
}

/** A reader rests for some ms before one chunk of so many. */
const RESTS = { every: 512, ms: 20 };

/** Reads to the end of the other's half. Gives what came after the bytes of this direction. */
async function receive(
  chunks: AsyncIterable<Buffer>,
  connection: number,
  way: string,
  size: number,
): Promise<Buffer> {
  const comparison = new Comparison(connection, way, size);
  const behind: Buffer[] = [];
  let count = 0;
  for await (const chunk of chunks) {
    const rest = comparison.take(chunk);
    // An empty rest would keep the memory of its chunk.
    if (rest.length > 0) behind.push(rest);
    count += 1;
    if (count % RESTS.every === 0) await sleep(RESTS.ms);
  }
  if (comparison.left > 0)
    throw new Error(`connection ${connection} ${way}: ${comparison.left} bytes are missing`);
  return Buffer.concat(behind);
}

function onlyBytes(behind: Buffer, expected: readonly number[], connection: number): void {
  if (!behind.equals(Buffer.from(expected)))
    throw new Error(`connection ${connection}: ${behind.length} further bytes`);
}

/** One connection at the host in the lan. */
async function answer(socket: Socket): Promise<void> {
  const chunks = socket.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  let head = Buffer.alloc(0);
  while (head.length < HEADER_BYTES) {
    const { value, done = false } = await chunks.next();
    if (done) throw new Error('no header came');
    head = Buffer.concat([head, value as Buffer]);
  }
  const connection = head.readUInt32LE();
  async function* rest(): AsyncGenerator<Buffer> {
    yield head.subarray(HEADER_BYTES);
    yield* chunks;
  }
  const [behind] = await Promise.all([
    receive(rest(), connection, 'up', sizeOf(connection, 'up')),
    send(socket, connection, 'down', sizeOf(connection, 'down')),
  ]);
  onlyBytes(behind, [], connection);
  socket.end(Buffer.of(RIGHT));
}

async function serve(): Promise<void> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    answer(socket).catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      socket.resetAndDestroy();
    });
  });
  server.listen(PORT, '::');
  await once(server, 'listening');
  process.stdout.write('ready\n');
}

/** One connection of the device. Bytes that were right, both ways. */
async function exchange(connection: number): Promise<number> {
  const host = connection % 2 === 0 ? LAN4 : LAN6;
  const socket = connect({ host, port: PORT, allowHalfOpen: true });
  await once(socket, 'connect');
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32LE(connection);
  socket.write(head);
  const up = sizeOf(connection, 'up');
  const down = sizeOf(connection, 'down');
  const [behind] = await Promise.all([
    receive(socket, connection, 'down', down),
    send(socket, connection, 'up', up).then(() => socket.end()),
  ]);
  onlyBytes(behind, [RIGHT], connection);
  return up + down;
}

/** On the device: prints how many bytes and connections were right, as JSON. */
async function ask(): Promise<void> {
  let bytes = 0;
  let begun = 0;
  let ended = 0;
  let saidAt = 0;
  const worker = async (): Promise<void> => {
    while (bytes < gigabytes * 1e9) {
      begun += 1;
      const right = await exchange(begun);
      bytes += right;
      ended += 1;
      if (performance.now() - saidAt < 10_000) continue;
      saidAt = performance.now();
      process.stderr.write(
        `${(bytes / 1e9).toFixed(1)} of ${gigabytes} GB, ${ended} connections\n`,
      );
    }
  };
  await Promise.all(Array.from({ length: Number(values.connections) }, worker));
  process.stdout.write(JSON.stringify({ bytes, ended }));
}

/** All that a program prints. Throws where it fails. */
async function saidBy(program: ChildProcess): Promise<string> {
  const [said] = await Promise.all([text(program.stdout!), once(program, 'close')]);
  if (program.exitCode !== 0) throw new Error('a byte was wrong, or a connection failed');
  return said;
}

async function run(): Promise<void> {
  const { network, gateway, alice, lan } = await buildTopology('by');
  await letPing(gateway);
  const postern = new Postern(gateway, API_ADDRESS, { WIREGUARD_TUN: 'sockets' });
  const options = ['gigabytes', 'connections', 'seed'] as const;
  const words = options.flatMap((name) => [`--${name}`, values[name]]);
  try {
    await postern.start();
    const { client } = await enrol(postern, alice, 'a@example.test', `${GATEWAY4}:51820`);
    await until('the device is connected', () => canPing(client.host, LAN4), 15_000);
    const program = [import.meta.filename, ...words];
    const server = lan.start(process.execPath, [...program, '--part', 'serve']);
    server.stderr!.pipe(process.stderr);
    await once(server.stdout!, 'data');
    const began = performance.now();
    const device = client.host.start(process.execPath, [...program, '--part', 'ask']);
    device.stderr!.pipe(process.stderr);
    const said = await saidBy(device);
    const seconds = (performance.now() - began) / 1_000;
    const { bytes, ended } = JSON.parse(said) as { bytes: number; ended: number };
    const command = `test/apart.sh node test/bench/bytes.ts ${words.join(' ')}`;
    const report = `
${reportHead('no wrong byte', command)}.

${(bytes / 1e9).toFixed(1)} GB by ${ended} connections in ${Math.round(seconds)} s (${((bytes * 8) / seconds / 1e9).toFixed(2)} Gbit/s, both ways together): each byte was right.
`;
    process.stdout.write(report);
    if (values.record) keepResult('node test/bench/bytes.ts', report);
  } finally {
    await postern.stop();
    await network.remove();
  }
}

await { all: run, serve, ask }[values.part as 'all' | 'serve' | 'ask']();
