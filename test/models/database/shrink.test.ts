// A new SQLite file gives back what is free; an old one stays as it is, until it is compacted.

import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import process from 'node:process';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import {
  compactFile,
  type Database,
  migrate,
  readFileSpace,
  readTransaction,
  shrinkFile,
} from '../../../models/index.ts';
import { PAGES_KEPT } from '../../../models/database/shrink.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { leaveFree, openOldFile } from '../../support/database/free-pages.ts';
import { KEY } from '../migrations/released-databases.ts';

async function pragma({ sequelize }: Database, name: string): Promise<number> {
  const [row] = await sequelize.query<Record<string, number>>(`PRAGMA ${name}`, plainSelect());
  return Number(row?.[name]);
}

/** How many rows each table has, and a hash of them. */
async function allRows({ sequelize }: Database): Promise<Record<string, string>> {
  const tables = await sequelize.query<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    plainSelect(),
  );
  const found: Record<string, string> = {};
  for (const { name } of tables) {
    const rows = await sequelize.query(`SELECT * FROM "${name}" ORDER BY 1`, plainSelect());
    const hash = createHash('sha256').update(JSON.stringify(rows)).digest('hex');
    found[name] = `${rows.length} ${hash}`;
  }
  return found;
}

test('a new file shrinks step by step, and stops when it should', async (t) => {
  const place = { ...(await makePlace(t, 'sqlite')), encryptionKey: KEY };
  const database = await openAt(t, place);
  await migrate(database);
  t.is(await pragma(database, 'auto_vacuum'), 2);
  await leaveFree(database);
  const before = await pragma(database, 'page_count');
  const free = await pragma(database, 'freelist_count');
  t.true(free > PAGES_KEPT + 500);
  let turns = 0;
  t.is(await shrinkFile(database, () => (turns += 1) > 2), 200);
  t.is(await shrinkFile(database), free - PAGES_KEPT - 200);
  t.is(await shrinkFile(database), 0);
  t.is(await pragma(database, 'freelist_count'), PAGES_KEPT);
  t.true((await pragma(database, 'page_count')) <= before - (free - PAGES_KEPT));
  await database.sequelize.query('PRAGMA wal_checkpoint(TRUNCATE)');
  const size = statSync(place.url.slice('sqlite:'.length)).size;
  t.true(size <= 4_096 * (before - (free - PAGES_KEPT)), `${size}`);
});

test('a file of an earlier version stays as it is until it is compacted', async (t) => {
  const { database } = await openOldFile(t);
  await leaveFree(database);
  t.is(await shrinkFile(database), 0);
  const before = await readFileSpace(database);
  t.like(before, { canShrink: false });
  t.true((before?.freeBytes ?? 0) > 8_000_000);
  const rows = await allRows(database);
  const { path, bytesBefore, bytesAfter, isLogKept } = await compactFile(database);
  t.false(isLogKept);
  t.is(bytesBefore, before?.bytes ?? 0);
  t.true(bytesAfter < bytesBefore - 8_000_000, `${bytesBefore} to ${bytesAfter}`);
  t.is(statSync(path).size, bytesAfter);
  t.is(statSync(`${path}-wal`).size, 0);
  t.deepEqual(await readFileSpace(database), {
    path,
    bytes: bytesAfter,
    freeBytes: 0,
    canShrink: true,
  });
  t.deepEqual(await allRows(database), rows);
  await leaveFree(database);
  t.true((await shrinkFile(database)) > 500);
});

test('what was compacted while another program reads takes its space until that ends', async (t) => {
  const { place, database } = await openOldFile(t);
  await leaveFree(database, 1);
  const other = await openAt(t, place);
  const path = place.url.slice('sqlite:'.length);
  await readTransaction(other, async (transaction) => {
    await other.models.User.count({ transaction });
    const { isLogKept } = await compactFile(database);
    t.true(isLogKept);
    t.true(statSync(`${path}-wal`).size > 0);
  });
  t.like(await compactFile(database), { isLogKept: false });
});

test('a program that reads for a moment is waited for', async (t) => {
  const { place, database } = await openOldFile(t);
  await leaveFree(database, 1);
  const other = await openAt(t, place);
  const begun = Promise.withResolvers<undefined>();
  const reading = readTransaction(other, async (transaction) => {
    await other.models.User.count({ transaction });
    begun.resolve(undefined);
    await sleep(500);
  });
  await begun.promise;
  t.like(await compactFile(database), { isLogKept: false });
  await reading;
});

test('killed at any point of compacting, nothing is lost, and it can be done again', async (t) => {
  const { place, database } = await openOldFile(t);
  await database.sequelize.query('CREATE TABLE kept (n INTEGER, text TEXT)');
  for (let i = 0; i < 40; i += 1)
    await database.sequelize.query(`INSERT INTO kept VALUES (${i}, hex(randomblob(100000)))`);
  await leaveFree(database, 1);
  const rows = await allRows(database);
  const path = place.url.slice('sqlite:'.length);
  const written = (): number => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  await database.sequelize.query('PRAGMA wal_checkpoint(TRUNCATE)');
  await database.close();
  let inTheMiddle = 0;
  // The copy is being made; then the log has some of it, and half.
  for (const bytes of [0, 1, 4_000_000]) {
    const child = fork(new URL('./compacting.ts', import.meta.url), {
      env: { ...process.env, COMPACTED_URL: place.url },
    });
    t.teardown(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    const said: unknown[] = [];
    child.on('message', (text) => said.push(text));
    await once(child, 'message');
    if (bytes === 0) await sleep(10);
    while (written() < bytes && said.length < 2) await immediate();
    child.kill('SIGKILL');
    await ended;
    if (said.length < 2) inTheMiddle += 1;
    const opened = await openAt(t, place);
    const checked = await opened.sequelize.query('PRAGMA integrity_check', plainSelect());
    t.deepEqual(checked, [{ integrity_check: 'ok' }]);
    t.deepEqual(await allRows(opened), rows);
    await opened.close();
  }
  t.true(inTheMiddle >= 2, `${inTheMiddle} of 3`);
  const again = await openAt(t, place);
  t.like(await compactFile(again), { isLogKept: false });
  t.like(await readFileSpace(again), { canShrink: true, freeBytes: 0 });
  t.deepEqual(await allRows(again), rows);
  // The copies of those that were killed are gone with them.
  t.deepEqual(
    readdirSync(dirname(path)).filter((name) => !name.startsWith(basename(path))),
    [],
  );
});

for (const kind of databaseKinds())
  test(`${kind}: a database in memory, or on a server, has nothing to give back`, async (t) => {
    const database = await openDatabase(t, kind);
    t.is(await shrinkFile(database), 0);
    t.is((await readFileSpace(database))?.canShrink, kind === 'sqlite' ? true : undefined);
  });
