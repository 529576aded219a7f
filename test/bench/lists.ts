// How whole lists grow, and what a write waits beside them: `npm run bench:lists [-- --devices
// 1000,10000,50000 --writes 200 --readers 4 --databases sqlite,mariadb --record]`.
//
// A gateway with so many devices, and as many rules. Whole lists are timed alone, by what they take
// for each record: linear is what stays the same. Then a PATCH of a device every 20 ms, each answered
// in force, first with nothing else to do, then while so many clients read the whole list of devices
// over and over, in a process of their own. The bar is the worst write beside lists; what an idle
// write took in the same run says how quiet the machine was.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectDatabase, writeTransaction } from '../../models/index.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { fillPlace, type Gateway, type Place, startGateway } from './gateway.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '1000,10000,50000' },
    writes: { type: 'string', default: '200' },
    readers: { type: 'string', default: '4' },
    databases: { type: 'string', default: 'sqlite' },
    record: { type: 'boolean', default: false },
  },
});
const writes = Number(values.writes);
const readers = Number(values.readers);
/** The worst write beside lists, in milliseconds. */
const BAR_MS = 50;
const PAUSE_MS = 20;
const LISTS_TIMED = 5;
/** V8 still compiles and collects what the start left; lists have no part in that. */
const SETTLE_MS = 11_000;
/** Rows that one transaction makes. */
const RULES_AT_ONCE = 5_000;

/** Milliseconds of some requests, the shortest first. */
type Times = readonly number[];

/** What one gateway came to. */
interface Outcome {
  readonly count: number;
  readonly devices: Times;
  readonly rules: Times;
  readonly idle: Times;
  readonly beside: Times;
  readonly listsRead: number;
}

/** Rules of many owners, each for another destination. */
async function addRules(place: Place, owners: readonly string[], count: number): Promise<void> {
  const database = await connectDatabase(place);
  const rowOf = (i: number): object => ({
    action: i % 2 === 0 ? 'accept' : 'drop',
    destination: `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`,
    user_id: owners[i % owners.length],
  });
  try {
    for (let first = 0; first < count; first += RULES_AT_ONCE) {
      const rows = Array.from({ length: Math.min(RULES_AT_ONCE, count - first) }, (_, i) =>
        rowOf(first + i),
      );
      await writeTransaction(database, (transaction) =>
        database.models.Rule.bulkCreate(rows as never, { transaction, validate: false }),
      );
    }
  } finally {
    await database.close();
  }
}

function headersOf({ token }: Gateway): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const beganAt = performance.now();
  await run();
  return performance.now() - beganAt;
}

function sorted(times: Times): Times {
  return times.toSorted((one, other) => one - other);
}

async function readWhole(gateway: Gateway, name: string): Promise<void> {
  const answer = await fetch(`${gateway.uri}/v0/${name}`, { headers: headersOf(gateway) });
  if (answer.status !== 200) throw new Error(`a list was answered with ${answer.status}`);
  for await (const _ of answer.body ?? []);
}

async function timeLists(gateway: Gateway, name: string): Promise<Times> {
  const times: number[] = [];
  for (let i = 0; i < LISTS_TIMED; i += 1) {
    // No list may be answered from memory.
    await patch(gateway, name, i);
    times.push(await timed(() => readWhole(gateway, name)));
  }
  return sorted(times);
}

/** Changes the first record of a list. */
async function patch(gateway: Gateway, name: string, i: number): Promise<void> {
  const headers = headersOf(gateway);
  const first = (await (await fetch(`${gateway.uri}/v0/${name}?limit=1`, { headers })).json()) as {
    data: { id: string }[];
  };
  const path = `/v0/${name}/${first.data[0]?.id}`;
  const body =
    name === 'devices'
      ? { device: { description: `number ${i}` } }
      : { rule: { destination: `11.0.0.${i}` } };
  await send(gateway, path, body);
}

async function send(gateway: Gateway, path: string, body: object): Promise<void> {
  const answer = await fetch(gateway.uri + path, {
    method: 'PATCH',
    headers: headersOf(gateway),
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.status !== 200 || answer.headers.get('postern-applied') !== 'true')
    throw new Error(`a write was answered with ${answer.status}: ${text.slice(0, 200)}`);
}

/** Changes devices, one after another, with a pause between, so that each meets another moment. */
async function timeWrites(gateway: Gateway, ids: readonly string[]): Promise<Times> {
  const times: number[] = [];
  for (let i = 0; i < writes; i += 1) {
    await sleep(PAUSE_MS * Math.random() * 2);
    const path = `/v0/devices/${ids[i % ids.length]}`;
    const key = randomBytes(32).toString('base64');
    times.push(await timed(() => send(gateway, path, { device: { public_key: key } })));
  }
  return sorted(times);
}

/** Clients that read the whole list over and over, in a process of their own; this file is theirs too. */
async function startReaders({ uri, token }: Gateway): Promise<ChildProcess> {
  const child = spawn(process.execPath, [import.meta.filename], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, READ_URI: uri, READ_TOKEN: token, READERS: String(readers) },
  });
  await once(child, 'message');
  return child;
}

async function stopReaders(child: ChildProcess): Promise<number> {
  const answer = once(child, 'message');
  child.send('stop');
  const [count] = (await answer) as [number];
  if (child.exitCode === null) await once(child, 'exit');
  return count;
}

/** What the process of the readers does. */
async function readOverAndOver(gateway: Gateway): Promise<void> {
  let count = 0;
  const readOne = async (): Promise<void> => {
    for (;;) {
      await readWhole(gateway, 'devices');
      count += 1;
    }
  };
  process.once('message', () => {
    process.send?.(count, () => process.exit(0));
  });
  process.send?.('started');
  await Promise.all(Array.from({ length: Number(process.env['READERS']) }, readOne));
}

async function benchOn(place: Place, folder: string, count: number): Promise<Outcome> {
  const owners = await fillPlace(place, count);
  await addRules(place, owners, count);
  const gateway = await startGateway(place, folder);
  try {
    await sleep(SETTLE_MS);
    const headers = headersOf(gateway);
    const page = (await (
      await fetch(`${gateway.uri}/v0/devices?limit=100`, { headers })
    ).json()) as { data: { id: string }[] };
    const ids = page.data.map(({ id }) => id);
    const devices = await timeLists(gateway, 'devices');
    const rules = await timeLists(gateway, 'rules');
    const idle = await timeWrites(gateway, ids);
    const child = await startReaders(gateway);
    await sleep(500);
    const beside = await timeWrites(gateway, ids);
    const listsRead = await stopReaders(child);
    return { count, devices, rules, idle, beside, listsRead };
  } finally {
    await gateway.stop();
  }
}

function atShare(times: Times, share: number): string {
  return (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(1);
}

function table(outcomes: readonly Outcome[]): string {
  const list = (times: Times, count: number): string =>
    `${atShare(times, 0.5)} | ${((Number(atShare(times, 0.5)) * 1_000) / count).toFixed(1)}`;
  const write = (times: Times): string =>
    [0.5, 0.9, 0.99, 1].map((share) => atShare(times, share)).join(' / ');
  const rows = outcomes.map(
    ({ count, devices, rules, idle, beside, listsRead }) =>
      `| ${count} | ${list(devices, count)} | ${list(rules, count)} | ${write(idle)} | ${write(beside)} | ${listsRead} |`,
  );
  return [
    `| devices and rules | all devices, ms | µs each | all rules, ms | µs each | PATCH alone, ms: median / p90 / p99 / worst | beside ${readers} lists (bar: worst ${BAR_MS}) | lists read meanwhile |`,
    '|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ].join('\n');
}

async function benchAll(): Promise<string> {
  // On the disk of the working tree: where temporary folders are memory, commits cost nothing.
  const folder = mkdtempSync(join(import.meta.dirname, '.bench-'));
  const mariadb = values.databases.includes('mariadb') ? await startMariadb([], folder) : null;
  let report = '';
  try {
    for (const database of values.databases.split(',')) {
      const outcomes: Outcome[] = [];
      for (const count of values.devices.split(',').map(Number)) {
        process.stderr.write(`${database}, ${count} devices\n`);
        const data = join(folder, `${database}-${count}`);
        mkdirSync(data, { recursive: true });
        const name = `lists_${count}`;
        if (database === 'mariadb') await runOnServer(mariadb!.url, `CREATE DATABASE ${name}`);
        const url =
          database === 'mariadb' ? `${mariadb!.url}${name}` : `sqlite:${data}/lists.sqlite`;
        outcomes.push(await benchOn({ url, encryptionKey: randomBytes(32) }, data, count));
      }
      report += `\n**${database}**\n\n${table(outcomes)}\n`;
    }
  } finally {
    if (mariadb !== null) await stopMariadb(mariadb);
    rmSync(folder, { recursive: true, force: true });
  }
  return report;
}

async function main(): Promise<void> {
  // What else the machine does lowers every figure.
  const load = loadavg()[0]?.toFixed(1);
  const measured = await benchAll();
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const cpu = cpus();
  const report = `
### ${new Date().toISOString().slice(0, 10)}, ${commit}: whole lists, and writes beside them

\`npm run bench:lists -- --devices ${values.devices} --writes ${writes} --readers ${readers}\`; ${cpu.length} × ${cpu[0]?.model.trim()}, Node ${process.versions.node}; load average ${load} before the run.
${measured}`;
  process.stdout.write(report);
  if (values.record) keepResult('npm run bench:lists', report);
}

const { READ_URI: uri, READ_TOKEN: token } = process.env;
if (uri !== undefined && token !== undefined)
  await readOverAndOver({ uri, token, pid: 0, stop: () => Promise.resolve() });
else await main();
