// MySQL and MariaDB: what every connection is given, whatever the server's own settings are.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import {
  isDatabaseAway,
  migrate,
  readTransaction,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import { mysqlDialectOptions } from '../../../models/storage/mysql.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

test('the driver waits a bounded time', (t) => {
  t.true(mysqlDialectOptions.connectTimeout <= 10_000);
});

/** A way to the test server that can be blocked: it takes bytes and hands on nothing. */
async function valve(t: ExecutionContext): Promise<{ port: number; block: () => void }> {
  const server = new URL(process.env['TEST_MARIADB_URL'] ?? '');
  const pairs: Socket[] = [];
  const proxy = createServer((near) => {
    const far = connect(Number(server.port), server.hostname);
    pairs.push(near, far);
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far);
    far.pipe(near);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    for (const socket of pairs) socket.destroy();
    proxy.close();
  });
  const block = (): void => {
    for (const socket of pairs) socket.unpipe().pause();
  };
  return { port: (proxy.address() as AddressInfo).port, block };
}

/** The one that compares code points without padding, as each server calls it. */
function expectedCollation(version: unknown): string {
  return /mariadb/i.test(String(version)) ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin';
}

if (databaseKinds().includes('mariadb')) {
  test('a server that takes statements and never answers is given up', async (t) => {
    const place = await makePlace(t, 'mariadb');
    await migrate(await openAt(t, place));
    const { port, block } = await valve(t);
    const url = new URL(place.url);
    url.port = String(port);
    const options = { silenceMs: 1_000, poolSize: 1 };
    const database = await openAt(t, { ...place, url: url.href }, options);
    t.is(await database.models.User.count(), 0);
    block();
    const error = await t.throwsAsync(database.models.User.count());
    t.true(isDatabaseAway(error), String(error));
    // The way is free again for what connects anew.
    t.is(await database.models.User.count(), 0);
  });

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
