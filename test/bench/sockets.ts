// What the sockets that face the host cost: CPU seconds of this process for each gigabyte.
//   node test/bench/sockets.ts [--rounds N --megabytes N --record]
// The other end is a process of its own on loopback, where the kernel does a part of the receiver's
// work in the time of the sender. How the batches compare with single segments is the figure.

import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { constants } from 'node:os';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { NativeHostSockets } from '../../dataplane/io/host-sockets.ts';
import { loadAddon } from '../../dataplane/native/index.ts';
import { SocketBench } from '../support/network/host-sockets.ts';
import { median } from './median.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    megabytes: { type: 'string', default: '256' },
    record: { type: 'boolean', default: false },
    end: { type: 'boolean', default: false },
  },
});
const [rounds, megabytes] = [Number(values.rounds), Number(values.megabytes)];
const WANTED_BYTES = megabytes * 1e6;
const SEGMENT = 1_360;
const { EAGAIN } = constants.errno;
const TO = Uint8Array.of(127, 0, 0, 1);

/** The other end: a TCP port that takes all, one that gives without end, and a UDP port. */
async function beTheOtherEnd(): Promise<void> {
  const sink = createServer((socket) => socket.on('error', () => undefined).resume());
  const source = createServer((socket) => {
    const chunk = new Uint8Array(1 << 20);
    const give = (): void => {
      while (socket.writable && socket.write(chunk));
    };
    socket.on('error', () => undefined).on('drain', give);
    give();
  });
  const udp = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 });
  udp.on('message', () => undefined).bind(0, '127.0.0.1');
  for (const server of [sink, source]) server.listen(0, '127.0.0.1');
  await Promise.all([once(sink, 'listening'), once(source, 'listening'), once(udp, 'listening')]);
  const ports = [sink, source, udp].map((each) => (each.address() as AddressInfo).port);
  process.stdout.write(`${JSON.stringify(ports)}\n`);
}

/** A way to move bytes: returns how many moved, or -EAGAIN. */
interface Way {
  readonly name: string;
  readonly server: 'sink' | 'source' | 'udp';
  /** Describes the pieces. */
  prepare(bench: SocketBench): void;
  move(bench: SocketBench, handle: number): number;
}

function pieces(count: number, bytes: number, segment = 0): (bench: SocketBench) => void {
  return (bench) => {
    for (let i = 0; i < count; i++) bench.room(i, bytes, segment);
  };
}

function writing(name: string, count: number, bytes: number): Way {
  const move: Way['move'] = ({ sockets }, handle) => sockets.write(handle, count);
  return { name, server: 'sink', prepare: pieces(count, bytes), move };
}

function reading(name: string, count: number, bytes: number): Way {
  const move: Way['move'] = ({ sockets }, handle) => sockets.read(handle, count);
  return { name, server: 'source', prepare: pieces(count, bytes), move };
}

function sending(name: string, count: number, bytes: number, segment = 0): Way {
  const move: Way['move'] = ({ sockets }, handle) => {
    const sent = sockets.send(handle, count);
    return sent === 0 ? -EAGAIN : sent * bytes;
  };
  return { name, server: 'udp', prepare: pieces(count, bytes, segment), move };
}

const WAYS: readonly Way[] = [
  writing('TCP, writes of one segment', 1, SEGMENT),
  writing('TCP, writes of 16 KiB in 12 pieces', 12, SEGMENT),
  writing('TCP, writes of 64 KiB in 48 pieces', 48, SEGMENT),
  writing('TCP, writes of 64 KiB in one piece', 1, 65_536),
  reading('TCP, reads of one segment', 1, SEGMENT),
  reading('TCP, reads of 64 KiB in 16 slots', 16, 4_096),
  reading('TCP, reads of 64 KiB in one slot', 1, 65_536),
  sending('UDP, one datagram a call', 1, SEGMENT),
  sending('UDP, 48 datagrams a call', 48, SEGMENT),
  sending('UDP, a run of 48 datagrams a call', 1, 48 * SEGMENT, SEGMENT),
];

/** CPU seconds of this process for each gigabyte that moved. */
async function measure(way: Way, ports: Record<Way['server'], number>): Promise<number> {
  const { addon } = loadAddon();
  if (addon === null) throw new Error('the addon is not built: npm run build:native');
  const bench = new SocketBench((options) => new NativeHostSockets(addon, options));
  const port = ports[way.server];
  const handle =
    way.server === 'udp' ? bench.sockets.connectUdp(TO, port) : await bench.connect(port);
  way.prepare(bench);
  const before = process.cpuUsage();
  let moved = 0;
  while (moved < WANTED_BYTES) {
    const bytes = way.move(bench, handle);
    if (bytes > 0) moved += bytes;
    else if (bytes === -EAGAIN) await sleep(1);
    else throw new Error(`${way.name}: ${bytes}`);
  }
  const { user, system } = process.cpuUsage(before);
  bench.sockets.close();
  return (user + system) / 1e6 / (moved / 1e9);
}

async function report(): Promise<void> {
  const child = spawn(process.execPath, [import.meta.filename, '--end'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const [sink, source, udp] = JSON.parse(line) as [number, number, number];
  const found = new Map(WAYS.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++)
    for (const way of WAYS) found.get(way.name)!.push(await measure(way, { sink, source, udp }));
  child.kill();
  const today = new Date().toISOString().slice(0, 10);
  const rows = WAYS.map(({ name }) => `| ${name} | ${median(found.get(name)!).toFixed(2)} s/GB |`);
  const text = `### ${today}: CPU of the process that has the sockets, on loopback

\`node test/bench/sockets.ts --rounds ${rounds} --megabytes ${megabytes}\`; Node ${process.versions.node}; medians of ${rounds} rounds.

| | CPU |
|---|---:|
${rows.join('\n')}
`;
  process.stdout.write(text);
  if (values.record) keepResult('node test/bench/sockets.ts', text);
}

await (values.end ? beTheOtherEnd() : report());
