// The text of the schema with which databases in memory begin: it is what the migrations make, and
// what it makes, they would make.

import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { connectDatabase, type Database, executedMigrations } from '../../../models/index.ts';
import { migrations, runMissingSteps } from '../../../models/migrations/index.ts';
import { latestOf, makeLatest, readLatest } from '../../../models/migrations/latest.ts';
import { makePlace, openAt } from '../../support/database/databases.ts';

test('the text is what the migrations make', async (t) => {
  const database = await openEmpty(t);
  await runMissingSteps(database);
  t.is(readLatest(), await latestOf(database), 'run: npm run schema');
});

test('a file that the text made gives the same text, and wants no further step', async (t) => {
  const place = await makePlace(t, 'sqlite');
  await makeLatest(place.url.slice('sqlite:'.length));
  const database = await openAt(t, place);
  t.is(await latestOf(database), readLatest());
  t.deepEqual(
    await executedMigrations(database),
    migrations.map(({ name }) => name),
  );
  t.deepEqual(await runMissingSteps(database), []);
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
