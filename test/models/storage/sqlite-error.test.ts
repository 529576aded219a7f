// Errors of SQLite have the names that Sequelize and our own code look for.

import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { type Refusal, SqliteError, sqliteError } from '../../../models/storage/sqlite-error.ts';

/** What node:sqlite throws for a statement. */
function thrownBy(...statements: string[]): Refusal {
  const database = new DatabaseSync(':memory:');
  try {
    for (const statement of statements) database.exec(statement);
  } catch (error) {
    return error as Refusal;
  } finally {
    database.close();
  }
  throw new Error('no statement failed');
}

test('a detailed code becomes the name of its primary one', (t) => {
  const refusal = thrownBy(
    'CREATE TABLE a (id TEXT PRIMARY KEY)',
    "INSERT INTO a VALUES ('x')",
    "INSERT INTO a VALUES ('x')",
  );
  t.is(refusal.errcode, 1555);
  const error = sqliteError(refusal) as SqliteError;
  t.is(error.code, 'SQLITE_CONSTRAINT');
  t.is(error.errno, 19);
  t.is(error.message, 'SQLITE_CONSTRAINT: UNIQUE constraint failed: a.id');
});

test('each primary code has its name', (t) => {
  const names = { 1: 'ERROR', 5: 'BUSY', 10: 'IOERR', 13: 'FULL', 14: 'CANTOPEN', 26: 'NOTADB' };
  for (const [number, name] of Object.entries(names))
    t.is(new SqliteError(Number(number), '').code, `SQLITE_${name}`);
  // SQLITE_BUSY_RECOVERY and SQLITE_IOERR_SHORT_READ.
  t.is(new SqliteError(261, '').code, 'SQLITE_BUSY');
  t.is(new SqliteError(522, '').code, 'SQLITE_IOERR');
});

test('what SQLite did not refuse keeps the code of Node', (t) => {
  const error = sqliteError({ code: 'ERR_INVALID_ARG_TYPE', message: 'no' });
  t.false(error instanceof SqliteError);
  t.like(error, { code: 'ERR_INVALID_ARG_TYPE', message: 'no' });
});
