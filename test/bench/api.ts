// How fast the API is: `npm run bench:api [-- --seconds S --connections N --databases sqlite,mariadb
// --devices N --record]`.
//
// The whole gateway as a process of its own (`lib/start/main.ts serve`, no TUN), on SQLite and on a
// private MariaDB, both with their commits on the disk; autocannon asks over loopback on the same
// machine. Writes count only when they are answered in force (`postern-applied: true`). The bars
// are those of docs/api.md#speed: the figures of the original on two cores, and how many times them
// is asked.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { cpuSecondsOf } from '../support/gateway/postern.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { fillPlace, type Gateway, type Place, startGateway } from './gateway.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '10' },
    databases: { type: 'string', default: 'sqlite,mariadb' },
    devices: { type: 'string', default: '100000' },
    record: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const manyDevices = Number(values.devices);
const FEW_DEVICES = 1_000;
const PAGE = 1_000;

/** What the original does per second, and how many times that is asked of us. */
const bars: Readonly<Record<string, readonly [original: number, times: number]>> = {
  'GET /v0/configuration': [2_700, 2],
  'POST /v0/devices': [290, 2],
  'POST /v0/rules': [390, 2],
  'GET /v0/devices, 1,000 whole': [33, 5],
};

/** One measurement. */
interface Figure {
  readonly name: string;
  readonly perSecond: number;
  readonly p99Ms: number;
  /** CPU time of the gateway per answer: steadier than speed where the machine does other work. */
  readonly cpuMs: number;
  readonly note: string;
}

/** A request that is sent over and over; `next` makes the one to come. */
interface Load {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly next: () => { path: string; body?: object };
  readonly note?: (result: autocannon.Result) => string;
}

async function measure({ uri, token, pid }: Gateway, load: Load): Promise<Figure> {
  let notApplied = 0;
  const request = {
    method: load.method,
    setupRequest: (base: autocannon.Request): autocannon.Request => {
      const { path, body } = load.next();
      return { ...base, path, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    },
    onResponse: (_status: number, _body: string, _context: object, headers?: object) => {
      const { 'postern-applied': applied = 'true' } = headers as Record<string, string>;
      if (applied !== 'true') notApplied += 1;
    },
  };
  const cpuBefore = cpuSecondsOf(pid);
  const result = await autocannon({
    url: uri,
    connections,
    duration: seconds,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    requests: [request as unknown as autocannon.Request],
  });
  if (result.non2xx > 0 || result.errors > 0 || notApplied > 0)
    throw new Error(
      `${load.name}: ${result.non2xx} refused, ${result.errors} failed, ${notApplied} not in force`,
    );
  return {
    name: load.name,
    perSecond: result['2xx'] / result.duration,
    p99Ms: result.latency.p99,
    cpuMs: ((cpuSecondsOf(pid) - cpuBefore) * 1_000) / result['2xx'],
    note: load.note?.(result) ?? '',
  };
}

/** Memory that a process holds at most so far, in MiB. */
function peakMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024);
}

async function withFewDevices(place: Place, folder: string): Promise<Figure[]> {
  const owners = await fillPlace(place, FEW_DEVICES);
  const gateway = await startGateway(place, folder);
  let count = 0;
  const owner = (): string => owners[(count += 1) % owners.length]!;
  try {
    const figures: Figure[] = [];
    const list: Load = {
      name: 'GET /v0/devices, 1,000 whole',
      method: 'GET',
      next: () => ({ path: '/v0/devices' }),
    };
    const page: Load = {
      name: 'GET /v0/devices, 1,000 as a page',
      method: 'GET',
      next: () => ({ path: `/v0/devices?limit=${PAGE}` }),
    };
    const configuration: Load = {
      name: 'GET /v0/configuration',
      method: 'GET',
      next: () => ({ path: '/v0/configuration' }),
    };
    const user: Load = {
      name: 'GET /v0/users/{id}',
      method: 'GET',
      next: () => ({ path: `/v0/users/${owner()}` }),
    };
    const device: Load = {
      name: 'POST /v0/devices',
      method: 'POST',
      next: () => ({
        path: '/v0/devices',
        body: { device: { user_id: owner(), public_key: randomBytes(32).toString('base64') } },
      }),
    };
    const rule: Load = {
      name: 'POST /v0/rules',
      method: 'POST',
      next: () => {
        count += 1;
        const destination = `10.${(count >> 16) & 255}.${(count >> 8) & 255}.${count & 255}`;
        return { path: '/v0/rules', body: { rule: { destination, user_id: owner() } } };
      },
    };
    for (const load of [list, page, configuration, user, device, rule])
      figures.push(await measure(gateway, load));
    return figures;
  } finally {
    await gateway.stop();
  }
}

/** The paths of all pages, found by following `Link`. */
async function pagesOf({ uri, token }: Gateway): Promise<{ paths: string[]; devices: number }> {
  const paths: string[] = [];
  let devices = 0;
  for (let path: string | undefined = `/v0/devices?limit=${PAGE}`; path !== undefined;) {
    paths.push(path);
    const answer = await fetch(uri + path, { headers: { authorization: `Bearer ${token}` } });
    devices += ((await answer.json()) as { data: unknown[] }).data.length;
    path = /<(.*)>/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return { paths, devices };
}

async function withManyDevices(place: Place, folder: string): Promise<Figure[]> {
  await fillPlace(place, manyDevices);
  const gateway = await startGateway(place, folder);
  try {
    const before = peakMib(gateway.pid);
    const { paths, devices } = await pagesOf(gateway);
    if (devices !== manyDevices) throw new Error(`${devices} devices in pages`);
    let index = 0;
    const page: Load = {
      name: `GET /v0/devices, a page of ${PAGE} of ${manyDevices}`,
      method: 'GET',
      next: () => ({ path: paths[(index += 1) % paths.length]! }),
      note: () => `peak ${before} → ${peakMib(gateway.pid)} MiB`,
    };
    const paged = await measure(gateway, page);
    const begunMs = performance.now();
    const cpuBefore = cpuSecondsOf(gateway.pid);
    const headers = { authorization: `Bearer ${gateway.token}` };
    const whole = await fetch(`${gateway.uri}/v0/devices`, { headers });
    let bytes = 0;
    for await (const chunk of whole.body ?? []) bytes += (chunk as Uint8Array).length;
    const tookMs = performance.now() - begunMs;
    const stream: Figure = {
      name: `GET /v0/devices, ${manyDevices} whole, once`,
      perSecond: 1_000 / tookMs,
      p99Ms: tookMs,
      cpuMs: (cpuSecondsOf(gateway.pid) - cpuBefore) * 1_000,
      note: `${Math.round(bytes / 1_048_576)} MiB, peak ${before} → ${peakMib(gateway.pid)} MiB`,
    };
    return [paged, stream];
  } finally {
    await gateway.stop();
  }
}

function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, perSecond, p99Ms, cpuMs, note }) => {
    const [original, times] = bars[name] ?? [];
    const ratio =
      original === undefined ? '' : `${(perSecond / original).toFixed(1)} (bar ${times})`;
    const rate = perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toFixed(2);
    return `| ${name} | ${rate} | ${p99Ms.toFixed(0)} | ${cpuMs.toFixed(2)} | ${ratio} | ${note} |`;
  });
  return [
    '| request | per second | p99 ms | CPU ms | times the original | |',
    '|---|---:|---:|---:|---:|---|',
    ...rows,
  ].join('\n');
}

async function benchOn(
  title: string,
  folder: string,
  urlOf: (name: string) => Promise<string>,
): Promise<string> {
  const figures: Figure[] = [];
  for (const [name, run] of [
    ['few', withFewDevices],
    ['many', withManyDevices],
  ] as const) {
    process.stderr.write(`${title}, ${name} devices\n`);
    const data = join(folder, `${title}-${name}`);
    mkdirSync(data, { recursive: true });
    const place = { url: await urlOf(name), encryptionKey: randomBytes(32) };
    figures.push(...(await run(place, data)));
  }
  return `\n**${title}**\n\n${table(figures)}\n`;
}

async function benchAll(): Promise<string> {
  // On the disk of the working tree: where temporary folders are memory, commits cost nothing.
  const folder = mkdtempSync(join(import.meta.dirname, '.bench-'));
  let report = '';
  try {
    for (const database of values.databases.split(',')) {
      if (database === 'sqlite') {
        report += await benchOn(
          'SQLite',
          folder,
          async (name) => `sqlite:${folder}/${name}.sqlite`,
        );
        continue;
      }
      const mariadb = await startMariadb([], folder);
      try {
        report += await benchOn('MariaDB', folder, async (name) => {
          await runOnServer(mariadb.url, `CREATE DATABASE bench_${name}`);
          return `${mariadb.url}bench_${name}`;
        });
      } finally {
        await stopMariadb(mariadb);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return report;
}

// What else the machine does lowers every figure.
const load = loadavg()[0]?.toFixed(1);
const measured = await benchAll();
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
const cpu = cpus();
const report = `
### ${new Date().toISOString().slice(0, 10)}, ${commit}: the API over loopback

\`npm run bench:api -- --seconds ${seconds} --connections ${connections} --devices ${manyDevices}\`; ${cpu.length} × ${cpu[0]?.model.trim()}, Linux ${release()}, Node ${process.versions.node}; autocannon on the same cores; load average ${load} before the run.
${measured}`;
process.stdout.write(report);
if (values.record) keepResult('npm run bench:api', report);
