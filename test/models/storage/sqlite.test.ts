// SQLite files and connections: permissions, pragmas on every connection, one writer at a time.

import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import {
  type Database,
  isDatabaseAway,
  readTransaction,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { makePlace, openAt, openDatabase, openPlace } from '../../support/database/databases.ts';
import { addUser, userValues } from '../fixtures.ts';

const MODE_BITS = 0o777;

/** Where a database is, as Sequelize knows it. */
function fileOf(database: Database): string {
  return (database.sequelize as unknown as { options: { storage: string } }).options.storage;
}

test('the file and those beside it are for their owner alone', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await addUser(database);
  const path = fileOf(database);
  for (const suffix of ['', '-wal', '-shm'])
    t.is(statSync(path + suffix).mode & MODE_BITS, 0o600, suffix);
});

test('a folder that is not there is made, for its owner alone', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'a', 'b', 'postern.sqlite');
  await openAt(t, { url: `sqlite:${path}`, encryptionKey: Buffer.alloc(32) });
  t.is(statSync(dirname(path)).mode & MODE_BITS, 0o700);
});

test('a database in memory is a private file that goes at the close', async (t) => {
  const { encryptionKey } = await makePlace(t, 'sqlite');
  const database = await openAt(t, { url: 'sqlite::memory:', encryptionKey });
  const path = fileOf(database);
  t.true(existsSync(path));
  t.is(statSync(path).mode & MODE_BITS, 0o600);
  if (existsSync('/dev/shm')) t.true(path.startsWith('/dev/shm/'));
  await database.close();
  t.false(existsSync(dirname(path)));
});

test('every connection keeps foreign keys, syncs each commit and does not wait in SQLite', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const pragmas = async (transaction: Transaction): Promise<unknown[]> => {
    const values: unknown[] = [];
    for (const name of ['journal_mode', 'synchronous', 'busy_timeout', 'foreign_keys']) {
      const [row] = await database.sequelize.query(`PRAGMA ${name}`, plainSelect(transaction));
      values.push(Object.values(row!)[0]);
    }
    return values;
  };
  // Synchronous 2 is FULL. Waiting is done outside of SQLite, whose thread serves others.
  const expected = ['wal', 2, 0, 1];
  t.deepEqual((await writeTransaction(database, pragmas)).result, expected);
  const readers = Array.from({ length: 5 }, () => readTransaction(database, pragmas));
  for (const reader of readers) t.deepEqual(await reader, expected);
});

test('a reader cannot write', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await t.throwsAsync(
    readTransaction(database, (transaction) =>
      database.sequelize.query('DELETE FROM scopes', { transaction }),
    ),
    { message: /readonly/ },
  );
});

test('nothing is written to a file that was moved away or replaced', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const path = fileOf(database);
  const write = () => addUser(database);
  await write();
  renameSync(path, `${path}.away`);
  const moved = await t.throwsAsync(write, { message: /was moved or removed while it was in use/ });
  t.true(isDatabaseAway(moved));
  writeFileSync(path, '');
  t.true(
    isDatabaseAway(await t.throwsAsync(write, { message: /was replaced while it was in use/ })),
  );
  renameSync(`${path}.away`, path);
  await write();
  t.is(await database.models.User.count(), 2);
});

test('a row is never read from another file that has the name, however often it is asked for', async (t) => {
  const { database, place } = await openPlace(t, 'sqlite');
  const path = fileOf(database);
  const other = await openDatabase(t, 'sqlite');
  const { id } = await addUser(other);
  await other.sequelize.query('PRAGMA wal_checkpoint(TRUNCATE)');
  // Nobody has read a row by this one yet.
  const fresh = await openAt(t, place);
  renameSync(path, `${path}.away`);
  copyFileSync(fileOf(other), path);
  const found = [];
  for (let i = 0; i < 3; i += 1) found.push(await fresh.models.User.findByPk(id));
  renameSync(`${path}.away`, path);
  t.deepEqual(found, [null, null, null]);
});

test('what was opened while another file had the name is never used', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const path = fileOf(database);
  await addUser(database);
  const other = await openDatabase(t, 'sqlite');
  renameSync(path, `${path}.away`);
  copyFileSync(fileOf(other), path);
  const count = () => database.models.User.count();
  const counts = await Promise.allSettled(Array.from({ length: 5 }, count));
  renameSync(`${path}.away`, path);
  // One reader was open already and knows its file; the others would have found nobody.
  for (const found of counts)
    if (found.status === 'fulfilled') t.is(found.value, 1);
    else t.true(isDatabaseAway(found.reason));
  t.true(counts.some(({ status }) => status === 'rejected'));
  t.deepEqual(await Promise.all(Array.from({ length: 5 }, count)), [1, 1, 1, 1, 1]);
});

test('writers take turns in the order of asking', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const order: number[] = [];
  let writing = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      writeTransaction(database, async (transaction) => {
        writing += 1;
        t.is(writing, 1);
        await database.models.User.create(userValues(), { transaction });
        order.push(i);
        writing -= 1;
      }),
    ),
  );
  t.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
});

test('a write outside any transaction does not fall into the transaction of another', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { sequelize } = database;
  let outside: Promise<unknown> | undefined;
  await t.throwsAsync(
    writeTransaction(database, async (transaction) => {
      await database.models.User.create(userValues(), { transaction });
      outside = sequelize.query("INSERT INTO scopes (name) VALUES ('outside')");
      throw new Error('roll back');
    }),
    { message: 'roll back' },
  );
  await outside;
  t.is(await database.models.User.count(), 0);
  const [rows] = await sequelize.query("SELECT name FROM scopes WHERE name = 'outside'");
  t.is(rows.length, 1);
});
