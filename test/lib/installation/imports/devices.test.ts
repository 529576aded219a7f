// Devices of an import: in batches, each as if those before it were there.

import test from 'ava';
import { importDevices } from '../../../../lib/installation/imports/devices.ts';
import { newId, readDevices } from '../../../../models/index.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { configOf, newKey } from '../../../support/api/server.ts';

for (const kind of databaseKinds())
  test(`${kind}: addresses are chosen where they are left out, ids and times kept`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const services = { config: configOf(), database, serverPublicKey: newKey() };
    const ids = Array.from({ length: 450 }, () => newId());
    const inserted_at = new Date('2023-01-01T00:00:00Z');
    const wanted = ids.map((id, i) => ({
      place: `devices[${i}]`,
      fields: { user_id: user.id, name: `d${i === 449 ? 0 : i}`, public_key: newKey() },
      columns: { id, inserted_at },
    }));
    const errors = await write(database, (transaction) =>
      importDevices(services, wanted, transaction),
    );
    t.deepEqual(errors, ['devices[449].name has already been taken']);
    const devices = await readDevices(database);
    t.deepEqual(new Set(devices.map(({ id }) => id)), new Set(ids.slice(0, 449)));
    t.is(new Set(devices.map(({ ipv4 }) => ipv4)).size, 449);
    t.true(devices.every((device) => device.inserted_at.getTime() === inserted_at.getTime()));
  });
