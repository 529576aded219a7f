// The columns that tables share: when `updated_at` moves, what equality means, what comes back.

import test from 'ava';
import { parseAddress, parseRange } from '../../../models/index.ts';
import { sqlTime } from '../../../models/storage/time.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser, deviceValues, randomKey, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: what is read later equals what was first answered`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Device } = database.models;
    const device = await addDevice(database, await addUser(database), { ipv4: '100.64.0.9' });
    t.deepEqual(device.inserted_at, device.updated_at);
    const found = await Device.findByPk(device.id, { rejectOnEmpty: true });
    t.deepEqual(found.get({ plain: true }), device.get({ plain: true }));
  });

  test(`${kind}: a real change makes updated_at later, within one millisecond too`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const { inserted_at } = user;
    let { updated_at } = user;
    for (let i = 0; i < 20; i += 1) {
      await write(database, async (transaction) => {
        await user.update({ email: `${i}@a` }, { transaction });
        const first = user.updated_at;
        t.true(first > updated_at);
        await user.set({ email: `${i}@b` }).save({ transaction });
        t.true(user.updated_at > first);
        ({ updated_at } = user);
      });
    }
    const found = await database.models.User.findByPk(user.id, { rejectOnEmpty: true });
    t.deepEqual(found.updated_at, updated_at);
    t.deepEqual(found.inserted_at, inserted_at);
  });

  test(`${kind}: updated_at moves on when the clock has not, or was set back`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const ahead = new Date(Date.now() + 3_600_000);
    await database.sequelize.query('UPDATE users SET updated_at = :ahead', {
      replacements: { ahead: sqlTime(database.kind, ahead) },
    });
    await user.reload();
    t.deepEqual(user.updated_at, ahead);
    for (const step of [1, 2, 3])
      await write(database, (transaction) =>
        database.models.User.update({ email: `${step}@x` }, { where: {}, transaction }),
      );
    await user.reload();
    t.is(user.updated_at.getTime() - ahead.getTime(), 3);
  });

  test(`${kind}: an update that changes nothing leaves updated_at alone`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user, { ipv6: 'fd00::9' });
    await write(database, (transaction) =>
      device.update({ allowed_ips: ['10.0.0.0/8'], mtu: 1400 }, { transaction }),
    );
    const { updated_at } = device;
    const same = {
      name: device.name,
      preshared_key: device.preshared_key,
      allowed_ips: ['10.0.0.0/8'],
      mtu: 1400,
      description: null,
      ipv6: 'FD00:0::9',
      use_default_dns: true,
    };
    const found = await database.models.Device.findByPk(device.id, { rejectOnEmpty: true });
    for (const row of [device, found])
      await write(database, async (transaction) => {
        await row.update(same, { transaction });
        await row.save({ transaction, fields: ['name'] });
        await row.update({}, { transaction });
      });
    await device.reload();
    t.deepEqual(found.updated_at, updated_at);
    t.deepEqual(device.updated_at, updated_at);
  });

  test(`${kind}: neither timestamp can be set by an update`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const { inserted_at } = user;
    await write(database, (transaction) =>
      user.update({ inserted_at: new Date(0), email: 'other@x' }, { transaction }),
    );
    await user.reload();
    t.deepEqual(user.inserted_at, inserted_at);
  });

  test(`${kind}: equality is by code point: case, accents and trailing spaces count`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Device } = database.models;
    const user = await addUser(database);
    // The last two look alike: é composed, and e with a combining accent.
    const names = [
      'a',
      'A',
      'a ',
      'a  ',
      ' a',
      'á',
      'e',
      '\u00e9',
      'e\u0301',
      'ß',
      'ss',
      'ﬁ',
      'fi',
    ];
    for (const name of names) await addDevice(database, user, { name });
    for (const name of names) {
      const found = await Device.findAll({ where: { name } });
      t.deepEqual(
        found.map((device) => device.name),
        [name],
      );
      await t.throwsAsync(addDevice(database, user, { name }), {
        name: 'SequelizeUniqueConstraintError',
      });
    }
    const key = `${'a'.repeat(43)}=`;
    await addDevice(database, user, { public_key: key });
    await addDevice(database, user, { public_key: key.toUpperCase() });
  });

  test(`${kind}: rows made in one process list in the order of their making`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const made: string[] = [];
    for (let i = 0; i < 30; i += 1)
      await write(database, async (transaction) => {
        const { Device } = database.models;
        made.push((await Device.create(deviceValues(user.id), { transaction })).id);
        made.push((await Device.create(deviceValues(user.id), { transaction })).id);
      });
    const listed = await database.models.Device.findAll({ order: ['inserted_at', 'id'] });
    t.deepEqual(
      listed.map(({ id }) => id),
      made,
    );
  });

  test(`${kind}: JSON is equal whatever the order of its members`, async (t) => {
    const database = await openDatabase(t, kind);
    const configuration = await write(database, (transaction) =>
      database.models.Configuration.create(
        { logo: { data: 'x', type: 'image/png' } },
        { transaction },
      ),
    );
    configuration.logo = { type: 'image/png', data: 'x' };
    t.false(configuration.changed());
    configuration.logo = { type: 'image/jpeg', data: 'x' };
    t.deepEqual(configuration.changed(), ['logo']);
  });

  test(`${kind}: an encrypted value is not in the clear in the database`, async (t) => {
    const database = await openDatabase(t, kind);
    const preshared_key = randomKey();
    const device = await addDevice(database, await addUser(database), { preshared_key });
    const [rows] = await database.sequelize.query('SELECT preshared_key FROM devices');
    const { preshared_key: stored } = rows[0] as { preshared_key: string };
    t.regex(stored, /^1:[0-9a-f]{8}:/);
    t.false(stored.includes(preshared_key));
    await device.reload();
    t.is(device.preshared_key, preshared_key);
  });

  test(`${kind}: a ciphertext copied into another row does not open, and can be replaced`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const [from, to] = [await addDevice(database, user), await addDevice(database, user)];
    const [rows] = await database.sequelize.query(
      `SELECT preshared_key FROM devices WHERE id = '${from.id}'`,
    );
    const { preshared_key } = rows[0] as { preshared_key: string };
    await database.sequelize.query(
      `UPDATE devices SET preshared_key = '${preshared_key}' WHERE id = '${to.id}'`,
    );
    await to.reload();
    t.throws(() => to.preshared_key, { name: 'CiphertextError', message: /copied from another/ });
    const fresh = randomKey();
    await write(database, (transaction) => to.update({ preshared_key: fresh }, { transaction }));
    await to.reload();
    t.is(to.preshared_key, fresh);
  });
}

test('an encrypted value cannot be set before the id that it is bound to', async (t) => {
  const { models } = await openDatabase(t, 'sqlite');
  const { id, ...values } = { id: 'x', ...deviceValues('u') };
  t.throws(() => models.Device.build({ ...values, id }), { message: /name the id first/ });
  t.is(models.Device.build({ id, ...values }).preshared_key, values.preshared_key);
  t.throws(() => models.Device.build({ ...values, preshared_key: 1 as never }), {
    message: /devices.preshared_key takes text/,
  });
});

test('addresses are read strictly, and written in their canonical form', (t) => {
  const cases: [string, ReturnType<typeof parseAddress>][] = [
    ['100.64.0.1', { family: 4, text: '100.64.0.1', key: '64400001' }],
    ['0.0.0.0', { family: 4, text: '0.0.0.0', key: '00000000' }],
    ['FD00:0:0::1', { family: 6, text: 'fd00::1', key: `fd00${'0'.repeat(27)}1` }],
    ['::', { family: 6, text: '::', key: '0'.repeat(32) }],
    // The last 32 bits in the manner of IPv4 stand behind zeros, not behind ::ffff.
    ['::1.2.3.4', { family: 6, text: '::102:304', key: `${'0'.repeat(24)}01020304` }],
    ['::ffff:1.2.3.4', { family: 6, text: '::ffff:102:304', key: `${'0'.repeat(20)}ffff01020304` }],
    ['::1.2.3.256', null],
    [
      '2001:db8:0:1:1:1:1:1',
      { family: 6, text: '2001:db8:0:1:1:1:1:1', key: '20010db8000000010001000100010001' },
    ],
    ...[
      '',
      ' 1.1.1.1',
      '1.1.1',
      '1.1.1.256',
      '0x7f.1',
      '1.1.1.1/32',
      'fe80::1%eth0',
      '::g',
      'a',
    ].map((text): [string, null] => [text, null]),
  ];
  for (const [text, address] of cases) t.deepEqual(parseAddress(text), address, text);
});

test('a range has no host bits, and its ends are of one width', (t) => {
  const v6 = (start: string, end: string) => ({ family: 6, start, end });
  const cases: [string, unknown][] = [
    ['10.1.2.3', { family: 4, start: '0a010203', end: '0a010203' }],
    ['10.1.2.3/8', { family: 4, start: '0a000000', end: '0affffff' }],
    ['9.9.9.9/32', { family: 4, start: '09090909', end: '09090909' }],
    ['1.2.3.4/0', { family: 4, start: '00000000', end: 'ffffffff' }],
    ['::/0', v6('0'.repeat(32), 'f'.repeat(32))],
    ['fd00::ff/120', v6(`fd00${'0'.repeat(28)}`, `fd00${'0'.repeat(26)}ff`)],
    ...[
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.0/08',
      '10.0.0.0/8/8',
      '10.0.0/8',
      '/8',
      '1.1.1.1/-1',
    ].map((text): [string, null] => [text, null]),
  ];
  for (const [text, range] of cases) t.deepEqual(parseRange(text), range as never, text);
});
