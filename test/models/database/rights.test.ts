// A database user who may not do all that is needed: reported once, with the statement that grants it.

import { randomBytes } from 'node:crypto';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { connectDatabase, type Database, migrate, tryWriting } from '../../../models/index.ts';
import { MissingRightsError } from '../../../models/database/rights.ts';
import { missingRights } from '../../../models/database/rights.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { runOnServer } from '../../support/database/mariadb.ts';
import { addDevice, addUser } from '../fixtures.ts';

const ALL = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'CREATE', 'ALTER', 'REFERENCES'];

test('with SQLite nobody lacks a right', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  t.deepEqual(await missingRights(database, { isMigrating: true }), []);
  await tryWriting(database);
});

if (databaseKinds().includes('mariadb')) {
  const server = process.env['TEST_MARIADB_URL'] ?? '';

  /** Makes an empty database and a user of the same name. */
  async function makeUser(t: ExecutionContext) {
    const name = `rights_${randomBytes(6).toString('hex')}`;
    const account = `'${name}'@'127.0.0.1'`;
    const run = (...statements: string[]) => runOnServer(server, ...statements);
    await run(`CREATE DATABASE ${name}`, `CREATE USER ${account} IDENTIFIED BY 'x'`);
    t.teardown(() => run(`DROP DATABASE ${name}`, `DROP USER ${account}`));
    const open = async (): Promise<Database> => {
      const url = `${server.replace('root@', `${name}:x@`)}${name}`;
      const database = await connectDatabase({ url, encryptionKey: Buffer.alloc(32) });
      t.teardown(() => database.close());
      return database;
    };
    const may = (...rights: string[]) =>
      run(
        `GRANT ALL ON ${name}.* TO ${account}`,
        `REVOKE ALL ON ${name}.* FROM ${account}`,
        `GRANT ${rights.join(', ')} ON ${name}.* TO ${account}`,
      );
    const grant = `GRANT ${ALL.join(', ')} ON \`${name}\`.* TO ${account};`;
    return { name, account, open, may, grant, run };
  }

  test('all rights that are missing are named before anything is made', async (t) => {
    const { name, account, open, may, grant, run } = await makeUser(t);
    await may('SELECT', 'INSERT', 'DELETE');
    const error = await t.throwsAsync(migrate(await open()), { instanceOf: MissingRightsError });
    t.is(
      error?.message,
      `The database user ${account} lacks rights on the database ${name}: UPDATE, CREATE, ALTER. ` +
        `Let an administrator of the server run: ${grant}`,
    );
    const database = await open();
    t.deepEqual(await database.sequelize.getQueryInterface().showAllTables(), []);
    await t.throwsAsync(tryWriting(database), { message: /UPDATE command denied/ });
    await run(grant);
    const granted = await open();
    await tryWriting(granted);
    t.true((await migrate(granted)).length > 0, 'what it says to run is enough');
    await tryWriting(granted);
  });

  test('whoever may not open the database reads what to run', async (t) => {
    const { name, account, open, grant } = await makeUser(t);
    const error = await t.throwsAsync(open(), { instanceOf: MissingRightsError });
    t.true(error?.message.endsWith(`CREATE DATABASE IF NOT EXISTS \`${name}\`; ${grant}`));
    t.true(error?.message.includes(account));
  });

  for (const right of ['CREATE', 'ALTER', 'INSERT', 'UPDATE', 'DELETE', 'SELECT'])
    test(`that ${right} is missing is found before a migration`, async (t) => {
      const { open, may } = await makeUser(t);
      await may(...ALL.filter((one) => one !== right));
      const error = await t.throwsAsync(migrate(await open()), { instanceOf: MissingRightsError });
      t.regex(error?.message ?? '', new RegExp(`on the database \\w+: ${right}\\. Let`));
    });

  test('a gateway whose database is up to date runs without the rights of migrations', async (t) => {
    const { open, may, grant, run } = await makeUser(t);
    await run(grant);
    await migrate(await open());
    await may('SELECT', 'INSERT', 'UPDATE', 'DELETE');
    const database = await open();
    t.deepEqual(await migrate(database), []);
    await addDevice(database, await addUser(database), { ipv4: '10.0.0.1' });
    t.deepEqual(await missingRights(database, { isMigrating: true }), ['CREATE', 'ALTER']);
    await may('SELECT', 'INSERT', 'UPDATE');
    await t.throwsAsync(migrate(await open()), { message: /: DELETE\. Let/ });
  });
}
