// How long a ping takes through a gateway: `npm run bench:latency [-- --rounds N --seconds S --workers N
// --against FOLDER --record]`.
//
// A device pings a host fifty times a second and sleeps between, as people's traffic does: right after
// the start, on an idle tunnel, beside TCP of 100 Mbit/s, and beside as much TCP as goes through, which
// is that of another device. So with two workers the one that answers is not the one that carries.
// Postern is compared with Debian's wireguard-go (WIREGUARD_GO names another one), which is also the
// client, or with another checkout. Needs root and network namespaces.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Host } from '../support/network/namespaces.ts';
import { canPing } from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import {
  buildNetwork,
  gatewaysAgainst,
  inRounds,
  IPERF_PORT,
  LAN,
  reportHead,
  type StartGateway,
  startWireguardGoClient,
} from './gateways.ts';
import { median } from './median.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
    workers: { type: 'string', default: '1' },
    against: { type: 'string', default: '' },
    record: { type: 'boolean', default: false },
  },
});
const [rounds, seconds, workers] = [values.rounds, values.seconds, values.workers].map(Number) as [
  number,
  number,
  number,
];

const PING_EVERY_S = 0.02;

/** What the other device carries meanwhile; options of iperf3. */
const loads: readonly (readonly [name: string, args: readonly string[] | null])[] = [
  ['right after the start', null],
  ['idle', null],
  ['beside 100 Mbit/s of TCP', ['-b', '100M']],
  ['beside full TCP up', []],
  ['beside full TCP down', ['-R']],
];

/** Round trips in ms. */
interface Figure {
  readonly middle: number;
  readonly p99: number;
}

async function ping(host: Host): Promise<Figure> {
  const count = Math.round(seconds / PING_EVERY_S);
  const words = ['-n', '-i', String(PING_EVERY_S), '-c', String(count), '-W', '2', LAN];
  const { stdout } = await host.run('ping', ...words);
  const times = [...stdout.matchAll(/time=([\d.]+) ms/g)]
    .map(([, ms]) => Number(ms))
    .toSorted((a, b) => a - b);
  const p99 = times[Math.floor(times.length * 0.99)]!;
  return { middle: median(times), p99 };
}

/** All loads against one gateway, in a network of their own. */
async function measure(start: StartGateway): Promise<Map<string, Figure>> {
  const { network, gateway, lan, clients } = await buildNetwork('pl', 2);
  try {
    const keys = clients.map(() => makeKeyPair());
    const running = await start(
      gateway,
      keys.map(({ publicKey }) => publicKey),
    );
    for (const [i, host] of clients.entries())
      await startWireguardGoClient(host, keys[i]!, running, i);
    lan.start('iperf3', ['-s', '-p', String(IPERF_PORT)]);
    if (!(await canPing(clients[0]!, LAN, 1))) throw new Error('the tunnel does not answer');
    const figures = new Map<string, Figure>();
    for (const [name, args] of loads) {
      if (args === null) {
        figures.set(name, await ping(clients[0]!));
        continue;
      }
      const words = ['-c', LAN, '-p', String(IPERF_PORT), '-t', String(seconds + 2), ...args];
      const carried = clients[1]!.run('iperf3', ...words);
      await sleep(1_000);
      figures.set(name, await ping(clients[0]!));
      await carried;
    }
    return figures;
  } finally {
    await network.remove();
  }
}

const gateways = gatewaysAgainst(values.against, { workers });
const names = Object.keys(gateways);
const results = await inRounds(rounds, gateways, measure);

function row(load: string): string {
  const [first, second] = names.map((name) => results.get(name)!.map((round) => round.get(load)!));
  const cells = [first!, second!].map((all) => {
    const [middle, p99] = (['middle', 'p99'] as const).map((field) =>
      median(all.map((figure) => figure[field])),
    );
    return `${middle!.toFixed(2)} | ${p99!.toFixed(2)}`;
  });
  const ratios = (['middle', 'p99'] as const).map((field) =>
    median(first!.map((figure, i) => figure[field] / second![i]![field])).toFixed(2),
  );
  return `| ${load} | ${cells.join(' | ')} | ${ratios.join(' | ')} |`;
}

const options = `--rounds ${rounds} --seconds ${seconds} --workers ${workers}`;
const report = `
${reportHead('pings, fifty a second', `npm run bench:latency -- ${options}`)}; medians of ${rounds} rounds, ms.

| | ${names.map((name) => `${name}: median | p99`).join(' | ')} | ratio of medians | of p99 |
|---|${'---:|'.repeat(6)}
${loads.map(([name]) => row(name)).join('\n')}
`;
process.stdout.write(report);
const section = workers > 1 ? 'npm run bench:latency -- --workers' : 'npm run bench:latency';
if (values.record) keepResult(section, report);
