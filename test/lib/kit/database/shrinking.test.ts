// The chore that shrinks the database file says what it gave back, and nothing where it is nothing.

import test from 'ava';
import { shrinkDatabase } from '../../../../lib/kit/database/shrinking.ts';
import type { Log } from '../../../../lib/kit/process/log.ts';
import { openDatabase } from '../../../support/database/databases.ts';

test('what is given back is in the log', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const lines: object[] = [];
  const log = { info: (what: object) => void lines.push(what) } as unknown as Log;
  const { run } = shrinkDatabase(database, log);
  await run(() => false);
  t.deepEqual(lines, []);
  const { sequelize } = database;
  await sequelize.query('CREATE TABLE big (text TEXT)');
  for (let i = 0; i < 40; i += 1)
    await sequelize.query('INSERT INTO big VALUES (hex(randomblob(100000)))');
  await sequelize.query('DROP TABLE big');
  let turns = 0;
  await run(() => (turns += 1) > 1);
  t.deepEqual(lines, [{ pages: 100 }]);
});
