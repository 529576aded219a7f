// A new SQLite file gives back what is free, an old one stays as it is.

import { statSync } from 'node:fs';
import test from 'ava';
import { type Database, migrate, shrinkFile } from '../../../models/index.ts';
import { PAGES_KEPT } from '../../../models/database/shrink.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { KEY, loadReleased } from '../migrations/released-databases.ts';

async function pragma({ sequelize }: Database, name: string): Promise<number> {
  const [row] = await sequelize.query<Record<string, number>>(`PRAGMA ${name}`, plainSelect());
  return Number(row?.[name]);
}

/** Writes and deletes some 8 MB, so that their pages are free. */
async function leaveFree({ sequelize }: Database): Promise<void> {
  await sequelize.query('CREATE TABLE big (text TEXT)');
  for (let i = 0; i < 40; i += 1)
    await sequelize.query('INSERT INTO big VALUES (hex(randomblob(100000)))');
  await sequelize.query('DROP TABLE big');
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

test('a file of an earlier version stays as it is', async (t) => {
  const place = { ...(await makePlace(t, 'sqlite')), encryptionKey: KEY };
  await loadReleased(place.url, '0001', 'sqlite');
  const database = await openAt(t, place);
  await migrate(database);
  await leaveFree(database);
  t.is(await shrinkFile(database), 0);
});

for (const kind of databaseKinds())
  test(`${kind}: a database in memory, or on a server, has nothing to give back`, async (t) => {
    t.is(await shrinkFile(await openDatabase(t, kind)), 0);
  });
