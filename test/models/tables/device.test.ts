// Devices: what is unique, what is kept while it is hidden, what an address becomes.

import test from 'ava';
import { UniqueConstraintError } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser, deviceValues, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: a fresh device uses all defaults and has no values of its own`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const device = await database.models.Device.findByPk(id, { rejectOnEmpty: true });
    for (const name of ['allowed_ips', 'dns', 'endpoint', 'mtu', 'persistent_keepalive'] as const) {
      t.true(device[`use_default_${name}`]);
      t.is(device[name], null);
    }
    t.is(device.ipv4, null);
    t.is(device.ipv6, null);
    t.is(device.description, null);
  });

  test(`${kind}: own values stay stored whatever the flags say`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database));
    const own = {
      allowed_ips: ['10.0.0.1/8', '::/0'],
      dns: [],
      endpoint: '[2001:db8::1]:51820',
      mtu: 576,
      persistent_keepalive: 0,
    };
    await write(database, (transaction) =>
      device.update({ ...own, use_default_mtu: false }, { transaction }),
    );
    await write(database, (transaction) =>
      device.update({ use_default_mtu: true }, { transaction }),
    );
    await device.reload();
    for (const [name, value] of Object.entries(own)) t.deepEqual(device.get(name), value, name);
    t.true(device.use_default_mtu);
  });

  test(`${kind}: an address is kept in canonical form, with its key`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database), {
      ipv4: '100.64.0.10',
      ipv6: 'FD00:0:0:0::0A',
    });
    await device.reload();
    t.is(device.ipv6, 'fd00::a');
    t.is(device.ipv4_key, '6440000a');
    t.is(device.ipv6_key, 'fd00000000000000000000000000000a');
    await write(database, (transaction) => device.update({ ipv4: null }, { transaction }));
    await device.reload();
    t.is(device.ipv4_key, null);
  });

  test(`${kind}: names are unique for an owner, keys and addresses everywhere`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const first = await addDevice(database, ann, { ipv4: '100.64.0.2', ipv6: 'fd00::2' });
    const taken = { instanceOf: UniqueConstraintError };
    await t.throwsAsync(addDevice(database, ann, { name: first.name }), taken);
    await t.throwsAsync(addDevice(database, bob, { public_key: first.public_key }), taken);
    await t.throwsAsync(addDevice(database, bob, { ipv4: '100.64.0.2' }), taken);
    await t.throwsAsync(addDevice(database, bob, { ipv6: 'fd00:0::2' }), taken);
    await addDevice(database, bob, {
      name: first.name,
      preshared_key: first.preshared_key,
      ipv4: '100.64.0.3',
    });
    await addDevice(database, bob);
    t.is(await database.models.Device.count(), 3);
  });

  test(`${kind}: of many that want one address at the same instant, one gets it`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const attempts = await Promise.allSettled(
      Array.from({ length: 10 }, () => addDevice(database, user, { ipv4: '100.64.0.2' })),
    );
    t.is(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
  });
}

test('what is no address of the family is refused by the column', async (t) => {
  const { models } = await openDatabase(t, 'sqlite');
  const build = (values: object) => models.Device.build({ ...deviceValues('u'), ...values });
  for (const ipv4 of ['', '100.64.0', '100.64.0.1/32', 'fd00::1', 7])
    t.throws(() => build({ ipv4 }), { message: 'ipv4 takes an IPv4 address' });
  for (const ipv6 of ['100.64.0.1', 'fe80::1%eth0', 'fd00::/64'])
    t.throws(() => build({ ipv6 }), { message: 'ipv6 takes an IPv6 address' });
});
