// A connection to a SQLite file: prepared statements, order, and errors as answers.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { SqliteConnection } from '../../../models/storage/sqlite-connection.ts';

async function open(t: ExecutionContext): Promise<SqliteConnection> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  const file = join(folder, 'db.sqlite');
  writeFileSync(file, '');
  const connection = await SqliteConnection.open(file, ['journal_mode = WAL']);
  t.teardown(async () => {
    await connection.close();
    rmSync(folder, { recursive: true });
  });
  await connection.execute('run', 'CREATE TABLE pairs (name TEXT PRIMARY KEY, value)', []);
  return connection;
}

test('a statement with parameters runs again and again with others', async (t) => {
  const connection = await open(t);
  for (let i = 0; i < 250; i += 1) {
    const { error, statement } = await connection.execute(
      'run',
      'INSERT INTO pairs VALUES ($1, $2)',
      { $1: `name ${i}`, $2: i },
    );
    t.is(error, null);
    t.is(statement.changes, 1);
  }
  const { rows } = await connection.execute('all', 'SELECT SUM(value) AS sum FROM pairs', []);
  t.deepEqual(rows, [{ sum: (249 * 250) / 2 }]);
});

test('more texts than can be kept prepared all work', async (t) => {
  const connection = await open(t);
  for (let round = 0; round < 2; round += 1)
    for (let i = 0; i < 150; i += 1) {
      const { rows } = await connection.execute('all', `SELECT $1 + ${i} AS sum`, { $1: 1 });
      t.deepEqual(rows, [{ sum: i + 1 }]);
    }
});

test('statements run in the order of asking, prepared or not', async (t) => {
  const connection = await open(t);
  const outcomes = await Promise.all([
    connection.execute('run', 'BEGIN', []),
    connection.execute('run', 'INSERT INTO pairs VALUES ($1, $2)', { $1: 'a', $2: 1 }),
    connection.execute('run', "INSERT INTO pairs VALUES ('b', 2)", []),
    connection.execute('run', 'ROLLBACK', []),
    connection.execute('run', 'INSERT INTO pairs VALUES ($1, $2)', { $1: 'c', $2: 3 }),
  ]);
  t.deepEqual(
    outcomes.map(({ error }) => error),
    Array.from({ length: 5 }, () => null),
  );
  const { rows } = await connection.execute('all', 'SELECT name FROM pairs', []);
  t.deepEqual(rows, [{ name: 'c' }]);
});

test('an error is an answer, and the statement works again afterwards', async (t) => {
  const connection = await open(t);
  const insert = (name: string) =>
    connection.execute('run', 'INSERT INTO pairs VALUES ($1, $2)', { $1: name, $2: 1 });
  t.is((await insert('a')).error, null);
  t.regex((await insert('a')).error!.message, /UNIQUE constraint failed: pairs.name/);
  t.is((await insert('b')).error, null);
  const { error } = await connection.execute('all', 'SELECT a FROM nowhere WHERE a = $1', {
    $1: 1,
  });
  t.regex(error!.message, /no such table/);
});

test('a prepared statement outlives a change of the table', async (t) => {
  const connection = await open(t);
  const read = () => connection.execute('all', 'SELECT * FROM pairs WHERE name <> $1', { $1: '' });
  await connection.execute('run', "INSERT INTO pairs VALUES ('a', 1)", []);
  t.deepEqual((await read()).rows, [{ name: 'a', value: 1 }]);
  await connection.execute('run', 'ALTER TABLE pairs ADD COLUMN note TEXT', []);
  t.deepEqual((await read()).rows, [{ name: 'a', value: 1, note: null }]);
});

test('a file that is no database is refused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'text'), 'this is text, and long enough to have a header of its own');
  await t.throwsAsync(SqliteConnection.open(join(folder, 'text'), ['journal_mode = WAL']), {
    message: /not a database/,
  });
  await t.throwsAsync(SqliteConnection.open(join(folder, 'absent'), []), { message: /CANTOPEN/ });
});

test('a text of several statements runs in its turn, and its error is thrown', async (t) => {
  const connection = await open(t);
  const first = connection.execute('run', "INSERT INTO pairs VALUES ('a', 1)", []);
  await connection.executeAll("INSERT INTO pairs VALUES ('b', 2); UPDATE pairs SET value = 3;");
  t.is((await first).error, null);
  const { rows } = await connection.execute('all', 'SELECT value FROM pairs', []);
  t.deepEqual(rows, [{ value: 3 }, { value: 3 }]);
  await t.throwsAsync(connection.executeAll('INSERT INTO absent VALUES (1)'), {
    message: /no such table/,
  });
  t.is((await connection.execute('all', 'SELECT 1 AS one', [])).error, null);
});
