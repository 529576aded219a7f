// Reads of one row on the main thread: which texts are such, and that they answer as the thread.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { currentRevision, writeTransaction } from '../../../models/index.ts';
import { ShortReads } from '../../../models/storage/short-reads.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';
import { addUser } from '../fixtures.ts';

const SCHEMA = `
  CREATE TABLE a (id TEXT PRIMARY KEY, kind TEXT, part INTEGER, bytes BLOB);
  CREATE UNIQUE INDEX a_kind_part ON a (kind, part);
  CREATE INDEX a_part ON a (part);
  CREATE TABLE b (id INTEGER PRIMARY KEY, a_id TEXT UNIQUE);
  INSERT INTO a VALUES ('x', 'k', 1, x'0102'), ('it''s', 'k', 2, NULL);
  INSERT INTO b VALUES (1, 'x');
`;

/** A file that nobody moves. */
const inPlace = (path: string) => ({ path, assertInPlace: () => undefined });

/** A reader of a file with two tables, and a connection of another program. */
function makeReads(t: ExecutionContext): { reads: ShortReads; other: DatabaseSync } {
  const path = join(temporaryFolder('postern-short-'), 'db.sqlite');
  const other = new DatabaseSync(path);
  other.exec(`PRAGMA journal_mode = WAL; ${SCHEMA}`);
  const reads = new ShortReads(inPlace(path));
  t.teardown(() => {
    reads.close();
    other.close();
  });
  return { reads, other };
}

/** What the second asking comes to: a text that comes once goes to the thread. */
function again(reads: ShortReads, sql: string, parameters?: unknown) {
  reads.read(sql, parameters, false);
  return reads.read(sql, parameters, false);
}

test('the version moves with each commit of another, and with nothing else', (t) => {
  const { reads, other } = makeReads(t);
  const first = reads.version();
  t.is(typeof first, 'number');
  t.is(again(reads, "SELECT part FROM a WHERE id = 'x'")?.length, 1);
  t.is(reads.version(), first);
  other.exec('BEGIN; INSERT INTO b VALUES (2, NULL)');
  t.is(reads.version(), first, 'nothing is committed');
  other.exec('COMMIT');
  const second = reads.version();
  t.not(second, first);
  t.is(reads.version(), second);
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  other.exec('INSERT INTO b VALUES (3, NULL)');
  t.not(reads.version(), second);
  reads.close();
  t.is(reads.version(), null);
});

test('a file that is not in its place has no version', (t) => {
  const assertInPlace = (): void => {
    throw new Error('it was moved');
  };
  t.is(new ShortReads({ path: '/nowhere/db.sqlite', assertInPlace }).version(), null);
});

test('a text is read here from its second time on, whatever is compared in it', (t) => {
  const { reads } = makeReads(t);
  t.is(reads.read("SELECT part FROM a WHERE id = 'none'", undefined, false), null);
  t.deepEqual(reads.read("SELECT part FROM a WHERE id = 'x'", undefined, false), [{ part: 1 }]);
  t.deepEqual(reads.read("SELECT part FROM a WHERE id = 'it''s'", [], false), [{ part: 2 }]);
  t.deepEqual(reads.read("SELECT part FROM a WHERE id = ''' OR 1 = ''1'", [], false), []);
});

test('what finds each row by a whole unique key is short', (t) => {
  const { reads } = makeReads(t);
  const texts = [
    "SELECT * FROM a WHERE id = 'x'",
    "SELECT * FROM a WHERE kind = 'k' AND part = 1",
    'SELECT a.* FROM b LEFT JOIN a ON a.id = b.a_id WHERE b.id = 1',
    "SELECT a.*, (SELECT id FROM b WHERE a_id = 'x') IS NULL AS c FROM a WHERE id = 'x'",
  ];
  for (const text of texts) t.is(again(reads, text)?.length, 1, text);
  const [row] = again(reads, 'SELECT bytes FROM a WHERE id = $id', { $id: 'x' }) ?? [];
  t.deepEqual(row, { bytes: Buffer.from([1, 2]) });
  t.deepEqual(again(reads, 'SELECT json_array($n) AS j FROM b WHERE id = $n', { $n: 1 }), [
    { j: '[1]' },
  ]);
});

test('what may look at many rows goes to the thread', (t) => {
  const { reads } = makeReads(t);
  const texts = [
    'SELECT * FROM a',
    'SELECT COUNT(*) FROM a',
    "SELECT * FROM a WHERE kind = 'k'",
    'SELECT * FROM a WHERE part = 1',
    "SELECT * FROM a WHERE id > 'a'",
    "SELECT * FROM a WHERE id = 'x' OR part = 1",
    "SELECT * FROM a WHERE id = 'x' UNION ALL SELECT * FROM a",
    "SELECT * FROM a, b WHERE a.id = 'x'",
    `SELECT * FROM a WHERE id IN ('x'${", 'y'".repeat(1_000)})`,
    'WITH c AS (SELECT 1) SELECT * FROM c',
    "UPDATE a SET part = 3 WHERE id = 'x'",
    'PRAGMA user_version',
  ];
  for (const text of texts) t.is(again(reads, text), null, text.slice(0, 80));
});

test('who asks may know that a text is short', (t) => {
  const { reads } = makeReads(t);
  t.deepEqual(reads.read('SELECT COUNT(*) AS count FROM a', undefined, true), [{ count: 2 }]);
});

test('values that are bound in another way, errors and locks go to the thread', (t) => {
  const { reads, other } = makeReads(t);
  const sql = 'SELECT * FROM a WHERE id = $id';
  t.not(again(reads, sql, { $id: 'x' }), null);
  for (const parameters of [['x'], { $id: null }, { $id: 1.5 }, { $id: true }, { $no: 'x' }])
    t.is(again(reads, sql, parameters), null, JSON.stringify(parameters));
  t.is(again(reads, "SELECT * FROM absent WHERE id = 'x'"), null);
  // A comment may hold half a pair of quotes: nothing is taken out of such a text.
  t.deepEqual(again(reads, "SELECT id FROM a WHERE id = 'x' -- it's = 'y'"), [{ id: 'x' }]);
  // A lock of the whole file, as of a program that does not know WAL.
  reads.close();
  const locked = new ShortReads(inPlace(other.location() ?? ''));
  other.exec('PRAGMA locking_mode = EXCLUSIVE; DELETE FROM b WHERE id = 99');
  t.is(again(locked, "SELECT * FROM a WHERE id = 'x'"), null);
  locked.close();
});

test('nothing is written here, and nothing is read after the end', (t) => {
  const { reads } = makeReads(t);
  const sql = "SELECT * FROM a WHERE id = 'x'";
  t.not(again(reads, sql), null);
  reads.close();
  t.is(again(reads, sql), null);
});

test('a read sees each write that was answered, and none that is not', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const user = await addUser(database);
  const { User } = database.models;
  for (let i = 0; i < 20; i += 1) {
    const email = `number${i}@example.com`;
    const { revision } = await writeTransaction(database, async (transaction) => {
      const found = await User.findByPk(user.id, { transaction, rejectOnEmpty: true });
      await found.update({ email }, { transaction });
      t.not((await User.findByPk(user.id))?.email, email);
      t.is((await User.findByPk(user.id, { transaction }))?.email, email);
    });
    t.is((await User.findByPk(user.id))?.email, email);
    t.is(await currentRevision(database), revision);
  }
});
