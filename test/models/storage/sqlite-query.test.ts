// Statements on SQLite: values come back as their types, errors keep their kind and their callers.

import test from 'ava';
import { ForeignKeyConstraintError, UniqueConstraintError } from 'sequelize';
import { openDatabase } from '../../support/databases.ts';
import { addDevice, addUser, deviceValues, write } from '../fixtures.ts';

test('dates and booleans come back as such, in an included table too', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const user = await addUser(database);
  await addDevice(database, user);
  const device = await database.models.Device.findOne({ include: 'user', rejectOnEmpty: true });
  t.true(device.inserted_at instanceof Date);
  t.is(device.use_default_dns, true);
  t.deepEqual(device.user!.inserted_at, user.inserted_at);
});

test('an error knows its kind, and the code that asked for the statement', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const user = await addUser(database);
  const error = await t.throwsAsync(addUser(database, { email: user.email }), {
    instanceOf: UniqueConstraintError,
  });
  t.regex(error!.stack!, /transaction\.ts/);
  await t.throwsAsync(
    write(database, (transaction) =>
      database.models.Device.create(deviceValues('nobody'), { transaction }),
    ),
    { instanceOf: ForeignKeyConstraintError },
  );
});

test('each kind of write says how many rows it touched', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { DeviceStatus } = database.models;
  const user = await addUser(database);
  const devices = [await addDevice(database, user), await addDevice(database, user)];
  await DeviceStatus.bulkCreate(
    devices.map(({ id }) => ({ device_id: id, gateway_id: 'g', updated: new Date() })),
  );
  t.deepEqual(await DeviceStatus.update({ remote_port: 1 }, { where: { gateway_id: 'g' } }), [2]);
  t.is(await DeviceStatus.destroy({ where: { gateway_id: 'g' } }), 2);
});
