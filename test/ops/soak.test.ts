// The soak: one gateway for a long time under traffic, rekeying and API churn. Its memory stays
// flat, no answered write is lost, no datagram of a device that only goes on (but those that the
// kernels of the device and of the LAN count, whose programs came too late), and every packet that
// was dropped was dropped for a reason that this load explains.

import { appendFileSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { enrol, type Person } from '../e2e/people.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY6_BOB,
  LAN4,
  type Topology,
  Traffic,
  traffic,
} from '../support/network/topology.ts';
import { kernelLosses } from './kernel-losses.ts';
import { Ledger } from './ledger.ts';
import { API_ADDRESS, API_NETWORK, seed, soakMinutes } from './lengths.ts';

/** Short, it is about datagrams, writes and drops, which an error loses within seconds. */
const MINUTES = soakMinutes > 0 ? soakMinutes : 0.5;
const DURATION_MS = MINUTES * 60_000;
/** Code is compiled and caches are filled meanwhile; a slope needs what comes after. */
const WARM_UP_MS = Math.max(DURATION_MS / 5, Math.min(5 * 60_000, DURATION_MS / 2));
const SLOPE_MB_PER_10_MINUTES_MAX = 1;
/** Shorter than this a slope says more about the moment of a collection than about memory. */
const SLOPE_MINUTES_MIN = 20;
const RSS_MB_MAX = 300;
const EVERY_MS = 5;
const PORT = 7_440;
const BURST_BYTES = 20_000_000;
const LOOK_MS = 5_000;

/**
 * What this load makes a gateway drop, and how much of it there may be: what the kernels of the
 * clients and of the gateway's host say to their link by themselves (multicast listener reports and
 * router solicitations), which grows with no traffic.
 */
const EXPLAINED: Record<string, number> = {
  inner_source_reserved: 50 + 5 * MINUTES,
  no_peer: 50 + 5 * MINUTES,
};

/** One look at the process. */
interface Look {
  readonly atMs: number;
  readonly rssMb: number;
  /** Pages of files, as those of Node's program: the kernel takes and gives them as it likes. */
  readonly fileMb: number;
  /** Of the main thread, as V8 holds it and as it is in use: says what a step of RSS was. */
  readonly heapMb: number;
  readonly usedMb: number;
}

function residentOf(pid: number): Pick<Look, 'rssMb' | 'fileMb'> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mbOf = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
  return { rssMb: mbOf('VmRSS'), fileMb: mbOf('RssFile') };
}

async function heapOf(postern: Postern): Promise<Pick<Look, 'heapMb' | 'usedMb'>> {
  const metrics = await postern.metrics();
  const mbOf = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]) / 1_048_576;
  return {
    heapMb: mbOf('nodejs_heap_size_total_bytes'),
    usedMb: mbOf('nodejs_heap_size_used_bytes'),
  };
}

/** The slope of the line that fits best, in MB per ten minutes. */
function slopeOf(looks: readonly Look[]): number {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanAt = mean(looks.map(({ atMs }) => atMs));
  const meanRss = mean(looks.map(({ rssMb }) => rssMb));
  let covariance = 0;
  let variance = 0;
  for (const { atMs, rssMb } of looks) {
    covariance += (atMs - meanAt) * (rssMb - meanRss);
    variance += (atMs - meanAt) ** 2;
  }
  return (covariance / variance) * 600_000;
}

/** A client whose sessions begin anew all the time, with a transfer in each. */
async function comeAndGo(
  { client }: Person,
  { lan }: Topology,
  isOver: () => boolean,
): Promise<{ sessions: number; transfers: number }> {
  const seen = { sessions: 0, transfers: 0 };
  while (!isOver()) {
    await client.reconfigure({});
    await until('bob is served', () => canPing(client.host, LAN4, 1), 20_000);
    seen.sessions += 1;
    const sink = await new Traffic(lan, 'receive', PORT + 1).ready();
    const sent = await traffic(client.host, 'send', LAN4, PORT + 1, BURST_BYTES);
    const got = await sink.line((line) => 'sha256' in line);
    if (got['sha256'] === sent['sha256']) seen.transfers += 1;
    await sleep(5_000);
  }
  return seen;
}

/** Looks at the process again and again, and takes from its log what it dropped. */
async function watch(
  postern: Postern,
  drops: Record<string, number>,
  isOver: () => boolean,
): Promise<Look[]> {
  const looks: Look[] = [];
  const begun = performance.now();
  while (!isOver()) {
    await sleep(LOOK_MS);
    const heap = await heapOf(postern);
    looks.push({ atMs: performance.now() - begun, ...residentOf(postern.pid), ...heap });
    for (const [reason, count] of Object.entries(postern.drops()))
      drops[reason] = (drops[reason] ?? 0) + count;
    // Else the test itself would keep a log of all these minutes.
    postern.output = '';
  }
  return looks;
}

async function soak(t: ExecutionContext, topology: Topology): Promise<void> {
  const settings = { API_RATE_LIMIT: '0', LOG_LEVEL: 'debug' };
  const postern = new Postern(topology.gateway, API_ADDRESS, settings);
  await postern.start();
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  const bob = await enrol(postern, topology.bob, 'b@example.test', `[${GATEWAY6_BOB}]:51820`);
  t.true(await canPing(alice.client.host, LAN4));
  const ledger = new Ledger(t, postern, seed, 3);
  await ledger.notice();
  const begun = performance.now();
  const isOver = (): boolean => performance.now() - begun > DURATION_MS;

  const far = await new Traffic(topology.lan, 'pace', PORT, EVERY_MS).ready();
  const near = await new Traffic(alice.client.host, 'pace', PORT, EVERY_MS, LAN4).ready();
  const drops: Record<string, number> = {};
  const load = ledger.run({ pauseMs: 50 });
  const looking = watch(postern, drops, isOver);
  const coming = comeAndGo(bob, topology, isOver);
  await sleep(DURATION_MS);
  ledger.stop();
  const [looks, bobs] = await Promise.all([looking, coming, load]);
  for (const { child } of [near, far]) child.stdin?.end();
  const [down, up] = await Promise.all(
    [near, far].map((end) => end.line((line) => 'received' in line)),
  );

  const lost =
    Number(down?.['sent']) +
    Number(up?.['sent']) -
    Number(down?.['received']) -
    Number(up?.['received']);
  const [atAlice, atLan, atGateway] = await Promise.all(
    [alice.client.host, topology.lan, topology.gateway].map(kernelLosses),
  );
  const warm = looks.filter(({ atMs }) => atMs > WARM_UP_MS);
  const slope = slopeOf(warm);
  const most = Math.max(...looks.map(({ rssMb }) => rssMb));
  const figures = {
    minutes: MINUTES,
    seed,
    rssMb: { first: warm[0]?.rssMb, last: warm.at(-1)?.rssMb, most, slopePer10Minutes: slope },
    writes: ledger.figures.answered,
    datagrams: Number(up?.['received']) + Number(down?.['received']),
    lost,
    lostByKernels: { atAlice, atLan, atGateway },
    ...bobs,
    drops,
  };
  t.log(figures);
  t.log(
    [
      'minute: MB resident, of files, of the heap, of it in use',
      ...looks.filter(everyMinute).map(say),
    ].join('\n'),
  );
  if (soakMinutes > 0) record(figures);

  await ledger.verify(t);
  t.is(ledger.figures.unanswered + ledger.figures.refused, 0, 'every write was answered');
  const byEnds = atAlice!.sockets + atAlice!.interfaces + atLan!.sockets + atLan!.interfaces;
  t.true(lost <= byEnds, `${lost} datagrams of alice were lost, ${byEnds} of them by the ends`);
  t.is(bobs.transfers, bobs.sessions, 'all transfers arrived unchanged');
  const unexplained = Object.entries(drops).filter(
    ([reason, count]) => count > (EXPLAINED[reason] ?? 0),
  );
  t.deepEqual(unexplained, [], JSON.stringify(drops));
  t.true(most < RSS_MB_MAX, `${most} MB`);
  if (MINUTES >= SLOPE_MINUTES_MIN)
    t.true(slope < SLOPE_MB_PER_10_MINUTES_MAX, `${slope} MB in ten minutes`);
  await postern.stop();
}

function everyMinute({ atMs }: Look): boolean {
  return atMs % 60_000 < LOOK_MS;
}

function say({ atMs, rssMb, fileMb, heapMb, usedMb }: Look): string {
  const megabytes = [rssMb, fileMb, heapMb, usedMb].map((mb) => mb.toFixed(1));
  return `${Math.floor(atMs / 60_000)}: ${megabytes.join(', ')}`;
}

/** Keeps a long run's figures; they are moved into RESULTS.md with their date and commit. */
function record(figures: object): void {
  const path = resolve(import.meta.dirname, '../../soak.log');
  appendFileSync(path, `${new Date().toISOString()} ${JSON.stringify(figures)}\n`);
}

test.serial(`${MINUTES} minutes of traffic, churn and rekeying leave memory flat`, async (t) => {
  t.timeout(DURATION_MS + 180_000);
  const topology = await buildTopology('os', API_NETWORK);
  try {
    await soak(t, topology);
  } finally {
    await topology.network.remove();
  }
});
