// How searches of a long audit trail grow: `node test/bench/audit.ts [--entries 10000,1000000 --databases
// sqlite,mariadb]`.
//
// A gateway with so many entries by 200 people. Each search is asked by the API, some find nothing.
// Then a PATCH of a device every 20 ms: alone, and while four clients search over and over. The bars:
// a search of 1,000,000 entries takes at most twice the time that it takes among 10,000, and a PATCH
// beside searches three times its time alone.

import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectDatabase, newId } from '../../models/index.ts';
import { sqlTime } from '../../models/storage/time.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { fillPlace, type Gateway, type Place, startGateway } from './gateway.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '10000,1000000' },
    databases: { type: 'string', default: 'sqlite,mariadb' },
  },
});

const PEOPLE = 200;
const ROWS_PER_STATEMENT = 1_000;
/** How far apart in time entries are. */
const EVERY_MS = 5_000;
const TIMES = 40;
const WRITES = 200;
const SEARCHERS = 4;
const PAUSE_MS = 20;
const SETTLE_MS = 11_000;

const kinds = ['device', 'rule', 'user', 'group', 'configuration'];
const actions = ['create', 'update', 'delete'];

/** Searches; those of nobody and of a day without entries find nothing. */
const searches: Readonly<Record<string, string>> = {
  'all, a page of 100': 'limit=100',
  'a person': 'who=p7@example.test',
  'a person who did nothing': 'who=nobody@example.test',
  'a person and a kind': 'who=p7@example.test&kind=rule',
  'a kind and an action': 'kind=group&action=delete',
  'an action that nobody took': 'action=sign%20in',
  'a record': `record_id=${newId()}`,
  'a day without entries': 'since=2001-01-01T00:00:00Z&until=2001-01-02T00:00:00Z',
};

/** The id of a record that was made then (RFC 9562, section 5.7). */
function idAt(ms: number): string {
  const time = ms.toString(16).padStart(12, '0');
  const random = randomBytes(9).toString('hex');
  return [
    time.slice(0, 8),
    time.slice(8),
    `7${random.slice(0, 3)}`,
    `8${random.slice(3, 6)}`,
    random.slice(6),
  ].join('-');
}

async function addEntries(place: Place, count: number): Promise<void> {
  const database = await connectDatabase(place);
  try {
    const lastMs = Date.now() - 60_000;
    for (let first = 0; first < count; first += ROWS_PER_STATEMENT) {
      const rows = Array.from({ length: Math.min(ROWS_PER_STATEMENT, count - first) }, (_, i) => {
        const number = first + i;
        const ms = lastMs - (count - number) * EVERY_MS;
        const time = sqlTime(database.kind, new Date(ms));
        const who = `p${number % PEOPLE}@example.test`;
        const kind = kinds[number % kinds.length];
        const action = actions[number % actions.length];
        const changes = JSON.stringify({ description: { from: `${number}`, to: `${number + 1}` } });
        return `('${idAt(ms)}', '${time}', 'user', '${who}', '${action}', '${kind}', '${idAt(ms)}', '${changes}')`;
      });
      await database.sequelize.query(
        `INSERT INTO audit_entries (id, happened_at, actor, email, action, kind, record_id, changes)
         VALUES ${rows.join(', ')}`,
      );
    }
  } finally {
    await database.close();
  }
}

async function ask(gateway: Gateway, path: string, body?: object): Promise<string> {
  const answer = await fetch(gateway.uri + path, {
    method: body === undefined ? 'GET' : 'PATCH',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 200)}`);
  return text;
}

/** Milliseconds of one run, the median of many. */
async function timed(times: number, run: () => Promise<unknown>): Promise<number> {
  const all: number[] = [];
  for (let i = 0; i < times; i += 1) {
    const begunAt = performance.now();
    await run();
    all.push(performance.now() - begunAt);
  }
  return median(all);
}

async function timeWrites(gateway: Gateway, id: string): Promise<number> {
  const all: number[] = [];
  for (let i = 0; i < WRITES; i += 1) {
    await sleep(PAUSE_MS * Math.random() * 2);
    const body = { device: { description: `number ${i} ${Math.random()}` } };
    all.push(await timed(1, () => ask(gateway, `/v0/devices/${id}`, body)));
  }
  return median(all);
}

async function measure(place: Place, folder: string, count: number): Promise<Map<string, number>> {
  await fillPlace(place, 10);
  await addEntries(place, count);
  const gateway = await startGateway(place, folder);
  try {
    await sleep(SETTLE_MS);
    const figures = new Map<string, number>();
    for (const [name, query] of Object.entries(searches)) {
      await ask(gateway, `/v0/audit?${query}`);
      figures.set(name, await timed(TIMES, () => ask(gateway, `/v0/audit?${query}`)));
    }
    const { data } = JSON.parse(await ask(gateway, '/v0/devices?limit=1')) as {
      data: [{ id: string }];
    };
    figures.set('a PATCH alone', await timeWrites(gateway, data[0].id));
    let isOver = false;
    const queries = Object.values(searches);
    const searching = Array.from({ length: SEARCHERS }, async (_, i) => {
      for (let n = i; !isOver; n += 1)
        await ask(gateway, `/v0/audit?${queries[n % queries.length]}`);
    });
    figures.set('a PATCH beside four searches', await timeWrites(gateway, data[0].id));
    isOver = true;
    await Promise.all(searching);
    return figures;
  } finally {
    await gateway.stop();
  }
}

// On the disk of the working tree: where temporary folders are memory, commits cost nothing.
const folder = mkdtempSync(join(import.meta.dirname, '.bench-'));
const mariadb = values.databases.includes('mariadb') ? await startMariadb([], folder) : null;
try {
  const counts = values.entries.split(',').map(Number);
  for (const database of values.databases.split(',')) {
    const all: Map<string, number>[] = [];
    for (const count of counts) {
      const data = join(folder, `${database}-${count}`);
      mkdirSync(data, { recursive: true });
      const name = `audit_${count}`;
      if (database === 'mariadb') await runOnServer(mariadb!.url, `CREATE DATABASE ${name}`);
      const url = database === 'mariadb' ? `${mariadb!.url}${name}` : `sqlite:${data}/audit.sqlite`;
      all.push(await measure({ url, encryptionKey: randomBytes(32) }, data, count));
    }
    process.stdout.write(
      `\n**${database}**, milliseconds\n\n| | ${counts.join(' | ')} | ratio |\n`,
    );
    process.stdout.write(`|---|${'---:|'.repeat(counts.length + 1)}\n`);
    for (const what of all[0]!.keys()) {
      const cells = all.map((figures) => figures.get(what)!);
      const ratio = (cells.at(-1)! / cells[0]!).toFixed(2);
      process.stdout.write(
        `| ${what} | ${cells.map((ms) => ms.toFixed(2)).join(' | ')} | ${ratio} |\n`,
      );
    }
  }
} finally {
  if (mariadb !== null) await stopMariadb(mariadb);
  rmSync(folder, { recursive: true, force: true });
}
