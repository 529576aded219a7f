// What pages cost the process that serves them: `npm run bench:pages -- [--against FOLDER
// --pairs 15 --requests 20 --only /devices,/users]`, and `--live` for pages that stay open.
//
// Each server is a process of its own, with 2,000 devices, 300 users and 60 rules, of which every
// fourth device is online. Its processor time is read around so many requests; with --against, the
// pages of another checkout have as many between them, in turns, and the bar is 1.1 times theirs.
// A tab that the other one has not yet is compared with the page of the record, which had all of it.
// With --live one page and ten pages are open in turns, for so many seconds each, while all
// devices that are online carry something: the bar is twice the time of one page. With
// `--flow-seconds 2` all flows of Traffic now are others every two seconds.

import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ExecutionContext } from 'ava';
import type * as consolesOf from '../support/web/console.ts';
import type * as serversOf from '../support/api/server.ts';
import type * as fakeGatewaysOf from '../support/observe/fake-gateway.ts';
import type * as manyDevicesOf from '../support/database/many-devices.ts';
import type * as timesOf from '../../models/storage/time.ts';
import type * as modelsOf from '../../models/index.ts';
import { median } from './median.ts';
import { follow, type Shown } from './viewer.ts';

const DEVICES = 2_000;
const USERS = 300;
const RULES = 60;
const POLICY_TESTS = 60;
/** Of so many devices one is online. */
const ONLINE_SHARE = 4;
/** Before its first figure V8 compiles what a page runs. */
const WARM_UP = 40;
const OPEN_MOST = 10;
const PATHS = [
  '/dashboard',
  '/devices',
  '/users',
  '/users/groups',
  '/rules',
  '/rules/policy_tests',
  '/audit',
  '/api_tokens',
  '/flows',
  '/refusals',
  '/explain',
  '/gateways',
  '/settings/client_defaults',
  '/rules/policy_tests/{test}',
  '/devices/{device}',
  '/devices/{device}/connections',
  '/devices/{device}/packets',
  '/devices/{device}/network',
  '/devices/{device}/edit',
  '/users/{user}',
  '/users/{user}/traffic',
  '/users/{user}/sign_in',
  '/users/{user}/edit',
  '/user_devices',
  '/user_account',
];
const LIVE_PATHS = [
  '/dashboard',
  '/devices',
  '/devices/{device}',
  '/users',
  '/flows',
  '/refusals',
  '/gateways',
  '/user_devices',
];

/** What the parent asks of a server. */
type Asked =
  | { readonly do: 'requests'; readonly path: string; readonly count: number }
  | { readonly do: 'time' }
  | { readonly do: 'page'; readonly path: string };

/** What a server is made of, in its own checkout, whose types may be others. */
interface Parts {
  readonly 'test/support/web/console.ts': typeof consolesOf;
  readonly 'test/support/api/server.ts': typeof serversOf;
  readonly 'test/support/observe/fake-gateway.ts': typeof fakeGatewaysOf;
  readonly 'test/support/database/many-devices.ts': typeof manyDevicesOf;
  readonly 'models/storage/time.ts': typeof timesOf;
  readonly 'models/index.ts': typeof modelsOf;
}

type Console = consolesOf.Console;
type Load = <Path extends keyof Parts>(path: Path) => Promise<Parts[Path]>;

// ---- the server --------------------------------------------------------------------------------

async function serve(root: string): Promise<void> {
  const load: Load = async (path) => (await import(join(root, path))) as Parts[typeof path];
  const { openConsole } = await load('test/support/web/console.ts');
  const { configOf, listen } = await load('test/support/api/server.ts');
  const fakes = await load('test/support/observe/fake-gateway.ts');
  // The processes of the bench clear up behind themselves: the database is in memory.
  const t = { title: 'pages', teardown: () => undefined } as unknown as ExecutionContext;
  const config = listen(configOf({ API_RATE_LIMIT: '0' }));
  const lasts = Number(process.env['BENCH_FLOW_SECONDS'] ?? Infinity);
  const busiest = async (_query: unknown, limit: number) => {
    const second = Math.floor(Date.now() / 1_000) % 10_000;
    const flowAt = (i: number) => {
      // Of a flow that came no later one has port, address or amounts.
      const number = Number.isFinite(lasts) ? Math.floor(second / lasts) * limit + i : i;
      const some = createHash('sha256').update(`${number}`).digest();
      const flow = {
        sourcePort: 30_000 + (some.readUInt16LE(0) >> 1),
        destination: some.subarray(2, 6).join('.'),
        destinationPort: 443,
        openedMs: number,
        sentBytes: some.readUInt32LE(6) + 54_321 * second,
        replyBytes: some.readUInt32LE(10) + 98_765 * second,
      };
      return { ...fakes.flowOf(`${i}`, flow), rate: 10_000 * (limit - i) + 345 * second };
    };
    const isBusy = process.env['BENCH_TRAFFIC'] !== undefined;
    return Array.from({ length: isBusy ? limit : 0 }, (_, i) => flowAt(i));
  };
  let online: readonly string[] = [];
  const services = {
    config,
    observed: fakes.fakeObserved(),
    watched: fakes.fakeWatched(),
    live: fakes.fakeLive('here', { busiest, deviceIdOf: (key) => online[Number(key)] ?? null }),
  };
  const console = await openConsole(t, 'sqlite', {}, services);
  const filled = await fill(console, load);
  const { test } = filled;
  ({ online } = filled);
  await console.server.start();
  const { admin, database, plainUser, server } = console;
  const pathOf = (path: string): string =>
    path
      .replace('{device}', online[0] ?? '')
      .replace('{user}', plainUser.id)
      .replace('{test}', test);
  const answers: { [Name in Asked['do']]: (asked: Asked & { do: Name }) => Promise<unknown> } = {
    requests: async ({ path: asked, count }) => {
      const isThere = (await admin.get(pathOf(asked))).status === 200;
      const path = isThere ? asked : asked.slice(0, asked.indexOf('}') + 1);
      const before = process.cpuUsage();
      for (let i = 0; i < count; i += 1) {
        const { status } = await admin.get(pathOf(path));
        if (status !== 200) throw new Error(`${path}: ${status}`);
      }
      return spent(before) / count;
    },
    time: async () => spent(),
    page: async ({ path }) => {
      const { text } = await admin.get(pathOf(path));
      const cookie = [...admin.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      return { text, cookie, uri: server.info.uri };
    },
  };
  process.once('disconnect', () => process.exit());
  process.on('message', (asked: Asked) => {
    void answers[asked.do](asked as never).then((answer) => process.send?.({ answer }));
  });
  if (process.env['BENCH_TRAFFIC'] !== undefined) void carry(database, online, load);
  process.send?.({ answer: 'ready' });
}

/** Processor time in microseconds, of all or since then. */
function spent(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

/** Fills a database; returns the ids of the devices that are online, and of a policy test. */
async function fill(
  { database, adminUser, plainUser }: Console,
  load: Load,
): Promise<{ readonly online: readonly string[]; readonly test: string }> {
  const { addManyDevices, addManyRules } = await load('test/support/database/many-devices.ts');
  const { sqlTime } = await load('models/storage/time.ts');
  const { newId } = await load('models/index.ts');
  const now = sqlTime('sqlite', new Date());
  const owners = Array.from({ length: USERS }, () => newId());
  const values = owners.map((id, i) => {
    const email = `person.number.${i}@example.com`;
    return `('${id}', '${email}', '${email}', 'unprivileged', '${now}', '${now}')`;
  });
  await database.sequelize.query(
    `INSERT INTO users (id, email, email_key, role, inserted_at, updated_at)
     VALUES ${values.join(', ')}`,
  );
  const devices = await addManyDevices(database, plainUser.id, DEVICES);
  await addManyRules(database, RULES);
  for (const [i, owner] of [adminUser.id, ...owners.slice(1)].entries()) {
    const own = devices.filter((_, number) => number % USERS === i).map((id) => `'${id}'`);
    await database.sequelize.query(
      `UPDATE devices SET user_id = '${owner}' WHERE id IN (${own.join(', ')})`,
    );
  }
  const tests = Array.from({ length: POLICY_TESTS }, () => newId());
  const packets = tests.map(
    (id, i) =>
      `('${id}', 'test ${i}', '${owners[i]}', '10.0.0.5', 'icmp', 'drop', '${now}', '${now}')`,
  );
  await database.sequelize.query(
    `INSERT INTO policy_tests (id, name, user_id, destination, protocol, expect, inserted_at,
       updated_at) VALUES ${packets.join(', ')}`,
  );
  const online = devices.filter((_, i) => i % ONLINE_SHARE === 0);
  await report(database, online, 1_000, load);
  return { online, test: tests[0] ?? '' };
}

/** Notes what a gateway saw of devices. */
async function report(
  database: Console['database'],
  ids: readonly string[],
  bytes: number,
  load: Load,
): Promise<void> {
  const { recordStatus } = await load('models/index.ts');
  const seen = { latestHandshake: new Date(), remoteIp: '192.0.2.9', remotePort: 7 };
  const reports = ids.map((deviceId) => ({ deviceId, ...seen, rxBytes: bytes, txBytes: bytes }));
  await recordStatus(database, 'here', reports);
}

/** All that are online carry something each second. */
async function carry(
  database: Console['database'],
  ids: readonly string[],
  load: Load,
): Promise<void> {
  for (let second = 1; ; second += 1) {
    await report(database, ids, second * 125_000, load);
    await sleep(1_000);
  }
}

// ---- the parent --------------------------------------------------------------------------------

/** A server in a process of its own. */
class Served {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(root: string, environment: Record<string, string> = {}): Promise<Served> {
    const child = fork(import.meta.filename, {
      env: { ...process.env, BENCH_TREE: resolve(root), ...environment },
      cwd: root,
    });
    const served = new Served(child);
    await served.#answer();
    return served;
  }

  async ask<Answer>(asked: Asked): Promise<Answer> {
    const answer = this.#answer();
    this.#child.send(asked);
    return (await answer) as Answer;
  }

  async #answer(): Promise<unknown> {
    const ended = new AbortController();
    const [{ answer }] = (await Promise.race([
      once(this.#child, 'message', { signal: ended.signal }),
      once(this.#child, 'exit', { signal: ended.signal }).then(() => {
        throw new Error('a server ended');
      }),
    ]).finally(() => ended.abort())) as [{ answer: unknown }];
    return answer;
  }

  stop(): void {
    this.#child.kill();
  }
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      against: { type: 'string' },
      pairs: { type: 'string', default: '15' },
      requests: { type: 'string', default: '20' },
      seconds: { type: 'string', default: '10' },
      only: { type: 'string' },
      live: { type: 'boolean', default: false },
      'flow-seconds': { type: 'string' },
    },
  });
  const paths = values.only?.split(',') ?? (values.live ? LIVE_PATHS : PATHS);
  const [pairs, seconds] = [Number(values.pairs), Number(values.seconds)];
  const root = resolve(import.meta.dirname, '../..');
  const lasts = values['flow-seconds'];
  const environment = lasts === undefined ? {} : { BENCH_FLOW_SECONDS: lasts };
  if (values.live) await measureLive(root, paths, { pairs, seconds, environment });
  else await measureRequests(root, paths, pairs, Number(values.requests), values.against);
}

async function measureRequests(
  root: string,
  paths: readonly string[],
  pairs: number,
  count: number,
  against: string | undefined,
): Promise<void> {
  const roots = against === undefined ? [root] : [root, against];
  const servers = await Promise.all(roots.map((one) => Served.start(one)));
  process.stdout.write('| page | ms | of the other | ratio | bar |\n|---|---:|---:|---:|---:|\n');
  for (const path of paths) {
    const times: number[][] = servers.map(() => []);
    for (const server of servers) await server.ask({ do: 'requests', path, count: WARM_UP });
    for (let i = 0; i < pairs; i += 1)
      for (const [at, server] of servers.entries())
        times[at]?.push(await server.ask<number>({ do: 'requests', path, count }));
    const ratios = (times[1] ?? []).map((other, i) => (times[0]?.[i] ?? 0) / other);
    const [own = 0, other = 0] = times.map((some) => median(some) / 1_000);
    const ratio = ratios.length === 0 ? '' : median(ratios).toFixed(2);
    process.stdout.write(
      `| ${path} | ${own.toFixed(2)} | ${other.toFixed(2)} | ${ratio} | 1.10 |\n`,
    );
  }
  for (const server of servers) server.stop();
}

async function measureLive(
  root: string,
  paths: readonly string[],
  {
    pairs,
    seconds,
    environment,
  }: {
    readonly pairs: number;
    readonly seconds: number;
    readonly environment: Record<string, string>;
  },
): Promise<void> {
  const server = await Served.start(root, { BENCH_TRAFFIC: 'true', ...environment });
  process.stdout.write(
    '| page | none, ms/s | one | ten | ratio | bytes/s a page |\n|---|---:|---:|---:|---:|---:|\n',
  );
  for (const path of paths) {
    const page = await server.ask<Shown>({ do: 'page', path });
    const shares = new Map<number, number[]>([0, 1, OPEN_MOST].map((pages) => [pages, []]));
    let bytes = 0;
    for (let i = 0; i < pairs; i += 1)
      for (const [pages, times] of shares) {
        const streams = await Promise.all(Array.from({ length: pages }, () => follow(page)));
        await sleep(2_000);
        const before = await server.ask<number>({ do: 'time' });
        const heard = streams.reduce((sum, stream) => sum + stream.bytes, 0);
        await sleep(1_000 * seconds);
        const used = (await server.ask<number>({ do: 'time' })) - before;
        times.push(used / seconds / 1_000);
        if (pages === 1) bytes += streams.reduce((sum, stream) => sum + stream.bytes, 0) - heard;
        for (const stream of streams) stream.leave();
        await sleep(300);
      }
    const [none = 0, one = 0, ten = 0] = [...shares.values()].map(median);
    const rate = Math.round(bytes / pairs / seconds);
    const ratio = ((ten - none) / (one - none)).toFixed(2);
    process.stdout.write(
      `| ${path} | ${none.toFixed(1)} | ${one.toFixed(1)} | ${ten.toFixed(1)} | ${ratio} | ${rate} |\n`,
    );
  }
  server.stop();
}

const tree = process.env['BENCH_TREE'];
if (tree === undefined) await measure();
else await serve(tree);
