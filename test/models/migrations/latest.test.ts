// The text of the schema with which databases in memory begin: it is what the migrations make, and
// what it makes, they would make.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { connectDatabase, type Database, executedMigrations } from '../../../models/index.ts';
import { migrations, runMissingSteps } from '../../../models/migrations/index.ts';
import { beginAsLatest, latestOf, readLatest } from '../../../models/migrations/latest.ts';
import { makeImage } from '../../../models/migrations/memory.ts';
import { makePlace, openAt } from '../../support/database/databases.ts';

test('the text is what the migrations make', async (t) => {
  const database = await openEmpty(t);
  await runMissingSteps(database, { takesSteps: true });
  t.is(readLatest(), await latestOf(database), 'run: npm run schema');
});

test('a file that the text made gives the same text, and wants no further step', async (t) => {
  const place = await makePlace(t, 'sqlite');
  writeFileSync(place.url.slice('sqlite:'.length), await makeImage());
  const database = await openAt(t, place);
  t.is(await latestOf(database), readLatest());
  t.deepEqual(
    await executedMigrations(database),
    migrations.map(({ name }) => name),
  );
  t.deepEqual(await runMissingSteps(database), []);
});

test('a new file begins as the text, with one line of the log, and a step after it runs', async (t) => {
  const lines: object[] = [];
  const log = { info: (line: object) => lines.push(line), warn: () => t.fail() };
  const database = await openAt(t, await makePlace(t, 'sqlite'), { log });
  const names = migrations.map(({ name }) => name);
  t.deepEqual(await runMissingSteps(database), names);
  t.deepEqual(lines, [{ schema: names.at(-1) }]);
  t.is(await latestOf(database), readLatest());
  t.deepEqual(await runMissingSteps(database), []);
  const later = { name: '9999-later', up: async () => undefined };
  t.deepEqual(await runMissingSteps(database, { migrations: [...migrations, later] }), [
    '9999-later',
  ]);
});

test('of two that find a new file one makes it, and neither makes a half', async (t) => {
  const place = await makePlace(t, 'sqlite');
  const both = await Promise.all([openAt(t, place), openAt(t, place)]);
  const made = await Promise.all(both.map((database) => beginAsLatest(database)));
  t.is(made.filter((isMade) => isMade).length, 1);
  const other = await openEmpty(t);
  await other.sequelize.query('CREATE TABLE configurations (id INTEGER)');
  t.false(await beginAsLatest(other), 'something is there already');
  const tables: unknown[] = await other.sequelize.getQueryInterface().showAllTables();
  t.deepEqual(tables, ['configurations']);
});

test('what is in rows is kept: quotes, nothing, and times as those of the running', async (t) => {
  const database = await openEmpty(t);
  for (const sql of [
    'CREATE TABLE things (name TEXT, size INTEGER, bytes BLOB, made_at DATETIME, gone_at DATETIME)',
    "INSERT INTO things VALUES ('it''s', 7, x'00ff', '2026-01-02 03:04:05.678 +00:00', NULL)",
    'CREATE TRIGGER no_more BEFORE INSERT ON things BEGIN SELECT RAISE(ABORT, 1); END',
  ])
    await database.sequelize.query(sql);
  t.deepEqual((await latestOf(database)).split('\n').slice(1, -1), [
    'CREATE TABLE things (name TEXT, size INTEGER, bytes BLOB, made_at DATETIME, gone_at DATETIME);',
    'INSERT INTO things (name, size, bytes, made_at, gone_at) VALUES ' +
      "('it''s', 7, X'00FF', strftime('%Y-%m-%d %H:%M:%f +00:00', 'now'), NULL);",
    'CREATE TRIGGER no_more BEFORE INSERT ON things BEGIN SELECT RAISE(ABORT, 1); END;',
  ]);
});

async function openEmpty(t: ExecutionContext): Promise<Database> {
  const database = await connectDatabase({
    url: 'sqlite::memory:',
    encryptionKey: randomBytes(32),
  });
  t.teardown(() => database.close());
  return database;
}
