// Rows past the tables' classes: every kind of value comes back as what it was.

import test from 'ava';
import { plainSelect, selectRows } from '../../../models/storage/select.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser, write } from '../fixtures.ts';

const everything = { paged: false, where: '', order: '', limit: '', replacements: {} };

for (const kind of databaseKinds()) {
  test(`${kind}: values come back as their column's kind says`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database), { ipv4: '100.64.0.7' });
    await write(database, (transaction) =>
      device.update({ dns: ['1.1.1.1'], use_default_dns: false, mtu: 1400 }, { transaction }),
    );
    const rows = await selectRows<Record<string, unknown>>(
      database,
      {
        table: 'devices',
        columns: {
          id: 'plain',
          ipv6: 'plain',
          mtu: 'plain',
          dns: 'json',
          allowed_ips: 'json',
          use_default_dns: 'flag',
          use_default_mtu: 'flag',
          inserted_at: 'time',
        },
      },
      { ...everything, transaction: undefined },
    );
    t.deepEqual(rows, [
      {
        id: device.id,
        ipv6: null,
        mtu: 1400,
        dns: ['1.1.1.1'],
        allowed_ips: null,
        use_default_dns: false,
        use_default_mtu: true,
        inserted_at: device.inserted_at,
      },
    ]);
  });

  test(`${kind}: no text is changed on its way`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const names = [
      '"quoted" and \'quoted\'',
      'back\\slash \\n \\u0041 \\',
      'tab\tline\nreturn\rbell\u0007',
      '{"json":[1]}',
      'null',
      '100%_',
      'ěščř ß 漢字 🐎 \u{10ffff} \u2028',
      ' leading and trailing ',
    ];
    for (const name of names) await addDevice(database, user, { name });
    const rows = await selectRows<{ name: string }>(
      database,
      { table: 'devices', columns: { name: 'plain' } },
      { ...everything, order: 'ORDER BY inserted_at, id', transaction: undefined },
    );
    t.deepEqual(
      rows.map(({ name }) => name),
      names,
    );
  });

  test(`${kind}: numbers up to 2^53 - 1 are exact`, async (t) => {
    const database = await openDatabase(t, kind);
    const { DeviceStatus } = database.models;
    const device = await addDevice(database, await addUser(database));
    await DeviceStatus.create({
      device_id: device.id,
      gateway_id: 'g',
      rx_bytes: Number.MAX_SAFE_INTEGER,
      updated: new Date(),
    });
    const rows = await selectRows<{ rx_bytes: number }>(
      database,
      { table: 'device_statuses', columns: { rx_bytes: 'plain' } },
      { ...everything, transaction: undefined },
    );
    t.is(rows[0]?.rx_bytes, Number.MAX_SAFE_INTEGER);
    const status = await DeviceStatus.findByPk(device.id);
    t.is(status?.rx_bytes, Number.MAX_SAFE_INTEGER);
  });
}

test('a plain select outside a transaction says so', (t) => {
  t.is(plainSelect().transaction, null);
});
