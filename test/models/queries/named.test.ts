// Records by what people call them: each way finds its record alone, on every kind of database.

import test from 'ava';
import { findDevicesNamed, findIdsEnding } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';

for (const kind of databaseKinds())
  test(`${kind}: devices by name, owner, address and the end of an id`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const one = await addDevice(database, ann.id, { name: 'Laptop', ipv4: '100.64.9.1' });
    const two = await addDevice(database, bob.id, { name: 'Laptop', ipv6: 'fd00::9:2' });
    await addDevice(database, bob.id, { name: 'laptop' });
    const idsOf = async (naming: Parameters<typeof findDevicesNamed>[1]): Promise<string[]> =>
      (await findDevicesNamed(database, naming)).map(({ id }) => id);
    t.deepEqual(await idsOf({ name: 'Laptop' }), [one.id, two.id]);
    t.deepEqual(await idsOf({ name: 'Laptop', ownerId: bob.id }), [two.id]);
    t.deepEqual(await idsOf({ address: '100.64.9.1' }), [one.id]);
    t.deepEqual(await idsOf({ address: 'FD00:0::9:2' }), [two.id]);
    t.deepEqual(await idsOf({ address: 'nowhere' }), []);
    t.deepEqual(await idsOf({ id: two.id }), [two.id]);
    t.deepEqual(await idsOf({ idEnd: one.id.slice(-8) }), [one.id]);
    t.deepEqual(await idsOf({ idEnd: '%' }), []);
  });

for (const kind of databaseKinds())
  test(`${kind}: ids of a kind of records by their end`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    const rule = await addRule(database, { destination: '10.0.0.9' });
    t.deepEqual(await findIdsEnding(database, 'User', id.slice(-8)), [id]);
    t.deepEqual(await findIdsEnding(database, 'Rule', rule.id.slice(-8)), [rule.id]);
    for (const kindOfRecord of ['Group', 'PolicyTest', 'ApiToken'] as const)
      t.deepEqual(await findIdsEnding(database, kindOfRecord, id.slice(-8)), []);
    for (const end of ['', '%', '_'.repeat(8), "'"])
      t.deepEqual(await findIdsEnding(database, 'User', end), [], end);
  });
