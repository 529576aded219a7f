// The first tables: every column of the classes is there, the longest values fit, children keep
// their parents.

import test from 'ava';
import { ForeignKeyConstraintError, type ModelAttributeColumnOptions } from 'sequelize';
import { readColumns } from '../../../models/migrations/schema.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addToken, addUser, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: the tables have exactly the columns of their classes`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const model of Object.values(database.models)) {
      const columns = await readColumns(database, model.tableName);
      t.deepEqual(
        columns.map((column) => column.name).toSorted(),
        Object.keys(model.getAttributes()).toSorted(),
        model.tableName,
      );
      const attributes = Object.entries<ModelAttributeColumnOptions>(model.getAttributes());
      for (const [name, { allowNull, primaryKey, type }] of attributes) {
        const column = columns.find((one) => one.name === name);
        if (primaryKey !== true)
          t.is(column?.allowNull, allowNull !== false, `${model.tableName}.${name}`);
        // Without the six digits MySQL would drop the milliseconds.
        if (String(type).startsWith('DATETIME'))
          t.is(column?.type, kind === 'sqlite' ? 'DATETIME' : 'DATETIME(6)', name);
      }
    }
  });

  test(`${kind}: the longest values that the API takes fit`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Device, Configuration } = database.models;
    // Four bytes each in UTF-8, and this one grows to three code points by NFC.
    const user = await addUser(database, { email: '\u{1d160}'.repeat(255) });
    const device = await addDevice(database, user, { name: '🐎'.repeat(255) });
    await write(database, (transaction) =>
      device.update(
        {
          description: '🐎'.repeat(2048),
          ipv6: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
          ipv4: '255.255.255.255',
          endpoint: `${'a.'.repeat(126)}a:65535`,
          allowed_ips: Array.from({ length: 20_000 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`),
        },
        { transaction },
      ),
    );
    const longest = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128';
    t.is((await addRule(database, { destination: longest })).destination, longest);
    const metadata = 'x'.repeat(4_000_000);
    await write(database, (transaction) =>
      Configuration.create(
        {
          logo: { data: 'x'.repeat(1_400_000), type: 'image/png' },
          openid_connect_providers: [{ id: 'p', client_secret: 'é'.repeat(1_000_000) } as never],
          saml_identity_providers: [{ id: 's', metadata } as never],
        },
        { transaction },
      ),
    );
    const found = await Device.findByPk(device.id, { rejectOnEmpty: true });
    t.is(found.allowed_ips?.length, 20_000);
    t.is(found.description, device.description);
    const configuration = await Configuration.findOne({ rejectOnEmpty: true });
    t.true(configuration.saml_identity_providers[0]?.metadata === metadata);
    t.is(configuration.openid_connect_providers[0]?.client_secret.length, 1_000_000);
  });

  test(`${kind}: nobody goes while something of theirs is left`, async (t) => {
    const database = await openDatabase(t, kind);
    const add = {
      device: addDevice,
      rule: (_: typeof database, user: { id: string }) =>
        addRule(database, { destination: '::/0', user_id: user.id }),
      token: addToken,
    };
    for (const addChild of Object.values(add)) {
      const user = await addUser(database);
      await addChild(database, user);
      await t.throwsAsync(
        write(database, (transaction) => user.destroy({ transaction })),
        { instanceOf: ForeignKeyConstraintError },
      );
    }
    t.is(await database.models.User.count(), 3);
  });
}
