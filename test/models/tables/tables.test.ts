// The tables together: which are tracked, and how they are connected.

import test from 'ava';
import type { Model, ModelStatic } from 'sequelize';
import { UntrackedWriteError } from '../../../models/storage/tracking.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addToken, addUser } from '../fixtures.ts';

/** What is seen or was done, and what only signing in needs; everything else is tracked. */
const OBSERVED = new Set([
  'device_statuses',
  'gateways',
  'audit_entries',
  'sessions',
  'second_factors',
  'recovery_codes',
  'one_time_links',
  'sign_in_attempts',
  'identity_tokens',
  'sign_in_requests',
  'used_assertions',
  'saml_tests',
  'fetched_metadata',
  'undos',
]);

for (const kind of databaseKinds()) {
  test(`${kind}: every table but the observed ones is tracked`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const model of Object.values(database.models)) {
      const destroyed = (model as typeof database.models.User).destroy({ where: {} });
      if (OBSERVED.has(model.tableName)) await t.notThrowsAsync(destroyed, model.tableName);
      else await t.throwsAsync(destroyed, { instanceOf: UntrackedWriteError }, model.tableName);
    }
  });

  test(`${kind}: devices and tokens are found with their user`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await addDevice(database, user);
    await addToken(database, user);
    const { Device, ApiToken } = database.models;
    for (const model of [Device, ApiToken] as ModelStatic<Model>[]) {
      const found = await model.findOne({ include: 'user', rejectOnEmpty: true });
      t.is((found.get('user') as typeof user).email, user.email, model.tableName);
    }
  });
}

test('a table is bound when it is first asked for, with those that it is connected with', async (t) => {
  const { models, sequelize } = await openDatabase(t, 'sqlite');
  // What opening a database itself reads is bound by then.
  const before = new Set(Object.keys(sequelize.models));
  const added = (): string[] =>
    Object.keys(sequelize.models)
      .filter((name) => !before.has(name))
      .toSorted();
  t.is(models.Rule, models.Rule);
  t.deepEqual(added(), ['rule']);
  t.is(await models.Device.count(), 0);
  t.deepEqual(added(), ['device', 'device_status', 'rule', 'user']);
});
