// Compares TCP of the gateway's own with that of the kernel on bad paths: `npm run bench:path [--
// --seeds N --seconds S --only NAME --record]`. Needs root and network namespaces, iperf3 and g++.
//
// The network is that of gateways.ts, but the device's link to the gateway is a path by a seed
// (path.cc): its round trip is 50 ms, and it loses packets, or brings them late. With sockets, the
// path's far end of a connection is the machine of dataplane/tcp; with a TUN it is the kernel of the
// lan's host. All that happens between is the same. Both ends have CUBIC. Prints the throughput of one
// stream each way, medians over the seeds, and the median of the ratios.

import { execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Host, type Network, ThisMachine } from '../support/network/namespaces.ts';
import { canPing } from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';
import {
  buildNetwork,
  inRounds,
  IPERF_PORT,
  LAN,
  linkOf,
  type PosternOptions,
  reportHead,
  startPostern,
  startWireguardGoClient,
} from './gateways.ts';
import { median } from './median.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    record: { type: 'boolean', default: false },
  },
});
const seeds = Number(values.seeds);
const seconds = Number(values.seconds);

const ROUND_TRIP_MS = 50;
const LATE_MS = 10;
const MILLION = 1_000_000;

/** What a path does to packets, in parts of one. */
interface Case {
  readonly name: string;
  readonly lost: number;
  readonly late: number;
  /** Of the kernel's throughput, at least. */
  readonly bar: number;
}

const cases: readonly Case[] = [
  { name: 'nothing lost', lost: 0, late: 0, bar: 0.7 },
  { name: '1 % lost', lost: 0.01, late: 0, bar: 0.8 },
  { name: '1 % late by 10 ms', lost: 0, late: 0.01, bar: 0.6 },
].filter(({ name }) => name.includes(values.only));
const ways = [
  ['up', []],
  ['down', ['-R']],
] as const;

/** Throughput in Mbit/s, by case and direction. */
type Figures = Map<string, number>;

/** The path between two hosts. */
class Path {
  readonly #program: ChildProcess;
  readonly #answers: Interface;

  private constructor(program: ChildProcess) {
    this.#program = program;
    this.#answers = createInterface({ input: program.stdout! });
  }

  static async open(binary: string, left: [Host, string], right: [Host, string]): Promise<Path> {
    const ends = [left, right].flatMap(([{ namespace }, name]) => [namespace, name]);
    const path = new Path(new ThisMachine().start(binary, ends));
    await path.#answer();
    return path;
  }

  async #answer(): Promise<void> {
    await once(this.#answers, 'line', { signal: AbortSignal.timeout(5_000) });
  }

  /** Becomes another path. */
  async become(seed: number, { lost, late }: Pick<Case, 'lost' | 'late'>): Promise<void> {
    const words = [seed, (ROUND_TRIP_MS / 2) * 1_000, lost * MILLION, late * MILLION];
    this.#program.stdin!.write(`${[...words, LATE_MS * 1_000].join(' ')}\n`);
    await this.#answer();
  }

  close(): void {
    this.#program.stdin!.end();
  }
}

const binary = join(temporaryFolder('postern-path-'), 'path');
execFileSync('g++', ['-O2', '-std=c++20', '-o', binary, join(import.meta.dirname, 'path.cc')]);
let seed = 0;

/** A device on a path to the gateway. */
async function layPath(network: Network, gateway: Host): Promise<{ client: Host; path: Path }> {
  const client = await network.addHost('c0');
  const path = await Path.open(binary, [client, 'c0'], [gateway, 'g0']);
  const [there, here] = linkOf(0);
  for (const [host, name, address] of [
    [client, 'c0', here],
    [gateway, 'g0', there],
  ] as const) {
    await host.ip('address', 'add', `${address}/30`, 'dev', name);
    await host.ip('link', 'set', name, 'mtu', '1500', 'txqueuelen', '10000', 'up');
  }
  return { client, path };
}

/** All cases with one gateway, in a network of their own. */
async function measure(options: PosternOptions): Promise<Figures> {
  const { network, gateway, lan } = await buildNetwork('pp', 0);
  const { client, path } = await layPath(network, gateway);
  try {
    await path.become(seed, { lost: 0, late: 0 });
    const keys = makeKeyPair();
    const running = await startPostern(gateway, [keys.publicKey], options);
    await startWireguardGoClient(client, keys, running, 0);
    if (!(await canPing(client, LAN))) throw new Error('the tunnel does not answer');
    lan.start('iperf3', ['-s', '-p', String(IPERF_PORT)]);
    await sleep(300);
    const figures: Figures = new Map();
    for (const one of cases)
      for (const [way, args] of ways) {
        // What is on its way is forgotten: the end of the connection before must have come.
        await sleep(500);
        await path.become(seed, one);
        figures.set(`${one.name}, ${way}`, await iperf(client, args));
      }
    return figures;
  } finally {
    path.close();
    await network.remove();
  }
}

async function iperf(client: Host, args: readonly string[]): Promise<number> {
  const words = ['-J', '-C', 'cubic', '-c', LAN, '-p', String(IPERF_PORT), '-t', String(seconds)];
  const { stdout } = await client.run('iperf3', ...words, ...args);
  const { end, error } = JSON.parse(stdout) as {
    end: { sum_received: { bits_per_second: number } };
    error?: string;
  };
  if (error !== undefined) throw new Error(`iperf3: ${error}`);
  return end.sum_received.bits_per_second / 1e6;
}

function row(
  kernel: readonly Figures[],
  own: readonly Figures[],
  name: string,
  bar: number,
): string {
  const of = (all: readonly Figures[]): number[] => all.map((figures) => figures.get(name)!);
  const ratio = median(of(own).map((figure, i) => figure / of(kernel)[i]!));
  const shown = ratio < bar ? `**${ratio.toFixed(2)}**` : ratio.toFixed(2);
  const [ours, theirs] = [own, kernel].map((all) => median(of(all)).toFixed(1));
  return `| ${name} | ${ours} | ${theirs} | ${shown} | ${bar} |`;
}

const results = await inRounds(
  seeds,
  { sockets: { hasSockets: true }, 'a TUN': { masquerades: true } } satisfies Record<
    string,
    PosternOptions
  >,
  (options: PosternOptions) => {
    if (options.hasSockets === true) seed++;
    return measure(options);
  },
);
const kernel = results.get('a TUN')!;
const own = results.get('sockets')!;
const command = `npm run bench:path -- --seeds ${seeds} --seconds ${seconds}`;
const report = `
${reportHead(`one stream on a path of ${ROUND_TRIP_MS} ms`, command)}; Mbit/s, medians of ${seeds} seeds.

| | sockets | kernel | ratio | bar |
|---|---:|---:|---:|---:|
${cases
  .flatMap(({ name, bar }) => ways.map(([way]) => row(kernel, own, `${name}, ${way}`, bar)))
  .join('\n')}
`;
process.stdout.write(report);
if (values.record) keepResult('npm run bench:path', report);
