// What small packets cost a gateway: `npm run bench:packets [-- --rounds N --seconds S --rate N
// --flows N --bytes N --burst N --against FOLDER --record]`.
//
// Datagrams of 64 bytes, one by one, made by packet-source.ts, which costs less than any gateway. What
// comes from the device goes to a station that is not there; what goes to the device is dropped
// at its socket. So the machine has little else to do, and the gateway's CPU time for each packet that
// it passed is the figure. `--rate` is in thousand packets a second; 0 is as fast as the source can.
// Postern is compared with Debian's wireguard-go (WIREGUARD_GO names another one), or with another
// checkout. Needs root and network namespaces.

import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuSecondsOf } from '../support/gateway/postern.ts';
import type { Host } from '../support/network/namespaces.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import {
  addressOf,
  buildNetwork,
  endpointOf,
  type Gateway,
  gatewaysAgainst,
  inRounds,
  reportHead,
  type StartGateway,
} from './gateways.ts';
import { median } from './median.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    rate: { type: 'string', default: '100' },
    flows: { type: 'string', default: '1' },
    bytes: { type: 'string', default: '64' },
    burst: { type: 'string', default: '1' },
    against: { type: 'string', default: '' },
    record: { type: 'boolean', default: false },
  },
});
const [rounds, seconds, rate, flows, bytes, burst] = [
  values.rounds,
  values.seconds,
  values.rate,
  values.flows,
  values.bytes,
  values.burst,
].map(Number) as [number, number, number, number, number, number];

/** Where the packets of the device go: nobody is there. */
const SINK = '198.51.100.9';
/** "As fast as it can", in packets a second. */
const UNLIMITED = 1e9;
const SOURCE = join(import.meta.dirname, 'packet-source.ts');

/** Headers of IPv4 and UDP; then with that of Ethernet; what WireGuard adds to a packet. */
const IP_HEADER_BYTES = 28;
const FRAME_HEADER_BYTES = 14 + IP_HEADER_BYTES;
const TRANSPORT_OVERHEAD_BYTES = 32;

/** Where datagrams leave the gateway, and how many bytes UDP carries of each. */
interface Exit {
  readonly name: string;
  readonly payload: number;
}

type Way = 'from a device' | 'to a device';

/** One measurement. */
interface Figure {
  /** Thousand packets a second that the gateway passed. */
  readonly speed: number;
  /** Per cent that it did not pass. */
  readonly lost: number;
  /** Microseconds of CPU for each packet that it passed. */
  readonly cpu: number;
}

/** A process that makes packets, or that has the session of a device. */
class Source {
  readonly #child;
  readonly #lines;

  constructor(host: Host, mode: string, ...words: string[]) {
    this.#child = host.start(process.execPath, [SOURCE, mode, ...words]);
    this.#child.stderr!.pipe(process.stderr);
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  async ready(): Promise<this> {
    if ((await this.#lines.next()).value !== 'ready') throw new Error('the source did not start');
    return this;
  }

  /** Sends for so long; resolves to how many packets it made. */
  async run(forSeconds: number): Promise<number> {
    const wanted = rate === 0 ? UNLIMITED : rate * 1_000;
    this.#child.stdin!.write(`${wanted} ${forSeconds} ${flows} ${bytes} ${burst}\n`);
    return Number((await this.#lines.next()).value);
  }

  async stop(): Promise<void> {
    this.#child.stdin!.end();
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
  }
}

/**
 * How many datagrams of so many bytes left the gateway through an interface: the kernel counts
 * joined ones as one frame, with one header.
 */
async function leftThrough(gateway: Host, { name, payload }: Exit): Promise<number> {
  const path = `/sys/class/net/${name}/statistics`;
  const { stdout } = await gateway.run('cat', `${path}/tx_bytes`, `${path}/tx_packets`);
  const [sent, frames] = stdout.split('\n').map(Number);
  return (sent! - frames! * FRAME_HEADER_BYTES) / payload;
}

async function measureWay(gateway: Host, pid: number, source: Source, exit: Exit): Promise<Figure> {
  // Code is compiled and caches are filled.
  await source.run(1.5);
  await sleep(200);
  const [cpuBefore, leftBefore] = [cpuSecondsOf(pid), await leftThrough(gateway, exit)];
  const made = await source.run(seconds);
  await sleep(100);
  const cpu = cpuSecondsOf(pid) - cpuBefore;
  const passed = (await leftThrough(gateway, exit)) - leftBefore;
  return {
    speed: passed / seconds / 1e3,
    lost: Math.max(0, 100 * (1 - passed / made)),
    cpu: (cpu / passed) * 1e6,
  };
}

/** Both ways through one gateway, in a network of their own. */
async function measure(start: StartGateway): Promise<Record<Way, Figure>> {
  const { network, gateway, clients, lan } = await buildNetwork('pk', 1);
  const sources: Source[] = [];
  try {
    // Frames for another station: the lan drops them at once.
    const station = ['lladdr', '02:00:00:00:00:02', 'dev', 'lan'];
    await gateway.ip('neighbour', 'add', SINK, ...station);
    const keys = makeKeyPair();
    const running: Gateway = await start(gateway, [keys.publicKey]);
    const words = [
      running.serverPublicKey,
      keys.privateKey,
      endpointOf(0),
      addressOf(0),
      SINK,
    ] as const;
    const device = await new Source(clients[0]!, 'device', ...words).ready();
    sources.push(device);
    const up = await measureWay(gateway, running.pid, device, {
      name: 'lan',
      payload: bytes - IP_HEADER_BYTES,
    });
    const other = await new Source(lan, 'to-device', addressOf(0)).ready();
    sources.push(other);
    const down = await measureWay(gateway, running.pid, other, {
      name: 'g0',
      payload: bytes + TRANSPORT_OVERHEAD_BYTES,
    });
    return { 'from a device': up, 'to a device': down };
  } finally {
    for (const source of sources) await source.stop();
    await network.remove();
  }
}

const gateways = gatewaysAgainst(values.against);
const names = Object.keys(gateways);
const results = await inRounds(rounds, gateways, measure);

function row(way: Way): string {
  const cells = names.map((name) => {
    const all = results.get(name)!.map((round) => round[way]);
    const [speed, lost, cpu] = (['speed', 'lost', 'cpu'] as const).map((field) =>
      median(all.map((figure) => figure[field])),
    );
    return `${speed!.toFixed(0)} | ${lost!.toFixed(1)} | ${cpu!.toFixed(2)}`;
  });
  const [first, second] = names.map((name) => results.get(name)!);
  const ratio = median(first!.map((round, i) => round[way].cpu / second![i]![way].cpu));
  return `| ${way} | ${cells.join(' | ')} | ${ratio.toFixed(2)} |`;
}

const options = `--rounds ${rounds} --seconds ${seconds} --rate ${rate} --flows ${flows} --bytes ${bytes} --burst ${burst}`;
const report = `
${reportHead('small packets, one by one', `npm run bench:packets -- ${options}`)}; medians of ${rounds} rounds. Thousand packets a second that passed, per cent lost, µs of the gateway's CPU for each.

| | ${names.map((name) => `${name}: passed | lost % | µs`).join(' | ')} | CPU ratio |
|---|${'---:|'.repeat(7)}
${row('from a device')}
${row('to a device')}
`;
process.stdout.write(report);
if (values.record) keepResult('npm run bench:packets', report);
