// A disk that refused a write counts as full until a write of ordinary size finds room again.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { type Database, isDatabaseFull, migrate, writeTransaction } from '../../../models/index.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { addUser } from '../fixtures.ts';

const SOON_MS = 2_000;

async function rowsLeft({ sequelize }: Database): Promise<number> {
  const sql = "SELECT COUNT(*) AS n FROM leases WHERE name LIKE 'room-%'";
  const [row] = await sequelize.query<{ n: number }>(sql, plainSelect());
  return Number(row?.n);
}

async function fill(database: Database): Promise<void> {
  for (;;)
    try {
      await addUser(database);
    } catch (error) {
      if (isDatabaseFull(error)) return;
      throw error;
    }
}

test('sqlite: it is full until there is room, and then no longer than two seconds', async (t) => {
  const said: string[] = [];
  const log = { info: (_: object, text: string) => said.push(text), warn: () => undefined };
  const database = await openDatabase(t, 'sqlite', { log });
  t.false(database.isFull);
  await database.sequelize.query('PRAGMA max_page_count = 1');
  await fill(database);
  t.true(database.isFull);
  // Small writes find room: what is left of a page is enough for them.
  await sleep(2_500);
  t.true(database.isFull, 'it is tried again and again');
  await database.sequelize.query('PRAGMA max_page_count = 1000000');
  const began = performance.now();
  while (database.isFull && performance.now() - began < 30_000) await sleep(20);
  const tookMs = performance.now() - began;
  t.true(tookMs < SOON_MS, `${tookMs} ms`);
  t.deepEqual(said, ['the disk of the database has room again']);
  t.is(await rowsLeft(database), 0);
  await addUser(database);
});

for (const kind of databaseKinds()) {
  test(`${kind}: what is tried is written and gone again, also what a dead process left`, async (t) => {
    const database = await openDatabase(t, kind);
    const left = `INSERT INTO leases (name, owner, expires_ms) VALUES ('room-dead-1', '', 1)`;
    await database.sequelize.query(left);
    t.is(await rowsLeft(database), 1);
    database.noteFull();
    database.noteFull();
    t.true(database.isFull);
    while (database.isFull) await sleep(20);
    t.is(await rowsLeft(database), 0);
  });

  test(`${kind}: a database that is closed is tried no more`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    await writeTransaction(database, async () => undefined);
    database.noteFull();
    await database.close();
    t.false(database.isFull);
    database.noteFull();
    t.false(database.isFull);
  });
}
