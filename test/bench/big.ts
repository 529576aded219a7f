// A big gateway: `npm run bench:big [-- --devices N --rules N --workers N --record]`;
// `--rest-seconds S` adds the CPU while all are idle, which takes four minutes and twice S.
//
// 10,000 devices with sessions, under 10,000 global rules, on SQLite: how long a start takes, what
// one change costs and which devices it disturbs, how soon all are served again after a restart,
// what steady rekeying costs. The gateway is a process of its own on this machine, without a TUN: it
// answers pings to its own address itself. The clients (test/support/network/many-clients.ts) are
// another process, and the one device more whose pings are timed is a third, because the garbage
// collection of ten thousand sessions is no delay of the gateway. All share the cores of the
// machine. Needs no rights.

import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectDatabase, migrate } from '../../models/index.ts';
import { addManyDevices, addManyRules, ipv4OfDevice } from '../support/database/many-devices.ts';
import {
  type ClientConfig,
  type FromClients,
  makeClientKeys,
  type ToClients,
} from '../support/network/many-clients.ts';
import { ThisMachine } from '../support/network/namespaces.ts';
import { cpuSecondsOf, Postern } from '../support/gateway/postern.ts';
import { addUser } from '../support/database/records.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '10000' },
    rules: { type: 'string', default: '10000' },
    workers: { type: 'string', default: '1' },
    'rest-seconds': { type: 'string', default: '0' },
    record: { type: 'boolean', default: false },
  },
});
const deviceCount = Number(values.devices);
const ruleCount = Number(values.rules);
/** How long a gateway is watched that all devices leave alone; 0 leaves this out. */
const restSeconds = Number(values['rest-seconds']);
const PORT = 13_901;
const GATEWAY = '100.64.0.1';
/** Changes of each kind. */
const CHANGES = 50;
const PROBE_MS = 5;
/**
 * How long pings go on from the first change: left alone, V8 stops the worker to tidy up a hundred
 * seconds after a start. Less than a session lasts (REJECT_AFTER_TIME), which began before.
 */
const PROBE_SECONDS = 130;
/** Each device makes a session every two minutes (REKEY_AFTER_TIME). */
const CYCLE_SECONDS = 120;
const REKEYS_PER_SECOND = deviceCount / CYCLE_SECONDS;
/** Until V8 has compiled what it compiles after a start, and until no session is left. */
const RESTS: [what: string, waitSeconds: number][] = [
  ['sessions just made', 60],
  ['no session any more', 200],
];
/** How long V8 compiles most of what it compiles. */
const FIRST_SECONDS = 30;

/** A line of the report. */
type Line = [measure: string, figure: string, bar: string];

// ---- the database ----------------------------------------------------------------------------

/** Makes the devices, and one more, whose pings are timed. */
async function fill(url: string, encryptionKey: Buffer): Promise<ClientConfig[]> {
  const database = await connectDatabase({ url, encryptionKey });
  try {
    await migrate(database);
    const { id } = await addUser(database, { email: 'crowd@example.test', role: 'admin' });
    const clients = Array.from({ length: deviceCount + 1 }, (_, number) => ({
      ...makeClientKeys(),
      presharedKey: randomBytes(32).toString('base64'),
      ipv4: ipv4OfDevice(number),
    }));
    await addManyDevices(database, id, clients.length, { keysOf: (number) => clients[number]! });
    await addManyRules(database, ruleCount);
    return clients;
  } finally {
    await database.close();
  }
}

// ---- the clients' process --------------------------------------------------------------------

class Clients {
  readonly #child: ChildProcess;
  readonly #reports: FromClients[] = [];

  constructor() {
    this.#child = fork(join(import.meta.dirname, '../support/network/many-clients.ts'));
    this.#child.on('message', (message: FromClients) => this.#reports.push(message));
  }

  /** Says something and waits for the answer of a type. */
  async ask<T extends FromClients['type']>(
    message: ToClients,
    type: T,
  ): Promise<Extract<FromClients, { type: T }>> {
    this.#reports.length = 0;
    this.#child.send(message);
    return this.#next((answer) => answer.type === type) as Promise<
      Extract<FromClients, { type: T }>
    >;
  }

  say(message: ToClients): void {
    this.#reports.length = 0;
    this.#child.send(message);
  }

  /** What the probe that was asked for last has seen. */
  async probed(): Promise<Extract<FromClients, { type: 'probed' }>> {
    const answer = await this.#next((message) => message.type === 'probed');
    if (answer.type !== 'probed') throw new Error('something else');
    return answer;
  }

  /** When so many are served, in Unix ms. */
  async served(count: number, limitMs: number): Promise<number> {
    const answer = await this.#next(
      (message) => message.type === 'served' && message.count >= count,
      limitMs,
    );
    return answer.type === 'served' ? answer.at : 0;
  }

  async #next(test: (message: FromClients) => boolean, limitMs = 180_000): Promise<FromClients> {
    const began = performance.now();
    for (;;) {
      const found = this.#reports.find(test);
      if (found !== undefined) return found;
      if (performance.now() - began > limitMs) {
        const last = JSON.stringify(this.#reports.at(-1));
        throw new Error(`the clients are not there yet after ${limitMs} ms: ${last}`);
      }
      await sleep(10);
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

// ---- what is measured ------------------------------------------------------------------------

function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024);
}

/** CPU of a gateway whose devices send nothing. */
async function resting(postern: Postern): Promise<Line[]> {
  const lines: Line[] = [];
  for (const [what, waitSeconds] of RESTS) {
    await sleep(waitSeconds * 1_000);
    const before = cpuSecondsOf(postern.pid);
    await sleep(restSeconds * 1_000);
    const percent = (100 * (cpuSecondsOf(postern.pid) - before)) / restSeconds;
    lines.push([`a core while all are idle, ${what}`, `${percent.toFixed(2)} %`, '']);
  }
  return lines;
}

/** Median and worst of what some requests took. */
function summary(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return `${sorted[sorted.length >> 1]!.toFixed(1)} / ${sorted.at(-1)!.toFixed(1)} ms`;
}

/** Changes one after the other, each answered in force; ms from the request to the answer. */
async function changes(postern: Postern): Promise<Line[]> {
  const user = await postern.create('user', { email: 'changes@example.test' });
  const devices: string[] = [];
  const rules: string[] = [];
  const kinds: [name: string, change: (i: number) => Promise<unknown>][] = [
    [
      'POST /v0/rules',
      async (i) =>
        rules.push((await postern.create('rule', { destination: `172.16.${i}.0/24` })).id),
    ],
    [
      'POST /v0/devices',
      async () => {
        const { publicKey: public_key } = makeClientKeys();
        devices.push((await postern.create('device', { user_id: user.id, public_key })).id);
      },
    ],
    [
      'PATCH /v0/devices, another key',
      async (i) =>
        postern.update('device', devices[i]!, { public_key: makeClientKeys().publicKey }),
    ],
    ['DELETE /v0/rules', async (i) => postern.remove('rule', rules[i]!)],
    ['DELETE /v0/devices', async (i) => postern.remove('device', devices[i]!)],
  ];
  const lines: Line[] = [];
  for (const [name, change] of kinds) {
    const times: number[] = [];
    for (let i = 0; i < CHANGES; i++) {
      const at = performance.now();
      await change(i);
      times.push(performance.now() - at);
      await sleep(20);
    }
    lines.push([`${name}, median / worst until in force`, summary(times), '≤ 50 ms']);
  }
  return lines;
}

/**
 * What renewing all keys costs, beyond a gateway at rest: first until V8 has compiled what it
 * compiles, then every device once. A client that has nothing to say confirms its session with a
 * keepalive; what a ping in its place costs is shown beside it.
 */
async function rekeying(postern: Postern, clients: Clients): Promise<Line[]> {
  const percentOfCore = async (work: () => Promise<unknown>): Promise<number> => {
    const cpuBefore = cpuSecondsOf(postern.pid);
    const at = performance.now();
    await work();
    return ((cpuSecondsOf(postern.pid) - cpuBefore) / (performance.now() - at)) * 100_000;
  };
  const rekey = (seconds: number, pings: boolean) => (): Promise<unknown> =>
    clients.ask({ type: 'rekey', perSecond: REKEYS_PER_SECOND, seconds, pings }, 'rekeyed');
  const rest = await percentOfCore(() => sleep(10_000));
  const first = await percentOfCore(rekey(FIRST_SECONDS, false));
  const steady = await percentOfCore(rekey(CYCLE_SECONDS, false));
  const withPings = await percentOfCore(rekey(FIRST_SECONDS, true));
  const beyond = (percent: number): string => `${(percent - rest).toFixed(1)} %`;
  const what = `a core for ${REKEYS_PER_SECOND.toFixed(0)} handshakes a second, beyond that`;
  return [
    ['a core at rest, all connected', `${rest.toFixed(1)} %`, ''],
    [`${what}, in their first ${FIRST_SECONDS} s`, beyond(first), ''],
    [`${what}, then, ${CYCLE_SECONDS} s`, beyond(steady), '< 5 %'],
    [`${what}, with a ping and its answer for each`, beyond(withPings), ''],
  ];
}

async function measure(
  postern: Postern,
  clients: Clients,
  prober: Clients,
  configs: ClientConfig[],
): Promise<Line[]> {
  const lines: Line[] = [];
  const [timed, ...list] = configs;
  if (timed === undefined) throw new Error('no device');
  const startMs = await postern.start();
  lines.push(['start, from the process to ready', `${(startMs / 1_000).toFixed(2)} s`, '≤ 3 s']);
  lines.push(['memory after the start', `${residentMib(postern.pid)} MiB`, '']);

  const { body } = await postern.call('GET', '/v0/devices?limit=1');
  const [device] = (body as { data: Record<string, unknown>[] }).data;
  const serverPublicKey = String(device?.['server_public_key']);
  await clients.ask(
    { type: 'begin', clients: list, serverPublicKey, port: PORT, gatewayIpv4: GATEWAY },
    'ready',
  );
  const cpuBefore = cpuSecondsOf(postern.pid);
  const connected = await clients.ask({ type: 'connect', window: 128 }, 'connected');
  const cpuMs = ((cpuSecondsOf(postern.pid) - cpuBefore) * 1_000) / deviceCount;
  lines.push([
    'all clients connect',
    `${connected.seconds.toFixed(1)} s, ${(deviceCount / connected.seconds).toFixed(0)} a second, ${cpuMs.toFixed(3)} ms of CPU each`,
    '',
  ]);
  lines.push(['memory with all sessions', `${residentMib(postern.pid)} MiB`, '≤ 300 MiB']);
  if (restSeconds > 0) lines.push(...(await resting(postern)));

  await prober.ask(
    { type: 'begin', clients: [timed], serverPublicKey, port: PORT, gatewayIpv4: GATEWAY },
    'ready',
  );
  await prober.ask({ type: 'connect', window: 1 }, 'connected');
  const idle = await prober.ask({ type: 'probe', everyMs: PROBE_MS, seconds: 10 }, 'probed');
  prober.say({ type: 'probe', everyMs: PROBE_MS, seconds: PROBE_SECONDS });
  lines.push(...(await changes(postern)));
  const busy = await prober.probed();
  await prober.end();
  const text = ({ lost, medianMs, p99Ms, maxMs }: typeof idle): string =>
    `${lost} lost, ${medianMs.toFixed(2)} / ${p99Ms.toFixed(2)} / ${maxMs.toFixed(2)} ms`;
  lines.push([`another device's pings every ${PROBE_MS} ms, without changes`, text(idle), '']);
  lines.push([
    `the same while the changes run and after them, ${PROBE_SECONDS} s`,
    text(busy),
    'none lost, none 20 ms late',
  ]);

  lines.push(...(await rekeying(postern, clients)));

  await clients.ask({ type: 'prepare' }, 'prepared');
  clients.say({ type: 'forget' });
  await sleep(200);
  await postern.stop();
  clients.say({ type: 'forget' });
  const againMs = Date.now();
  const readyMs = await postern.start();
  const halfAt = await clients.served(deviceCount / 2, 30_000);
  const mostAt = await clients.served(deviceCount * 0.99, 30_000);
  const servedAt = await clients.served(deviceCount, 30_000);
  lines.push([
    'all served again after a restart',
    `${((servedAt - againMs) / 1_000).toFixed(1)} s from the process, of which ${(readyMs / 1_000).toFixed(1)} s to ready; half of them ${((halfAt - againMs) / 1_000).toFixed(1)} s, 99 % ${((mostAt - againMs) / 1_000).toFixed(1)} s`,
    '≤ 5 s',
  ]);
  lines.push([
    'CPU of the gateway until then, start and all',
    `${cpuSecondsOf(postern.pid).toFixed(1)} s`,
    '',
  ]);
  lines.push(['memory then', `${residentMib(postern.pid)} MiB`, '≤ 300 MiB']);
  return lines;
}

const load = loadavg()[0]?.toFixed(1);
const folder = mkdtempSync(join(import.meta.dirname, '.bench-'));
const clients = new Clients();
const prober = new Clients();
const encryptionKey = randomBytes(32);
const url = `sqlite:${folder}/big.sqlite`;
const machine = new ThisMachine();
const postern = new Postern(machine, '127.0.0.1', {
  DATA_DIR: folder,
  DATABASE_URL: url,
  DATABASE_ENCRYPTION_KEY: encryptionKey.toString('base64'),
  HTTP_HOST: '127.0.0.1',
  EXTERNAL_URL: 'http://127.0.0.1:13000/',
  WIREGUARD_PORT: String(PORT),
  WIREGUARD_TUN: 'off',
  DATAPLANE_WORKERS: values.workers,
  MAX_DEVICES_PER_USER: '100',
  API_RATE_LIMIT: '0',
  LOG_LEVEL: 'warn',
});
let lines: Line[];
try {
  process.stderr.write(`making ${deviceCount} devices and ${ruleCount} rules\n`);
  lines = await measure(postern, clients, prober, await fill(url, encryptionKey));
} finally {
  await machine.stopAll();
  await clients.end();
  await prober.end();
  rmSync(folder, { recursive: true, force: true });
}
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
const cpu = cpus();
const report = `
### ${new Date().toISOString().slice(0, 10)}, ${commit}: ${deviceCount} devices, ${ruleCount} rules

\`npm run bench:big -- --devices ${deviceCount} --rules ${ruleCount}${Number(values.workers) > 1 ? ` --workers ${values.workers}` : ''}\`; ${cpu.length} × ${cpu[0]?.model.trim()}, Linux ${release()}, Node ${process.versions.node}; clients on the same cores; load average ${load} before the run.

| | | bar |
|---|---|---|
${lines.map((line) => `| ${line.join(' | ')} |`).join('\n')}
`;
process.stdout.write(report);
if (values.record) keepResult('npm run bench:big', report);
