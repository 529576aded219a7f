// Statements that travel together to MySQL and MariaDB: how many trips they take, and that none of
// them remains where one fails.

import test, { type ExecutionContext } from 'ava';
import {
  type Database,
  migrate,
  readTransaction,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { SlowLine } from '../../support/database/slow-line.ts';
import { addUser, userValues } from '../fixtures.ts';

/** Opens a database over a line that counts commands. */
async function openCounted(t: ExecutionContext): Promise<{ database: Database; line: SlowLine }> {
  const place = await makePlace(t, 'mariadb');
  const line = await SlowLine.to(place.url);
  t.teardown(() => line.close());
  const database = await openAt(t, { ...place, url: line.url });
  await migrate(database);
  return { database, line };
}

if (databaseKinds().includes('mariadb')) {
  test('what is asked for in one moment is one trip, its beginning included', async (t) => {
    const { database, line } = await openCounted(t);
    const { sequelize } = database;
    const count = async (fn: (transaction: Transaction) => Promise<unknown>): Promise<number> => {
      const before = line.commands;
      await sequelize.transaction(fn);
      return line.commands - before;
    };
    const select = (transaction: Transaction) => sequelize.query('SELECT 1', { transaction });
    t.is(await count(async () => undefined), 0, 'nothing is asked for');
    t.is(await count((one) => select(one)), 2, 'the beginning goes with it, then the commit');
    t.is(await count((one) => Promise.all([select(one), select(one), select(one)])), 2);
    t.is(await count((one) => select(one).then(() => select(one))), 3, 'one waits for the other');
    const long = `SELECT '${'x'.repeat(200_000)}'`;
    const text = (one: Transaction) => sequelize.query(long, { transaction: one });
    t.is(await count((one) => Promise.all([text(one), text(one)])), 3, 'long ones go apart');
    const before = line.commands;
    await writeTransaction(database, async () => undefined);
    t.is(line.commands - before, 1, 'the revision is read and the commit made at once');
    const rolledBack = count(() => Promise.reject(new Error('no')));
    await t.throwsAsync(rolledBack, { message: 'no' });
  });

  test('each gets its own answer, also in a consistent state', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const one = (transaction: Transaction, sql: string) =>
      database.sequelize.query(sql, { transaction }).then(([rows]) => rows);
    const answers = await readTransaction(database, (transaction) =>
      Promise.all([
        one(transaction, 'SELECT 1 AS a UNION ALL SELECT 2'),
        one(transaction, 'SELECT id FROM users'),
        one(transaction, 'SELECT 3 AS b'),
      ]),
    );
    t.deepEqual(answers, [[{ a: 1 }, { a: 2 }], [], [{ b: 3 }]]);
  });

  test('where one of several fails nothing remains, whoever overlooks it', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const { email } = await addUser(database);
    const { User } = database.models;
    await t.throwsAsync(
      writeTransaction(database, (transaction) =>
        Promise.allSettled([
          User.create(userValues(), { transaction }),
          User.create({ email }, { transaction }),
          User.create(userValues(), { transaction }),
        ]),
      ),
      { name: 'SequelizeUniqueConstraintError' },
    );
    t.is(await User.count(), 1);
    t.is(
      (await writeTransaction(database, (transaction) => User.count({ transaction }))).result,
      1,
    );
  });

  test('where one of several goes apart and fails, the others do not stand', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const { sequelize } = database;
    const add = (transaction: Transaction, names: string[]) =>
      sequelize.query('INSERT INTO scopes (name) VALUES :names', {
        replacements: { names: names.map((name) => [name]) },
        transaction,
      });
    const tooLong = 'x'.repeat(300_000);
    await t.throwsAsync(
      sequelize.transaction((transaction) =>
        Promise.all([
          add(transaction, [tooLong]),
          add(transaction, ['other']),
          sequelize.query('COMMIT', { transaction }),
        ]),
      ),
      { message: /too long/ },
    );
    const [others] = await sequelize.query("SELECT name FROM scopes WHERE name = 'other'");
    t.deepEqual(others, []);
  });

  test('where the beginning fails nothing remains, whoever overlooks it', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const { sequelize } = database;
    const isolationLevel = 'NONE OF THESE' as Transaction.ISOLATION_LEVELS;
    await t.throwsAsync(
      sequelize.transaction({ isolationLevel }, async (transaction) => {
        await t.throwsAsync(sequelize.query('SELECT 1', { transaction }));
        await sequelize.query("INSERT INTO scopes (name) VALUES ('other')", { transaction });
      }),
      { message: /NONE OF THESE/ },
    );
    const [others] = await sequelize.query("SELECT name FROM scopes WHERE name = 'other'");
    t.deepEqual(others, []);
  });

  test('a statement that fails alone leaves the transaction as it was', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const { email } = await addUser(database);
    const { User } = database.models;
    await writeTransaction(database, async (transaction) => {
      await User.create(userValues(), { transaction });
      await t.throwsAsync(User.create({ email }, { transaction }));
    });
    t.is(await User.count(), 2);
  });

  test('after its commit a transaction runs nothing', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const { sequelize } = database;
    await t.throwsAsync(
      sequelize.transaction(async (transaction) => {
        await sequelize.query('SELECT 1', { transaction });
        await sequelize.query('COMMIT', { transaction });
        await sequelize.query("DELETE FROM scopes WHERE name = 'x'", { transaction });
      }),
      { message: /has ended/ },
    );
  });

  test('a text of several statements is not sent', async (t) => {
    const { database, line } = await openCounted(t);
    const before = line.commands;
    await t.throwsAsync(database.sequelize.query("DELETE FROM users; SELECT 'x'"), {
      message: /more than one statement/,
    });
    t.is(line.commands, before);
  });

  test('values in a text come back as they were', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const texts = ["'; DROP TABLE users; -- ", '\\', "\\'", '"`', '\0\n\r\u001a', '$1 ? :a', '😀'];
    for (const text of texts) {
      const [rows] = await database.sequelize.query('SELECT $1 AS text, $2 AS more', {
        bind: [text, 5],
      });
      t.deepEqual(rows, [{ text, more: 5 }]);
    }
  });
}
