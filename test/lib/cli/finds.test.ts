// What somebody named is found in the database, and named again as it is kept.

import test from 'ava';
import { findGroup, findsIn, findUser } from '../../../lib/cli/finds.ts';
import { newId, writeTransaction } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';

for (const kind of databaseKinds())
  test(`${kind}: users by e-mail, groups by id or name, devices and rules by id`, async (t) => {
    const database = await openDatabase(t, kind);
    const finds = findsIn(database);
    const { id } = await addUser(database, { email: 'Ann@b.example' });
    t.deepEqual(await finds.user(' ANN@b.example '), { id, name: 'Ann@b.example' });
    t.is((await findUser(database, 'ann@B.example')).id, id);
    const { result: group } = await writeTransaction(database, (transaction) =>
      database.models.Group.create({ name: 'staff' }, { transaction }),
    );
    for (const named of ['staff', ' staff ', group.id.toUpperCase()])
      t.is((await findGroup(database, named)).id, group.id, named);
    const device = await addDevice(database, id, { name: 'laptop' });
    t.like(await finds.device(device.id.toUpperCase()), { id: device.id, name: 'laptop' });
    const rule = await addRule(database, { destination: '10.0.0.9' });
    t.like(await finds.rule(rule.id.toUpperCase()), { id: rule.id });
    const other = newId();
    for (const [found, message] of [
      [finds.user('bob@b.example'), /^there is no user bob@b\.example; see: /],
      [finds.group('nobody'), /^there is no group nobody; see: /],
      [finds.group(other), new RegExp(`^there is no group ${other}; see: `)],
      [finds.device('phone'), /^there is no device phone; DEVICE is .*; see: /],
      [finds.device(other), new RegExp(`^there is no device ${other}; DEVICE is .*; see: `)],
      [finds.rule(other), new RegExp(`^there is no rule ${other}; see: `)],
    ] as const)
      await t.throwsAsync(found, { message });
  });
