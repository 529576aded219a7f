// What a start of a gateway costs, and what a gateway takes that nobody uses:
// `npm run bench:start [-- --rounds N --rest-seconds S --against FOLDER]`.
//
// The bundle and this checkout, and another checkout with `--against`, in turn. Each gateway has a TUN,
// a network namespace and a data folder of its own. It starts twice: first it makes its database and its
// keys, then they are there. CPU of the process and time until `/readyz` answers "ready"; both poll
// /proc and HTTP every 10 ms. After the second start a gateway rests for 60 s, then its CPU
// (`schedstat` of all threads), its wake-ups (`voluntary_ctxt_switches`) and its memory are read over
// `--rest-seconds` (0 leaves this out). Needs root and network namespaces.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { programRoot } from '../support/gateway/bundle.ts';
import { cpuSecondsOf, Postern } from '../support/gateway/postern.ts';
import { workOf } from '../support/suite/work.ts';
import { Network } from '../support/network/namespaces.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    'rest-seconds': { type: 'string', default: '0' },
    against: { type: 'string', default: '' },
  },
});
const rounds = Number(values.rounds);
const restSeconds = Number(values['rest-seconds']);

const CHECKOUT = resolve(import.meta.dirname, '../..');
/** How long V8 still compiles after a start, at most. */
const SETTLE_MS = 60_000;
const POLL_MS = 10;
const API = '10.255.79';

const roots: Record<string, string> = {
  bundle: programRoot(),
  checkout: CHECKOUT,
  ...(values.against === '' ? {} : { [values.against]: resolve(values.against) }),
};

type Figures = Record<string, number>;

/** CPU seconds of the process, and seconds, until it is ready. */
async function start(postern: Postern): Promise<{ cpu: number; wall: number }> {
  const begun = performance.now();
  const child = postern.launch();
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the gateway ended: ${postern.output}`);
    const answer = await fetch(`${postern.api}/readyz`).catch(() => null);
    if (answer?.status === 200) break;
    await sleep(POLL_MS);
  }
  return { cpu: cpuSecondsOf(postern.pid), wall: (performance.now() - begun) / 1_000 };
}

async function rest(pid: number): Promise<Figures> {
  await sleep(SETTLE_MS);
  const before = workOf(pid);
  await sleep(restSeconds * 1_000);
  const after = workOf(pid);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)![1]) / 1_000;
  return {
    'at rest, CPU, % of a core': (100 * (after.cpuSeconds - before.cpuSeconds)) / restSeconds,
    'at rest, wake-ups a second': (after.wakes - before.wakes) / restSeconds,
    'at rest, VmRSS, MB': megabytes('VmRSS'),
    'at rest, RssAnon, MB': megabytes('RssAnon'),
  };
}

async function measure(root: string): Promise<Figures> {
  const network = new Network('ps');
  const host = await network.addHost('gw');
  await network.link(
    { host: null, name: 'psa', addresses: [`${API}.1/30`] },
    { host, name: 'api', addresses: [`${API}.2/30`] },
  );
  // Without options of tests: the first password costs what it costs people.
  const settings = { WIREGUARD_TUN: 'required', LOG_LEVEL: 'warn', NODE_OPTIONS: '' };
  const postern = new Postern(host, `${API}.2`, settings, [], root);
  try {
    const first = await start(postern);
    await postern.stop();
    const second = await start(postern);
    const resting = restSeconds === 0 ? {} : await rest(postern.pid);
    return {
      'first start, CPU, s': first.cpu,
      'first start, time, s': first.wall,
      'second start, CPU, s': second.cpu,
      'second start, time, s': second.wall,
      ...resting,
    };
  } finally {
    await postern.stop();
    await network.remove();
  }
}

const results = new Map<string, Figures[]>(Object.keys(roots).map((name) => [name, []]));
for (let round = 0; round < rounds; round += 1) {
  const names = round % 2 === 0 ? [...results.keys()] : [...results.keys()].toReversed();
  for (const name of names) {
    const figures = await measure(roots[name]!);
    results.get(name)!.push(figures);
    const cells = Object.values(figures).map((figure) => figure.toFixed(2));
    process.stderr.write(`${name}: ${cells.join(' ')}\n`);
  }
}

const names = [...results.keys()];
const last = names.at(-1)!;
const head = names.map((name) => `${name} | / ${last}`).join(' | ');
process.stdout.write(`| | ${head} |\n`);
process.stdout.write(`|---|${'---:|---:|'.repeat(names.length)}\n`);
for (const what of Object.keys(results.get(last)![0]!)) {
  const of = (name: string): number[] => results.get(name)!.map((figures) => figures[what]!);
  const cells = names.map((name) => {
    const ratios = of(name).map((figure, i) => figure / of(last)[i]!);
    return `${median(of(name)).toFixed(2)} | ${median(ratios).toFixed(2)}`;
  });
  process.stdout.write(`| ${what} | ${cells.join(' | ')} |\n`);
}
