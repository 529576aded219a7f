// What a capture costs others: `npm run bench:capture [-- --rounds N --seconds S --record]`.
//
// Alice sends 200 Mbit/s of UDP, Bob as much TCP as goes through. A round measures Bob's TCP without a
// capture, with a capture of all that Alice sends (curl hands it to dumpcap), and with a program that
// sends curl and dumpcap as many bytes while nothing is captured. The reading side costs as much in the
// last two, on the cores that all share; the difference between them is the gateway's own cost. It also
// shows how much CPU each part took. Needs root, network namespaces, iperf3, curl and dumpcap.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  blockMemory,
  interfaceBlock,
  packetBlockBytes,
  sectionHeader,
  writePacketBlock,
} from '../../lib/observe/capture/pcapng.ts';
import { enrol, type Person } from '../e2e/people.ts';
import { cpuSecondsOf, Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  TUNNEL4,
} from '../support/network/topology.ts';
import { median } from './median.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '8' },
    record: { type: 'boolean', default: false },
    /** Runs the other source of bytes, at this port; the benchmark starts it. */
    source: { type: 'string' },
  },
});
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
const MBIT = 200;
const PACKET_BYTES = 1_250;
const EVERY_MS = 20;
const SOURCE_PORT = 18_080;
const [ALICE_PORT, BOB_PORT] = [5_201, 5_202];
const KINDS = ['none', 'capture', 'other source'] as const;
type Kind = (typeof KINDS)[number];

if (values.source === undefined) await measure();
else serveBytes(Number(values.source));

/** Sends pcapng at the pace of the capture, as cheaply as Node can. */
function serveBytes(port: number): void {
  const packet = {
    interface: 0,
    wallMs: Date.now(),
    length: PACKET_BYTES + 28,
    bytes: new Uint8Array(PACKET_BYTES + 28),
    isOutbound: false,
    comment: Buffer.from('accept; default action'),
  };
  const count = (MBIT * 1e6 * EVERY_MS) / 1_000 / 8 / PACKET_BYTES;
  const chunk = Buffer.alloc(count * packetBlockBytes(packet));
  const into = blockMemory(chunk);
  for (let at = 0; at < chunk.length;) at = writePacketBlock(into, at, packet);
  createServer((_, response) => {
    response.write(sectionHeader('Postern', 'bytes'));
    response.write(interfaceBlock({ name: 'a', description: 'b' }, 65_535));
    const timer = setInterval(() => response.write(chunk), EVERY_MS);
    response.on('close', () => clearInterval(timer));
  }).listen(port, '127.0.0.1');
}

/** What one measurement gives; CPU in shares of a core. */
interface Figures {
  readonly mbit: number;
  readonly lost: number;
  readonly gateway: number;
  /** curl, dumpcap and the other source. */
  readonly readers: number;
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-capture-'));
  const topology = await buildTopology('cb');
  const postern = new Postern(topology.gateway, API_ADDRESS);
  const source = spawn(process.execPath, [import.meta.filename, '--source', String(SOURCE_PORT)]);
  try {
    await postern.start();
    await topology.lan.ip('route', 'replace', '100.64.0.0/10', 'via', '198.51.100.1');
    const alice = await enrol(
      postern,
      topology.alice,
      'alice@example.test',
      `${GATEWAY4}:51820`,
      1,
    );
    const bob = await enrol(postern, topology.bob, 'bob@example.test', `${GATEWAY4_BOB}:51820`, 1);
    for (const { client } of [alice, bob])
      await until('a tunnel is up', () => canPing(client.host, TUNNEL4, 1), 20_000);
    for (const port of [ALICE_PORT, BOB_PORT])
      topology.lan.start('iperf3', ['-s', '-p', String(port)]);
    await sleep(500);
    const results = new Map<Kind, Figures[]>(KINDS.map((kind) => [kind, []]));
    for (let round = 0; round < rounds; round++)
      for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed())
        results
          .get(kind)!
          .push(await measureOne(kind, { postern, alice, bob, folder, source: source.pid! }));
    report(results);
  } finally {
    source.kill('SIGKILL');
    await postern.stop();
    await topology.network.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What one measurement is made of. */
interface Scene {
  readonly postern: Postern;
  readonly alice: Person;
  readonly bob: Person;
  readonly folder: string;
  /** The process of the other source. */
  readonly source: number;
}

async function measureOne(
  kind: Kind,
  { postern, alice, bob, folder, source }: Scene,
): Promise<Figures> {
  const [sent, carried] = [
    ['-u', '-b', `${MBIT}M`, '-l', String(PACKET_BYTES), '-p', String(ALICE_PORT)],
    ['-p', String(BOB_PORT), '-J'],
  ];
  const words = (seconds: number, more: string[]) => ['-c', LAN4, '-t', String(seconds), ...more];
  const before = await lostOf(postern);
  const readers = kind === 'none' ? [] : await beginReading(kind, { postern, alice, folder });
  const stream = alice.client.host.run('iperf3', ...words(seconds + 2, sent));
  await sleep(1_000);
  const pids = [postern.pid, ...readers.map(({ pid }) => pid!), source];
  const cpuBefore = pids.map(cpuSecondsOf);
  const { stdout } = await bob.client.host.run('iperf3', ...words(seconds, carried));
  const cpu = pids.map((pid, i) => (cpuSecondsOf(pid) - cpuBefore[i]!) / seconds);
  await stream;
  for (const reader of readers) {
    reader.kill('SIGTERM');
    if (reader.exitCode === null && reader.signalCode === null) await once(reader, 'exit');
  }
  const { end } = JSON.parse(stdout) as { end: { sum_received: { bits_per_second: number } } };
  return {
    mbit: end.sum_received.bits_per_second / 1e6,
    lost: (await lostOf(postern)) - before,
    gateway: cpu[0]!,
    readers: cpu.slice(1).reduce((sum, share) => sum + share, 0),
  };
}

/** Starts curl and dumpcap, and waits until bytes come. */
async function beginReading(
  kind: Kind,
  { postern, alice, folder }: Pick<Scene, 'postern' | 'alice' | 'folder'>,
): Promise<ChildProcess[]> {
  const query = `duration=3600&payload=true&bytes=${2 ** 30}`;
  const url =
    kind === 'capture'
      ? `${postern.api}/v0/devices/${alice.device.id}/capture?${query}`
      : `http://127.0.0.1:${SOURCE_PORT}/`;
  const curl = spawn(
    'curl',
    ['-sN', '--fail', '-H', `Authorization: Bearer ${postern.token}`, url],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  // The pipe of one is the input of the other: no byte comes through this process.
  const dumpcap = spawn('dumpcap', ['-q', '-i', '-', '-w', join(folder, 'capture.pcapng')], {
    stdio: [curl.stdout, 'ignore', 'ignore'],
  });
  await sleep(1_000);
  if (curl.exitCode !== null || dumpcap.exitCode !== null) throw new Error('the capture ended');
  return [curl, dumpcap];
}

/** Packets that captures lost so far. */
async function lostOf(postern: Postern): Promise<number> {
  const name = /^wg_gateway_capture_lost_packets_total (\d+)$/m;
  return Number(name.exec(await postern.metrics())?.[1]);
}

function report(results: ReadonlyMap<Kind, readonly Figures[]>): void {
  const middle = (kind: Kind, field: keyof Figures): number =>
    median(results.get(kind)!.map((one) => one[field]));
  const ratio = (kind: Kind): string =>
    median(results.get('capture')!.map((one, i) => one.mbit / results.get(kind)![i]!.mbit)).toFixed(
      2,
    );
  const rows = KINDS.map((kind) => {
    const cells = (['mbit', 'gateway', 'readers', 'lost'] as const).map((field) =>
      middle(kind, field).toFixed(field === 'mbit' || field === 'lost' ? 0 : 2),
    );
    return `| ${kind} | ${cells.join(' | ')} |`;
  });
  const text = `
### ${new Date().toISOString().slice(0, 10)}

${cpus().length} × ${cpus()[0]!.model}; medians of ${rounds} rounds of ${seconds} s; CPU in shares of a core.

| Bob's TCP beside | Mbit/s | CPU of the gateway | of who reads and sends | packets lost |
|---|---:|---:|---:|---:|
${rows.join('\n')}

With a capture / without: ${ratio('none')}; with a capture / with another source of the bytes: ${ratio('other source')} (bar 0.95).
`;
  process.stdout.write(text);
  if (values.record) keepResult('npm run bench:capture', text);
}
