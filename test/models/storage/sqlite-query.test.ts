// Statements on SQLite: values come back as their types, errors keep their kind and their callers.

import test from 'ava';
import { ForeignKeyConstraintError, UniqueConstraintError } from 'sequelize';
import { type Database, isDatabaseFull, writeTransaction } from '../../../models/index.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser, deviceValues, userValues, write } from '../fixtures.ts';

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

test('a full disk ends the transaction: nothing remains, whatever its function does next', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { User } = database.models;
  const before = await addUser(database);
  await fillUp(database);
  let runs = 0;
  const swallowed = writeTransaction(database, async (transaction) => {
    runs += 1;
    await before.update({ role: 'admin' }, { transaction });
    const big = Array.from({ length: 200 }, () => userValues());
    await User.bulkCreate(big, { transaction }).catch(() => undefined);
    await User.update({ role: 'admin' }, { where: {}, transaction }).catch(() => undefined);
  });
  await t.throwsAsync(swallowed);
  t.true(runs > 1, 'what became of it is not known to the function, so it was run again');
  await t.throwsAsync(addUsers(database, 200), { message: /SQLITE_FULL/ });
  await database.sequelize.query('PRAGMA max_page_count = 1000000');
  t.is(await User.count(), 1);
  t.is((await before.reload()).role, 'unprivileged');
  await addUser(database);
});

test('a transaction that met a full disk is not run again', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await fillUp(database);
  let runs = 0;
  const error = await t.throwsAsync(
    writeTransaction(database, async (transaction) => {
      runs += 1;
      const users = Array.from({ length: 200 }, () => userValues());
      await database.models.User.bulkCreate(users, { transaction });
    }),
  );
  t.true(isDatabaseFull(error));
  t.is(runs, 1);
});

/** Lets the file grow no further, as on a disk that is full. */
async function fillUp(database: Database): Promise<void> {
  await database.sequelize.query('PRAGMA max_page_count = 1');
}

function addUsers(database: Database, count: number): Promise<unknown> {
  return write(database, (transaction) =>
    database.models.User.bulkCreate(
      Array.from({ length: count }, () => userValues()),
      { transaction },
    ),
  );
}

test('who reads a row again and again lets everything else go on', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { id } = await addUser(database);
  let hasHappened = false;
  setTimeout(() => (hasHappened = true), 1);
  for (let reads = 0; reads < 5_000 && !hasHappened; reads += 1)
    await database.models.User.findByPk(id);
  t.true(hasHappened);
});
