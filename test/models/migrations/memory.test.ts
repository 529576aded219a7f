// Databases in memory that begin as the text of the schema: what migrations make, and nothing else.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  type Database,
  openMemoryDatabase,
  pendingMigrations,
  writeTransaction,
} from '../../../models/index.ts';
import { checkEncryptionKey } from '../../../models/queries/secrets.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { openDatabase } from '../../support/database/databases.ts';

async function open(t: ExecutionContext): Promise<Database> {
  const database = await openMemoryDatabase({ encryptionKey: randomBytes(32) });
  t.teardown(() => database.close());
  return database;
}

/** Everything that is in a database without people: its schema, and the rows of its tables. */
async function contentsOf(database: Database): Promise<object> {
  const select = (sql: string): Promise<Record<string, unknown>[]> =>
    database.sequelize.query<Record<string, unknown>>(sql, plainSelect());
  const schema = await select(
    'SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name',
  );
  const rows: Record<string, unknown> = {};
  for (const { name, type } of schema)
    if (type === 'table')
      rows[String(name)] = withoutChance(
        await select(`SELECT * FROM \`${String(name)}\` ORDER BY 1`),
      );
  return { schema, rows };
}

/** Rows without what differs between any two databases: ids, times, what is sealed. */
function withoutChance(rows: object[]): unknown {
  return JSON.parse(
    JSON.stringify(rows)
      .replaceAll(/"[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}"/g, '"an id"')
      .replaceAll(/"[\d-]{10} [\d:.]{12} \+00:00"/g, '"a time"')
      .replaceAll(/"1:[\da-f]{8}:[^"]+"/g, '"sealed"'),
  );
}

function pathOf(database: Database): string {
  return (database.sequelize as unknown as { options: { storage: string } }).options.storage;
}

test('the first and each further one are what migrations make of an empty database', async (t) => {
  const migrated = await contentsOf(await openDatabase(t, 'sqlite'));
  for (const database of [await open(t), await open(t), await open(t)]) {
    t.deepEqual(await pendingMigrations(database), []);
    t.deepEqual(await contentsOf(database), migrated);
    await t.notThrowsAsync(checkEncryptionKey(database));
  }
});

test('several that are opened at once are strangers to each other', async (t) => {
  const [one, other] = (await Promise.all([open(t), open(t), open(t)])) as [
    Database,
    Database,
    Database,
  ];
  await writeTransaction(one, (transaction) =>
    one.models.User.create({ email: 'alice@example.com', role: 'admin' }, { transaction }),
  );
  t.is(await one.models.User.count(), 1);
  t.is(await other.models.User.count(), 0);
  t.is(await (await open(t)).models.User.count(), 0);
});

test('nothing is left of one that is closed', async (t) => {
  const database = await openMemoryDatabase({ encryptionKey: randomBytes(32) });
  const folder = dirname(pathOf(database));
  t.true(existsSync(folder));
  await database.close();
  t.false(existsSync(folder));
});

test('one that cannot be opened says so and is in nobody’s way', async (t) => {
  await t.throwsAsync(openMemoryDatabase({ encryptionKey: randomBytes(7) }), {
    message: /32 bytes, it has 7/,
  });
  await t.notThrowsAsync(open(t));
});
