// What must not get out: no secret and no person's address in any error, no secret in JSON.

import { inspect } from 'node:util';
import test from 'ava';
import { readOrCreateConfiguration } from '../../../models/index.ts';
import { uniqueColumn } from '../../../models/database/errors.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addToken, addUser, deviceValues, tokenValues, write } from '../fixtures.ts';

/** All that any logger could make of an error. */
function everythingOf(error: unknown): string {
  const fields: Record<string, unknown> = {};
  for (const name in error as Record<string, unknown>)
    fields[name] = (error as Record<string, unknown>)[name];
  const { message, stack } = error as Error;
  return [message, stack, JSON.stringify(fields), inspect(error, { depth: 12 })].join('\n');
}

for (const kind of databaseKinds()) {
  test(`${kind}: errors of the database hold neither values nor rows`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, Device, ApiToken } = database.models;
    const user = await addUser(database, { email: 'ann@example.com' });
    const device = await addDevice(database, user);
    const token = await addToken(database, user);
    const secrets = {
      email: 'ann@example.com',
      password_hash: '$2b$12$hashhashhash',
      preshared_key: device.preshared_key,
      sha256: token.sha256,
    };
    const { sha256 } = secrets;
    const refused = [
      write(database, (transaction) =>
        User.create(
          { email: secrets.email, password_hash: secrets.password_hash },
          { transaction },
        ),
      ),
      write(database, (transaction) =>
        User.bulkCreate([{ email: secrets.email, password_hash: secrets.password_hash }], {
          transaction,
        }),
      ),
      write(database, (transaction) =>
        ApiToken.create({ ...tokenValues(user.id), sha256 }, { transaction }),
      ),
      write(database, (transaction) =>
        Device.create(
          { ...deviceValues('nobody'), preshared_key: secrets.preshared_key },
          { transaction },
        ),
      ),
      write(database, (transaction) =>
        Device.create(
          { ...deviceValues(user.id), preshared_key: secrets.preshared_key, name: null as never },
          { transaction },
        ),
      ),
      database.sequelize.query(`SELECT '${secrets.preshared_key}' FROM nowhere`),
    ];
    for (const attempt of refused) {
      const text = everythingOf(await t.throwsAsync(attempt));
      for (const [name, value] of Object.entries(secrets))
        t.false(text.includes(value), `${name} in ${text}`);
      // Not even sealed.
      t.notRegex(text, /1:[0-9a-f]{8}:/);
    }
  });

  test(`${kind}: an error still says what went wrong, and where`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const error = await t.throwsAsync(addUser(database, { email: user.email }));
    t.is(uniqueColumn(error), 'email_key');
    t.regex(everythingOf(error), /INSERT INTO users/);
    t.regex(everythingOf(error), /models\/database\/transaction\.ts/);
  });

  test(`${kind}: a row that becomes JSON leaves its secrets behind`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { password_hash: 'hash' });
    const device = await addDevice(database, user);
    const token = await addToken(database, user);
    const configuration = await readOrCreateConfiguration(database);
    const rows: [object, string][] = [
      [user, 'password_hash'],
      [device, 'preshared_key'],
      [token, 'sha256'],
      [configuration, 'openid_connect_providers'],
      [await database.models.Secret.findOne({ rejectOnEmpty: true }), 'value'],
    ];
    for (const [row, name] of rows) {
      const json = JSON.parse(JSON.stringify(row)) as object;
      t.false(name in json, name);
      t.true('updated_at' in json);
    }
    t.is(user.password_hash, 'hash');
    const found = await database.models.Device.findOne({ include: 'user', rejectOnEmpty: true });
    t.false(JSON.stringify(found).includes('password_hash'));
  });
}
