// What a tunnel under load notices of a flood, and of the API: `npm run bench:flood [-- --rate MBIT
// --seconds S --flood N --record]`.
//
//   client 192.0.2.2 --veth-- 192.0.2.1 gateway 198.51.100.1 --veth-- 198.51.100.2 lan
//   attacker 203.0.113.2 --veth-- 203.0.113.1 gateway
//
// UDP goes through the tunnel at a pace, up, with pings beside it: undisturbed, under as many
// datagrams that are no messages, under forged initiations from random sources and from one
// (test/support/network/initiation-flood.ts), and while the API serves 300 requests a second. The
// client is wireguard-go (WIREGUARD_GO names another) and shares the cores with everyone, so the pace
// is the greatest of a few that the machine carries undisturbed with half of itself to spare; what
// counts is the difference. Handshake work is what the worker's thread costs more for initiations than for
// datagrams that are none: to receive either is what any flood costs.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { type Host, Network } from '../support/network/namespaces.ts';
import { Postern, threadSecondsOf } from '../support/gateway/postern.ts';
import { canPing } from '../support/network/topology.ts';
import { makeKeyPair, WireguardClient } from '../support/network/wireguard-client.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    rate: { type: 'string', default: '0' },
    seconds: { type: 'string', default: '10' },
    flood: { type: 'string', default: '50000' },
    workers: { type: 'string', default: '1' },
    masquerade: { type: 'boolean', default: true },
    record: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const floodPerSecond = Number(values.flood);
/** Paces that are tried, in Mbit/s. */
const PACES = Number(values.rate) > 0 ? [Number(values.rate)] : [1_000, 500, 200, 100, 50];
const API = '10.255.78.2';
const LAN = '198.51.100.2';
const GATEWAY_OUTSIDE = '203.0.113.1';
const CLIENT = '100.64.0.2';
const API_PER_SECOND = 300;
const LOSS_MAX = 0.1;
/** What the machine must have left, undisturbed, for what comes on top of it. */
const IDLE_MIN = 0.5;

interface Machine {
  readonly network: Network;
  readonly client: Host;
  readonly gateway: Host;
  readonly lan: Host;
  readonly attacker: Host;
}

async function build(): Promise<Machine> {
  const network = new Network('pd');
  const [client, gateway, lan, attacker] = [
    await network.addHost('client'),
    await network.addHost('gw'),
    await network.addHost('lan'),
    await network.addHost('attacker'),
  ];
  const links: [Host | null, string, string, string, string][] = [
    [client, 'c0', '192.0.2.2/24', 'g0', '192.0.2.1/24'],
    [lan, 'l0', `${LAN}/24`, 'g1', '198.51.100.1/24'],
    [attacker, 'a0', '203.0.113.2/24', 'g2', `${GATEWAY_OUTSIDE}/24`],
    [null, 'm0', '10.255.78.1/30', 'm1', `${API}/30`],
  ];
  for (const [host, name, own, other, its] of links)
    await network.link(
      { host, name, addresses: [own] },
      { host: gateway, name: other, addresses: [its] },
    );
  await gateway.ip('route', 'add', '10.66.0.0/16', 'via', '203.0.113.2');
  await lan.ip('route', 'add', '100.64.0.0/10', 'via', '198.51.100.1');
  return { network, client, gateway, lan, attacker };
}

// ---- what is looked at -----------------------------------------------------------------------

/** CPU of the busiest thread but the main one, as a share of a core, and of the main thread. */
function shares(pid: number, before: ReadonlyMap<number, number>, tookMs: number): Shares {
  const grown = [...threadSecondsOf(pid)].map(
    ([tid, used]) => [tid, (used - (before.get(tid) ?? 0)) / (tookMs / 1_000)] as const,
  );
  const others = grown.filter(([tid]) => tid !== pid).map(([, share]) => share);
  return {
    worker: Math.max(...others),
    main: grown.find(([tid]) => tid === pid)?.[1] ?? 0,
  };
}

/** Ticks of all cores: idle ones, and all. */
function machineTicks(): { idle: number; all: number } {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.trim().split(/\s+/).slice(1);
  const ticks = fields.map(Number);
  return { idle: ticks[3]! + ticks[4]!, all: ticks.reduce((sum, one) => sum + one, 0) };
}

/** Datagrams that the sockets of a host had no room for. */
async function overflows(host: Host): Promise<number> {
  const { stdout } = await host.run('cat', '/proc/net/snmp');
  const [names = [], numbers = []] = stdout
    .split('\n')
    .filter((line) => line.startsWith('Udp:'))
    .map((line) => line.split(' '));
  return Number(numbers[names.indexOf('RcvbufErrors')]);
}

interface Shares {
  readonly worker: number;
  readonly main: number;
}

function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}

/** One phase. */
interface Phase extends Shares {
  readonly mbit: number;
  readonly lossPercent: number;
  readonly pingMedianMs: number;
  readonly pingP99Ms: number;
  readonly pingLost: number;
  readonly apiP99Ms: number;
  readonly mib: number;
  /** What the whole machine had left. */
  readonly idle: number;
  /** Datagrams that were lost for want of room: at the gateway, and at the ends of the transfer. */
  readonly overflows: readonly [gateway: number, ends: number];
  readonly note: string;
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function pings(client: Host): Promise<{ times: number[]; lost: number }> {
  const count = seconds * 50;
  const { stdout } = await client.run('ping', ...`-n -i 0.02 -c ${count} -W 1 ${LAN}`.split(' '));
  const times = [...stdout.matchAll(/time=([\d.]+) ms/g)].map(([, ms]) => Number(ms));
  return { times, lost: count - times.length };
}

/** A request every 50 ms, until the phase is over. */
async function apiTimes(postern: Postern, isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  while (!isOver()) {
    const at = performance.now();
    await postern.call('GET', '/v0/configuration');
    times.push(performance.now() - at);
    await sleep(50);
  }
  return times;
}

interface Transfer {
  readonly end: {
    readonly sum: { readonly lost_percent: number; readonly bits_per_second: number };
  };
}

async function transfer(client: Host, mbit: number): Promise<Transfer['end']['sum']> {
  const { stdout } = await client.run(
    'iperf3',
    ...`-J -u -c ${LAN} -b ${mbit}M -l 1372 -t ${seconds} -w 4M`.split(' '),
  );
  return (JSON.parse(stdout) as Transfer).end.sum;
}

/** A phase: the paced transfer, with pings and requests beside it, and `disturb`. */
async function phase(
  { client, gateway, lan }: Machine,
  postern: Postern,
  mbit: number,
  disturb: () => Promise<string> = async () => '',
): Promise<Phase> {
  let isOver = false;
  const before = threadSecondsOf(postern.pid);
  const ticks = machineTicks();
  const full = await Promise.all([gateway, client, lan].map(overflows));
  const began = performance.now();
  const times = apiTimes(postern, () => isOver);
  const disturbance = disturb();
  await sleep(500);
  const [{ lost_percent, bits_per_second }, ping] = await Promise.all([
    transfer(client, mbit),
    pings(client),
  ]);
  const used = shares(postern.pid, before, performance.now() - began);
  const after = machineTicks();
  const fuller = await Promise.all([gateway, client, lan].map(overflows));
  const [atGateway = 0, atClient = 0, atLan = 0] = fuller.map((count, i) => count - full[i]!);
  isOver = true;
  return {
    ...used,
    mbit: bits_per_second / 1e6,
    lossPercent: lost_percent,
    pingMedianMs: quantile(ping.times, 0.5),
    pingP99Ms: quantile(ping.times, 0.99),
    pingLost: ping.lost,
    apiP99Ms: quantile(await times, 0.99),
    mib: residentMib(postern.pid),
    overflows: [atGateway, atClient + atLan],
    idle: (after.idle - ticks.idle) / (after.all - ticks.all),
    note: await disturbance,
  };
}

// ---- the disturbances ------------------------------------------------------------------------

interface Flood {
  readonly sources: number;
  /** The first byte of each datagram. */
  readonly type: number;
}

async function flood(
  { attacker }: Machine,
  publicKey: string,
  { sources, type }: Flood,
): Promise<string> {
  const script = join(import.meta.dirname, '../support/network/initiation-flood.ts');
  const { stdout } = await attacker.run(
    process.execPath,
    script,
    GATEWAY_OUTSIDE,
    '51820',
    publicKey,
    ...[floodPerSecond, seconds + 1, sources, type].map(String),
  );
  const { perSecond } = JSON.parse(stdout) as { perSecond: number };
  return `${Math.round(perSecond)} a second`;
}

/** The API's own p99 at that rate: nine reads to a write. */
async function serve(postern: Postern, device: string): Promise<number> {
  const read = { method: 'GET', path: '/v0/configuration' } as const;
  const requests = Array.from({ length: 9 }, () => read as autocannon.Request);
  const change = { device: { description: 'a change' } };
  requests.push({
    method: 'PATCH',
    path: `/v0/devices/${device}`,
    body: JSON.stringify(change),
  });
  const result = await autocannon({
    url: postern.api,
    connections: 10,
    overallRate: API_PER_SECOND,
    duration: seconds,
    headers: { authorization: `Bearer ${postern.token}`, 'content-type': 'application/json' },
    requests,
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return result.latency.p99;
}

// ---- the run ---------------------------------------------------------------------------------

const rows: [name: string, phase: Phase][] = [];

async function run(machine: Machine): Promise<{ idleP99: number; busyP99: number }> {
  const { gateway, client, lan } = machine;
  const postern = new Postern(gateway, API, {
    LOG_LEVEL: 'warn',
    API_RATE_LIMIT: '0',
    DATAPLANE_WORKERS: values.workers,
    WIREGUARD_MTU: '1420',
    WIREGUARD_IPV4_MASQUERADE: String(values.masquerade),
    WIREGUARD_IPV6_MASQUERADE: String(values.masquerade),
  });
  await postern.start();
  const keys = makeKeyPair();
  const user = await postern.create('user', { email: 'bench@example.test' });
  const device = await postern.create('device', {
    user_id: user.id,
    public_key: keys.publicKey,
    ipv4: CLIENT,
  });
  const publicKey = String(device['server_public_key']);
  const wireguard = new WireguardClient(client, {
    keys,
    serverPublicKey: publicKey,
    presharedKey: String(device['preshared_key']),
    endpoint: '192.0.2.1:51820',
    addresses: [CLIENT],
    routes: ['198.51.100.0/24', '100.64.0.1/32'],
    mtu: 1_420,
  });
  await wireguard.start();
  // 500 packets are 5.5 ms of a Gbit/s: the client, off its core for longer, would lose some here.
  await client.ip('link', 'set', wireguard.interfaceName, 'txqueuelen', '5000');
  if (!(await canPing(client, LAN))) throw new Error('the tunnel does not answer');
  lan.start('iperf3', ['-s']);
  await sleep(500);
  const idleP99 = await serve(postern, device.id);

  let mbit = 0;
  for (mbit of PACES) {
    process.stderr.write(`${mbit} Mbit/s, undisturbed\n`);
    const quiet = await phase(machine, postern, mbit);
    const isCarried = quiet.lossPercent < LOSS_MAX && quiet.idle >= IDLE_MIN;
    if (!isCarried && mbit !== PACES.at(-1)) continue;
    rows.push(['undisturbed', quiet]);
    break;
  }
  for (const [name, what] of [
    ['datagrams that are no messages, 60,000 sources', { sources: 60_000, type: 9 }],
    ['forged initiations from 60,000 sources', { sources: 60_000, type: 1 }],
    ['the same from one source', { sources: 1, type: 1 }],
  ] as const) {
    process.stderr.write(`${name}\n`);
    rows.push([name, await phase(machine, postern, mbit, () => flood(machine, publicKey, what))]);
  }
  process.stderr.write('the API at work\n');
  let busyP99 = 0;
  const busy = await phase(machine, postern, mbit, async () => {
    busyP99 = await serve(postern, device.id);
    return `p99 of its own ${busyP99} ms, without traffic ${idleP99} ms`;
  });
  rows.push([`${API_PER_SECOND} API requests a second`, busy]);
  await postern.stop();
  return { idleP99, busyP99 };
}

const load = loadavg()[0]?.toFixed(1);
const machine = await build();
try {
  await run(machine);
} finally {
  await machine.network.remove();
}
const quiet = rows[0]![1];
const lines = rows.map(([name, one]) =>
  [
    name,
    one.mbit.toFixed(0),
    one.lossPercent.toFixed(3),
    `${one.pingMedianMs.toFixed(2)} / ${one.pingP99Ms.toFixed(1)}`,
    String(one.pingLost),
    one.apiP99Ms.toFixed(1),
    `${(one.worker * 100).toFixed(0)} (${((one.worker - quiet.worker) * 100).toFixed(0)} more)`,
    (one.main * 100).toFixed(0),
    one.mib.toFixed(0),
    (one.idle * 100).toFixed(0),
    one.overflows.join(' / '),
    one.note,
  ].join(' | '),
);
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
const cpu = cpus();
const report = `
### ${new Date().toISOString().slice(0, 10)}, ${commit}: a paced tunnel under a flood, and beside the API

\`npm run bench:flood -- ${Number(values.rate) > 0 ? `--rate ${values.rate} ` : ''}--seconds ${seconds} --flood ${floodPerSecond}${Number(values.workers) > 1 ? ` --workers ${values.workers}` : ''}${values.masquerade ? '' : ' --no-masquerade'}\`; ${cpu.length} × ${cpu[0]?.model.trim()}, Linux ${release()}, Node ${process.versions.node}; client, flood and lan on the same cores; load average ${load} before the run. Bars: loss < ${LOSS_MAX} %, ping p99 5 ms more at most, handshake work (forged initiations beyond what is no message) 20 % of the worker's core at most, API p99 < 50 ms and 3 times that without traffic.

| | Mbit/s | loss % | ping median / p99 ms | pings lost | API p99 ms | worker % | main thread % | MiB | machine idle % | datagrams without room, gateway / ends | |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|
${lines.map((line) => `| ${line} |`).join('\n')}
`;
process.stdout.write(report);
if (values.record) keepResult('npm run bench:flood', report);
