// Compares gateways: `npm run bench:e2e [-- --rounds N --seconds S --only NAME --no-offload --record]
// [--rules N | --limits | --traffic-now-open | --rootless | --egress sockets | --both | --workers N [--devices N] | --against FOLDER | --profile]`.
//
// Traffic through a gateway, each way: Postern and Debian's wireguard-go in turn, the same wireguard-go
// as the client of both. The network is that of gateways.ts.
//
// Throughput wanders with the machine; CPU seconds of the gateway process per gigabyte is the steadier
// figure, and the ratio of two gateways in one run the one to quote. WIREGUARD_GO names another
// binary, for the client and for the gateway that is compared. Postern is compared with itself: with
// `--rules` that many rules, for other destinations, against none; with `--limits` limits and quotas
// that no transfer reaches, against none; with `--traffic-now-open` at one gateway, with that page of the
// console open and closed in turns; with `--rootless` started by an ordinary user, with the time
// of pasta, against root, both masquerading; with `--egress sockets` without a TUN, against one that
// masquerades, or with `--rootless` against that start; with `--workers` that many workers against
// one, with sixteen devices; with `--against` this checkout against another one, both as `--egress`,
// `--workers` and `--devices` say; `--only`
// takes the cases that have this in their names. With `--both` the client is what the gateway is: the
// client is not what bounds it then. With `--profile` Postern alone runs (of `--against`, if given),
// and perf (Debian's linux-perf) says what its CPU time is spent on.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Host } from '../support/network/namespaces.ts';
import { cpuSecondsOf } from '../support/gateway/postern.ts';
import { canPing } from '../support/network/topology.ts';
import { type KeyPair, makeKeyPair } from '../support/network/wireguard-client.ts';
import {
  addressOf,
  endpointOf,
  type Gateway,
  buildNetwork,
  inRounds,
  LAN,
  IPERF_PORT,
  MTU,
  reportHead,
  startPostern,
  type PosternOptions,
  type StartClient,
  type StartGateway,
  startWireguardGo,
  startWireguardGoClient,
} from './gateways.ts';
import { median } from './median.ts';
import { beginProfile, profileTable } from './profile.ts';
import { keepResult } from './results.ts';
import { follow, showPage } from './viewer.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    'no-offload': { type: 'boolean', default: false },
    rules: { type: 'string', default: '0' },
    limits: { type: 'boolean', default: false },
    'traffic-now-open': { type: 'boolean', default: false },
    rootless: { type: 'boolean', default: false },
    egress: { type: 'string', default: 'tun' },
    both: { type: 'boolean', default: false },
    workers: { type: 'string', default: '1' },
    devices: { type: 'string' },
    against: { type: 'string', default: '' },
    profile: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);

const workers = Number(values.workers);
const devices = Number(values.devices ?? (workers > 1 ? 16 : 1));
/** Bits a second of small packets for all devices, which any gateway carries. */
const SMALL_BITS = 20e6;
const SMALL_BYTES = 64;
const WARM_UP_SECONDS = 2;

type Shares = Awaited<ReturnType<ReturnType<typeof beginProfile>>>;

/** One measurement. */
interface Figure {
  readonly shares?: Shares;
  /** Gbit/s, or thousand packets a second. */
  readonly speed: number;
  /** CPU seconds per GB, or microseconds per packet. */
  readonly cpu: number;
}

interface Case {
  readonly name: string;
  /** Options of iperf3, for each device. */
  readonly args: readonly string[];
  readonly isUdp?: boolean;
}

const small = ['-u', '-l', `${SMALL_BYTES}`, '-b', `${Math.round(SMALL_BITS / devices)}`];
const allCases: readonly Case[] = [
  { name: 'TCP up, 1 stream', args: [] },
  { name: 'TCP down, 1 stream', args: ['-R'] },
  ...(devices > 1
    ? []
    : [
        { name: 'TCP up, 4 streams', args: ['-P', '4'] },
        { name: 'TCP down, 4 streams', args: ['-P', '4', '-R'] },
      ]),
  { name: `UDP up, ${SMALL_BYTES} bytes`, args: small, isUdp: true },
  { name: `UDP down, ${SMALL_BYTES} bytes`, args: [...small, '-R'], isUdp: true },
];
const cases = allCases.filter(({ name }) => name.includes(values.only));

const ruleCount = Number(values.rules);

function gatewaysToCompare(): Record<string, [StartGateway, StartClient]> {
  const postern = (options: PosternOptions = {}): [StartGateway, StartClient] => [
    (host, keys) => startPostern(host, keys, options),
    startWireguardGoClient,
  ];
  const hasSockets = values.egress === 'sockets';
  if (values.profile) {
    const [start, startClient] = postern({
      isProfiled: true,
      hasSockets,
      workers,
      root: values.against || undefined,
    });
    return { postern: [start, values.both ? startPosternClient : startClient] };
  }
  if (values.both)
    return {
      'postern at both ends': [(host, keys) => startPostern(host, keys), startPosternClient],
      'wireguard-go at both ends': [startWireguardGo, startWireguardGoClient],
    };
  if (values.against !== '') {
    const both = { hasSockets, workers };
    return {
      'this checkout': postern(both),
      'the other': postern({ ...both, root: values.against }),
    };
  }
  if (hasSockets && values.rootless)
    return {
      sockets: postern({ hasSockets, workers }),
      'without root': postern({ isRootless: true, workers }),
    };
  if (hasSockets)
    return {
      sockets: postern({ hasSockets, workers }),
      'a TUN': postern({ masquerades: true, workers }),
    };
  if (workers > 1) return { [`${workers} workers`]: postern({ workers }), 'one worker': postern() };
  if (values.limits) return { 'limits and quotas': postern({ hasLimits: true }), none: postern() };
  if (values.rootless)
    return {
      'without root': postern({ isRootless: true }),
      'as root': postern({ masquerades: true }),
    };
  if (ruleCount > 0)
    return {
      [`postern, ${ruleCount} rules`]: postern({ rules: ruleCount }),
      'postern, none': postern(),
    };
  return { postern: postern(), 'wireguard-go': [startWireguardGo, startWireguardGoClient] };
}

const CLIENT_INTERFACE = 'client0';

async function startPosternClient(
  host: Host,
  keys: KeyPair,
  gateway: Gateway,
  device: number,
): Promise<void> {
  const program = join(import.meta.dirname, 'client-end.ts');
  const { privateKey } = keys;
  const words = [
    CLIENT_INTERFACE,
    MTU,
    privateKey,
    gateway.serverPublicKey,
    endpointOf(device),
    LAN,
  ];
  host.start(process.execPath, [program, ...words.map(String)]);
  for (let i = 0; !(await host.succeeds('ip', 'link', 'show', CLIENT_INTERFACE)); i++) {
    if (i === 100) throw new Error('the client did not start');
    await sleep(50);
  }
  await host.ip('address', 'add', `${addressOf(device)}/32`, 'dev', CLIENT_INTERFACE);
  await host.ip('route', 'replace', LAN, 'dev', CLIENT_INTERFACE, 'src', addressOf(device));
}

/** Uses one gateway with its clients, in a network of their own. */
async function withGateway<Result>(
  start: StartGateway,
  startClient: StartClient,
  use: (clients: readonly Host[], running: Gateway) => Promise<Result>,
): Promise<Result> {
  const { network, clients, gateway, lan, ends } = await buildNetwork('pb', devices);
  try {
    if (values['no-offload'])
      for (const [host, name] of ends)
        await host.run('ethtool', '-K', name, 'tso', 'off', 'gso', 'off', 'gro', 'off');
    const keys = clients.map(() => makeKeyPair());
    const running = await start(
      gateway,
      keys.map(({ publicKey }) => publicKey),
    );
    for (const [i, client] of clients.entries()) {
      await startClient(client, keys[i]!, running, i);
      if (!(await canPing(client, LAN))) throw new Error('the tunnel does not answer');
      lan.start('iperf3', ['-s', '-p', String(IPERF_PORT + i)]);
    }
    await sleep(300);
    return await use(clients, running);
  } finally {
    await network.remove();
  }
}

/**
 * V8 compiles what the first gigabyte runs, which takes as much time in a measurement of any length:
 * a transfer each way goes before, and is not counted.
 */
async function warmUp(clients: readonly Host[], running: Gateway): Promise<void> {
  for (const args of [[], ['-R']])
    await iperf(clients, running, { name: '', args }, WARM_UP_SECONDS);
}

/** All cases against one gateway. */
function measure(start: StartGateway, startClient: StartClient): Promise<Map<string, Figure>> {
  return withGateway(start, startClient, async (clients, running) => {
    await warmUp(clients, running);
    const figures = new Map<string, Figure>();
    for (const one of cases) figures.set(one.name, await iperf(clients, running, one));
    return figures;
  });
}

/** A stream in which a row came has more bytes. */
const ROWS_BYTES = 100;

/** All cases at one gateway, each with *Traffic now* open and closed, and next time closed first. */
function measureBesideViewer(): Promise<Map<string, Map<string, Figure>[]>> {
  const start: StartGateway = (host, keys) => startPostern(host, keys, { workers });
  return withGateway(start, startWireguardGoClient, async (clients, running) => {
    const page = await showPage(running.console!, '/flows');
    const found = new Map<string, Map<string, Figure>[]>([
      ['Traffic now open', []],
      ['closed', []],
    ]);
    for (let round = 0; round < rounds; round += 1) {
      for (const figures of found.values()) figures.push(new Map());
      const turns = [...found];
      if (round % 2 === 1) turns.reverse();
      for (const one of cases)
        for (const [name, figures] of turns) {
          process.stderr.write(`round ${round + 1} of ${rounds}: ${one.name}, ${name}\n`);
          const viewer = name === 'closed' ? null : await follow(page);
          figures[round]!.set(one.name, await iperf(clients, running, one));
          viewer?.leave();
          if (viewer !== null && viewer.bytes < ROWS_BYTES) throw new Error('no row came');
        }
    }
    return found;
  });
}

/** What iperf3 says at its end. */
interface Sums {
  readonly sum_received?: { bits_per_second: number; bytes: number };
  readonly sum?: { packets: number; lost_packets: number; seconds: number };
}

async function iperf(
  clients: readonly Host[],
  { pid, carrierPid }: Gateway,
  { args, isUdp = false }: Case,
  lasts = seconds,
): Promise<Figure> {
  const used = (): number =>
    cpuSecondsOf(pid) + (carrierPid === undefined ? 0 : cpuSecondsOf(carrierPid));
  const before = used();
  const endProfile = values.profile ? beginProfile(pid, join(tmpdir(), 'postern-perf.data')) : null;
  const ends = await Promise.all(
    clients.map(async (client, i) => {
      const words = ['-J', '-c', LAN, '-p', String(IPERF_PORT + i), '-t', String(lasts)];
      const { stdout } = await client.run('iperf3', ...words, ...args);
      const { end, error } = JSON.parse(stdout) as { end: Sums; error?: string };
      if (error !== undefined) throw new Error(`iperf3: ${error}`);
      return end;
    }),
  );
  const cpuSeconds = used() - before;
  const shares = (await endProfile?.()) ?? undefined;
  const profile = shares === undefined ? {} : { shares };
  const add = (of: (end: Sums) => number): number => ends.reduce((sum, end) => sum + of(end), 0);
  if (isUdp) {
    const packets = add(({ sum }) => sum!.packets - sum!.lost_packets);
    return { speed: packets / lasts / 1e3, cpu: (cpuSeconds / packets) * 1e6, ...profile };
  }
  return {
    speed: add(({ sum_received }) => sum_received!.bits_per_second) / 1e9,
    cpu: cpuSeconds / (add(({ sum_received }) => sum_received!.bytes) / 1e9),
    ...profile,
  };
}

function table(results: ReadonlyMap<string, readonly Map<string, Figure>[]>): string {
  const names = [...results.keys()];
  const header = `| | ${names.map((name) => `${name} | CPU`).join(' | ')} | CPU ratio |`;
  const rule = `|---|${'---:|'.repeat(names.length * 2 + 1)}`;
  const rows = cases.map(({ name, isUdp = false }) => {
    const figures = names.map((gateway) => {
      const all = results.get(gateway)!.map((round) => round.get(name)!);
      return {
        speed: median(all.map((figure) => figure.speed)),
        cpu: median(all.map((figure) => figure.cpu)),
      };
    });
    const [speeds, cpus] = isUdp ? ['k/s', 'µs/packet'] : ['Gbit/s', 's/GB'];
    const cells = figures.map(
      ({ speed, cpu }) => `${speed.toFixed(2)} ${speeds} | ${cpu.toFixed(2)} ${cpus}`,
    );
    const [first, second] = names.map((gateway) => results.get(gateway)!);
    // Of each round, because the machine is not the same for long.
    const ratios = first!.map((round, i) => round.get(name)!.cpu / second![i]!.get(name)!.cpu);
    const ratio = median(ratios).toFixed(2);
    return `| ${name} | ${cells.join(' | ')} | ${ratio} |`;
  });
  return [header, rule, ...rows].join('\n');
}

/** Where the time of the last round went, in seconds for each GB and in µs for each packet. */
function profiles(): string {
  const round = results.get('postern')!.at(-1)!;
  const names = cases.map(({ name }) => name);
  const figures = names.map((name) => round.get(name)!);
  return profileTable(
    names,
    figures.map(({ shares }) => shares!),
    figures.map(({ cpu }) => cpu),
  );
}

const results = values['traffic-now-open']
  ? await measureBesideViewer()
  : await inRounds(rounds, gatewaysToCompare(), ([start, startClient]) =>
      measure(start, startClient),
    );
const offload = values['no-offload'] ? 'without offload' : 'with offload';
/** What is compared, as options; the first one names the section of RESULTS.md. */
const compared = [
  ...(values.profile ? ['--profile'] : []),
  ...(ruleCount > 0 ? [`--rules ${ruleCount}`] : []),
  ...(values.limits ? ['--limits'] : []),
  ...(values['traffic-now-open'] ? ['--traffic-now-open'] : []),
  ...(values.rootless ? ['--rootless'] : []),
  ...(values.both ? ['--both'] : []),
  ...(values.egress === 'sockets' ? ['--egress sockets'] : []),
  ...(workers > 1 ? [`--workers ${workers}`] : []),
];
const options = [
  `--rounds ${rounds} --seconds ${seconds}`,
  ...(values['no-offload'] ? ['--no-offload'] : []),
  ...compared,
  ...(devices > 1 ? [`--devices ${devices}`] : []),
].join(' ');
const section = ['npm run bench:e2e', ...compared.slice(0, 1)].join(' -- ').replace(/ \d+$/, '');
const report = `
${reportHead(`traffic through the gateway, ${offload}`, `npm run bench:e2e -- ${options}`)}; medians of ${rounds} rounds.

${values.profile ? profiles() : table(results)}
`;
process.stdout.write(report);
if (values.record) keepResult(section, report);
