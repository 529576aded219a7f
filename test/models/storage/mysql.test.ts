// MySQL and MariaDB: what every connection is given, whatever the server's own settings are.

import test from 'ava';
import { readTransaction, type Transaction, writeTransaction } from '../../../models/index.ts';
import { mysqlDialectOptions } from '../../../models/storage/mysql.ts';
import { databaseKinds, openDatabase } from '../../support/databases.ts';
import { addUser, write } from '../fixtures.ts';

test('the driver sends one statement at a time and waits a bounded time', (t) => {
  t.false(mysqlDialectOptions.multipleStatements);
  t.true(mysqlDialectOptions.connectTimeout <= 10_000);
});

/** The one that compares code points without padding, as each server calls it. */
function expectedCollation(version: unknown): string {
  return /mariadb/i.test(String(version)) ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin';
}

if (databaseKinds().includes('mariadb')) {
  test('every connection is strict, in UTC and in utf8mb4', async (t) => {
    const database = await openDatabase(t, 'mariadb', { poolSize: 3 });
    const read = async (transaction: Transaction): Promise<Record<string, unknown>> => {
      const [rows] = await database.sequelize.query(
        `SELECT @@sql_mode AS mode, @@time_zone AS zone, @@innodb_lock_wait_timeout AS seconds,
         @@character_set_client AS client, @@collation_connection AS collation,
         VERSION() AS version`,
        { transaction },
      );
      return rows[0] as Record<string, unknown>;
    };
    const sessions = await Promise.all(
      Array.from({ length: 3 }, async () => (await writeTransaction(database, read)).result),
    );
    for (const session of sessions) {
      t.regex(String(session['mode']), /STRICT_ALL_TABLES/);
      t.notRegex(String(session['mode']), /ANSI_QUOTES|NO_BACKSLASH_ESCAPES/);
      t.is(session['zone'], '+00:00');
      t.is(session['seconds'], 5);
      t.is(session['client'], 'utf8mb4');
      t.is(session['collation'], expectedCollation(session['version']));
    }
  });

  test('writers read what is committed, readers one state', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const { User } = database.models;
    await writeTransaction(database, async (transaction) => {
      const before = await User.count({ transaction });
      await addElsewhere();
      t.is(await User.count({ transaction }), before + 1);
    });
    await readTransaction(database, async (transaction) => {
      const before = await User.count({ transaction });
      await addUser(database);
      t.is(await User.count({ transaction }), before);
    });
    async function addElsewhere(): Promise<void> {
      await database.sequelize.query(
        `INSERT INTO users (id, email, email_key, role, inserted_at, updated_at)
         VALUES ('x', 'x', 'x', 'admin', NOW(6), NOW(6))`,
      );
    }
  });

  test('a value that does not fit is an error, never cut', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    await t.throwsAsync(
      write(database, (transaction) =>
        database.models.User.create({ email: 'x'.repeat(300) }, { transaction }),
      ),
      { message: /Data too long/ },
    );
  });

  test('tables compare by code point, trailing spaces included', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const [rows] = await database.sequelize.query(
      `SELECT DISTINCT COLLATION_NAME AS name, VERSION() AS version FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = DATABASE() AND COLLATION_NAME IS NOT NULL`,
    );
    const [first] = rows as { name: string; version: string }[];
    t.is(rows.length, 1);
    t.is(first?.name, expectedCollation(first?.version));
  });

  test('numbers beyond 32 bits come back as numbers', async (t) => {
    const database = await openDatabase(t, 'mariadb');
    const [rows] = await database.sequelize.query('SELECT 9007199254740991 AS big');
    t.deepEqual(rows, [{ big: Number.MAX_SAFE_INTEGER }]);
  });
}
