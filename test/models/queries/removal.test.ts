// Removal: everything of a user goes, each row by name, whatever gateways report meanwhile.

import test from 'ava';
import {
  currentRevision,
  type Database,
  keepTokens,
  readChanges,
  recordStatus,
  removeDevices,
  removeUser,
  type User,
  writeTransaction,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addIdentity, addRule, addToken, addUser, write } from '../fixtures.ts';

async function withChildren(database: Database): Promise<{ user: User; names: string[] }> {
  const user = await addUser(database);
  const devices = [await addDevice(database, user), await addDevice(database, user)];
  const rule = await addRule(database, { destination: '10.0.0.0/8', user_id: user.id });
  const token = await addToken(database, user);
  const identity = await addIdentity(database, user);
  await write(database, (transaction) =>
    keepTokens(
      database,
      identity.id,
      { tokens: { refreshToken: 'r' }, refreshAt: new Date(), now: new Date() },
      transaction,
    ),
  );
  await recordStatus(
    database,
    'g',
    devices.map(({ id }) => report(id)),
  );
  const names = [
    `users/${user.id}`,
    ...devices.map(({ id }) => `devices/${id}`),
    `rules/${rule.id}`,
    `api_tokens/${token.id}`,
    `identities/${identity.id}`,
  ];
  return { user, names: names.toSorted() };
}

function report(deviceId: string) {
  return {
    deviceId,
    latestHandshake: new Date(),
    remoteIp: '192.0.2.1',
    remotePort: 1,
    rxBytes: 1,
    txBytes: 1,
  };
}

for (const kind of databaseKinds()) {
  test(`${kind}: a user goes with devices, rules and tokens, each by name`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, Device, DeviceStatus, Rule, ApiToken } = database.models;
    const kept = await withChildren(database);
    const gone = await withChildren(database);
    const before = await currentRevision(database);
    const { result } = await writeTransaction(database, (transaction) =>
      removeUser(database, gone.user.id, transaction),
    );
    t.true(result);
    const since = await readChanges(database, before);
    t.deepEqual(
      since.full === true || since.changes.map(({ table, id }) => `${table}/${id}`).toSorted(),
      gone.names,
    );
    const counts = [User, Device, DeviceStatus, Rule, ApiToken].map((model) =>
      (model as typeof User).count(),
    );
    t.deepEqual(await Promise.all(counts), [1, 2, 2, 1, 1]);
    t.truthy(await User.findByPk(kept.user.id));
  });

  test(`${kind}: who is not there is not removed`, async (t) => {
    const database = await openDatabase(t, kind);
    t.false(await write(database, (transaction) => removeUser(database, 'nobody', transaction)));
    t.is(await write(database, (transaction) => removeDevices(database, [], transaction)), 0);
    t.is(await write(database, (transaction) => removeDevices(database, ['x'], transaction)), 0);
  });

  test(`${kind}: devices go while gateways report on them without end`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const ids: string[] = [];
    for (let i = 0; i < 20; i += 1) ids.push((await addDevice(database, user)).id);
    let isDone = false;
    const reporting = Promise.all(
      ['g', 'h'].map(async (gateway) => {
        while (!isDone) await recordStatus(database, gateway, ids.map(report));
      }),
    );
    for (const id of ids)
      t.is(await write(database, (transaction) => removeDevices(database, [id], transaction)), 1);
    isDone = true;
    await reporting;
    t.is(await database.models.DeviceStatus.count(), 0);
    t.is(await database.models.Device.count(), 0);
  });
}
