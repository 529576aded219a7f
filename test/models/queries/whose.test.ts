// Users and groups by a part of their names: begun with first, no more than asked for.

import test from 'ava';
import { findGroups, findPeople, findUsersAndGroups } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
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
    t.deepEqual(await findPeople(database, 'an', 1), [{ email: 'Ann@example.com', name: null }]);
    const groups = await findGroups(database, 'an', 10);
    t.deepEqual(
      groups.map(({ name }) => name),
      ['Anglers', 'Danes'],
    );
  });

  test(`${kind}: names that people chose come after every e-mail that matches`, async (t) => {
    const database = await openDatabase(t, kind);
    for (let n = 0; n < 3; n += 1)
      await addUser(database, { email: `a${n}@example.com`, name: 'finance@example.com' });
    await addUser(database, { email: 'finance@example.com' });
    await addUser(database, { email: 'old.finance@example.com' });
    const found = await findUsersAndGroups(database, 'Finance', 3);
    t.deepEqual(
      found.map(({ name }) => name),
      ['finance@example.com', 'old.finance@example.com', 'a0@example.com'],
    );
    t.deepEqual(
      found.map(({ person }) => person),
      [null, null, 'finance@example.com'],
    );
    // SQLite lowers the letters of ASCII alone.
    await addUser(database, { email: 'É@example.com' });
    await addUser(database, { email: 'a@example.com', name: 'É@example.com' });
    const [first] = await findUsersAndGroups(database, 'É@', 1);
    t.is(first?.name, 'É@example.com');
  });
}
