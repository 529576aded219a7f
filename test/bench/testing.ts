// What sockets cost a gateway in a test: `npm run bench:testing [-- --rounds N --record]`.
//
// Each round has three fresh processes. Two start gateways, one with `tun: 'sockets'` and one with
// `tun: 'memory'`, in turn first. The third has a device fetch from a server of the test, and
// fetches from it without the gateway, by turns of ten; ten of each come before. CPU is that of all
// threads of the process, and says something on a busy machine, too; time does not.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { median } from './median.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    record: { type: 'boolean', default: false },
    child: { type: 'string', default: '' },
  },
});
const rounds = Number(values.rounds);
const FURTHER = 8;
const WARM_UPS = 10;
const TURNS = 5;
const PER_TURN = 10;
const SITE = '10.0.0.5';

type Figures = Record<string, number>;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Starts gateways; what the first one costs, and each of the further ones. */
async function start(tun: 'memory' | 'sockets'): Promise<Figures> {
  const { createGateway } = await import('../../lib/testing/index.ts');
  const figures: Figures = {};
  for (let i = 0; i <= FURTHER; i++) {
    const [cpu, at] = [cpuMs(), performance.now()];
    const gateway = await createGateway({ tun });
    const [spent, took] = [cpuMs() - cpu, performance.now() - at];
    await gateway.close();
    const which = i === 0 ? 'first' : 'further';
    const parts = i === 0 ? 1 : FURTHER;
    figures[`${which}, CPU`] = (figures[`${which}, CPU`] ?? 0) + spent / parts;
    figures[`${which}, time`] = (figures[`${which}, time`] ?? 0) + took / parts;
  }
  return figures;
}

/** Fetches with and without a gateway. */
async function compareFetches(): Promise<Figures> {
  const { createGateway } = await import('../../lib/testing/index.ts');
  const server = createServer((_asked, answer) => answer.end('welcome')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const gateway = await createGateway({ tun: 'sockets' });
  gateway.host(SITE, { forward: `127.0.0.1:${port}` });
  const laptop = await gateway.addDevice();
  const ways = {
    direct: () => fetch(`http://127.0.0.1:${port}/`),
    device: () => laptop.fetch(`http://${SITE}/`),
  };
  type Way = keyof typeof ways;
  const times: Record<Way, number[]> = { direct: [], device: [] };
  const cpu: Record<Way, number> = { direct: 0, device: 0 };
  const turn = async (way: Way, count: number): Promise<void> => {
    const before = cpuMs();
    for (let i = 0; i < count; i++) {
      const at = performance.now();
      if ((await (await ways[way]()).text()) !== 'welcome') throw new Error(`${way}: no welcome`);
      times[way].push(performance.now() - at);
    }
    cpu[way] += cpuMs() - before;
  };
  for (const way of ['direct', 'device'] as const) {
    await turn(way, WARM_UPS);
    times[way] = [];
    cpu[way] = 0;
  }
  for (let i = 0; i < TURNS; i++)
    for (const way of i % 2 === 0
      ? (['direct', 'device'] as const)
      : (['device', 'direct'] as const))
      await turn(way, PER_TURN);
  await gateway.close();
  server.close();
  const all = TURNS * PER_TURN;
  return {
    'direct, time': median(times.direct),
    'device, time': median(times.device),
    'direct, CPU': cpu.direct / all,
    'device, CPU': cpu.device / all,
  };
}

/** Runs one of these in a process of its own. */
async function inChild(what: string): Promise<Figures> {
  const args = [import.meta.filename, '--child', what];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${what} ended with ${code}`);
  return JSON.parse(text) as Figures;
}

/** A row: the medians of two columns, and the median of the ratios of each round. */
function row(name: string, pairs: readonly (readonly [number, number])[], bar: number): string {
  const [ours, others] = [0, 1].map((side) => median(pairs.map((pair) => pair[side]!)));
  const ratio = median(pairs.map(([our, other]) => our / other));
  const shown = ratio > bar ? `**${ratio.toFixed(2)}**` : ratio.toFixed(2);
  return `| ${name} | ${ours!.toFixed(2)} ms | ${others!.toFixed(2)} ms | ${shown} | ${bar} |`;
}

async function compare(): Promise<void> {
  const starts: Record<string, Figures[]> = { memory: [], sockets: [] };
  const fetches: Figures[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const tun of round % 2 === 0 ? ['memory', 'sockets'] : ['sockets', 'memory'])
      starts[tun]!.push(await inChild(tun));
    fetches.push(await inChild('fetch'));
    process.stderr.write(`${JSON.stringify([starts['sockets']!.at(-1), fetches.at(-1)])}\n`);
  }
  const ofStarts = (what: string): [number, number][] =>
    starts['sockets']!.map((figures, i) => [figures[what]!, starts['memory']![i]![what]!]);
  const ofFetches = (what: string): [number, number][] =>
    fetches.map((figures) => [figures[`device, ${what}`]!, figures[`direct, ${what}`]!]);
  const report = [
    `### ${new Date().toISOString().slice(0, 10)}: sockets in a gateway of a test`,
    '',
    `\`npm run bench:testing -- --rounds ${rounds}\`; ${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.versions.node}; medians, and medians of the ratios of each round.`,
    '',
    '| | sockets | memory, or direct | ratio | bar |',
    '|---|---:|---:|---:|---:|',
    ...['first, CPU', 'first, time', 'further, CPU', 'further, time'].map((what) =>
      row(`start, the ${what}`, ofStarts(what), 1.1),
    ),
    ...['CPU', 'time'].map((what) => row(`a fetch, ${what}`, ofFetches(what), 2)),
  ].join('\n');
  process.stdout.write(`${report}\n`);
  if (values.record) keepResult('npm run bench:testing', report);
}

const child = values.child;
if (child === '') await compare();
else {
  const isStart = child === 'memory' || child === 'sockets';
  const figures = isStart ? await start(child) : await compareFetches();
  process.stdout.write(JSON.stringify(figures));
  process.exit(0);
}
