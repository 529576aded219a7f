// Users and groups by a part of their names: begun with first, no more than asked for.

import test from 'ava';
import { findUsersAndGroups } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

for (const kind of databaseKinds())
  test(`${kind}: what begins with the text is first, in any case, and wild cards are none`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const email of ['dan@example.com', 'Ann@example.com', 'a%b@example.com'])
      await addUser(database, { email });
    for (const name of ['Anglers', 'Danes'])
      await write(database, (transaction) =>
        database.models.Group.create({ name }, { transaction }),
      );
    const names = async (text: string, limit = 10): Promise<string[]> =>
      (await findUsersAndGroups(database, text, limit)).map((one) => `${one.kind} ${one.name}`);
    t.deepEqual(await names('AN'), [
      'group Anglers',
      'user Ann@example.com',
      'group Danes',
      'user dan@example.com',
    ]);
    t.deepEqual(await names('an', 2), ['group Anglers', 'user Ann@example.com']);
    t.deepEqual(await names('%'), ['user a%b@example.com']);
    t.deepEqual(await names("' OR 1=1"), []);
  });
