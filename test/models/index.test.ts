// The door: several databases in one process, of different kinds, keep apart.

import test from 'ava';
import * as models from '../../models/index.ts';
import { databaseKinds, openDatabase } from '../support/database/databases.ts';
import { addDevice, addUser } from './fixtures.ts';

test('the door gives out what other rooms need, and no connection', (t) => {
  for (const name of [
    'connectDatabase',
    'migrate',
    'writeTransaction',
    'readTransaction',
    'readDevices',
    'recordStatus',
    'Device',
  ])
    t.true(name in models, name);
  t.false('Sequelize' in models);
});

test('databases that are open together share neither rows nor classes nor keys', async (t) => {
  const kinds = databaseKinds();
  const databases = await Promise.all([...kinds, ...kinds].map((kind) => openDatabase(t, kind)));
  await Promise.all(
    databases.map(async (database, i) => {
      for (let n = 0; n <= i; n += 1) {
        const user = await addUser(database, { email: 'same@example.com'.slice(n) });
        await addDevice(database, user, { ipv4: `100.64.0.${n}` });
      }
    }),
  );
  for (const [i, database] of databases.entries()) {
    t.is(await database.models.User.count(), i + 1);
    const devices = await models.readDevices(database);
    t.is(devices.length, i + 1);
    t.true(devices.every(({ preshared_key }) => preshared_key !== null));
    const device = await database.models.Device.findOne({ rejectOnEmpty: true });
    t.true(device instanceof models.Device);
    t.true(device instanceof database.models.Device);
    for (const other of databases)
      if (other !== database) t.false(device instanceof other.models.Device);
  }
});
