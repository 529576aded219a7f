// Rows that exist once: whoever is first makes them, everyone reads the same.

import test from 'ava';
import { migrate, readOrCreateConfiguration } from '../../../models/index.ts';
import { insertOrRead } from '../../../models/database/first-row.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addUser } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: three processes that start together get one configuration`, async (t) => {
    const place = await makePlace(t, kind);
    const databases = await Promise.all([1, 2, 3].map(() => openAt(t, place)));
    await migrate(databases[0]!);
    const rows = await Promise.all(
      databases.map((database) => readOrCreateConfiguration(database)),
    );
    t.is(new Set(rows.map(({ id }) => id)).size, 1);
    t.is(await databases[0]!.models.Configuration.count(), 1);
  });

  test(`${kind}: a row that is there is read, and nothing is written`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const row = await insertOrRead(database, {
      read: () => database.models.User.findByPk(user.id),
      insert: () => t.fail() as never,
    });
    t.is(row.id, user.id);
  });

  test(`${kind}: a row refused for another reason is an error, not a row`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await t.throwsAsync(
      insertOrRead(database, {
        read: () => database.models.User.findByPk('nobody'),
        insert: (transaction) =>
          database.models.User.create({ email: user.email }, { transaction }),
      }),
      { name: 'SequelizeUniqueConstraintError' },
    );
  });
}
