// One look at everything: page by page, each row once, whatever is written meanwhile.

import test from 'ava';
import { withSnapshot } from '../../../models/backup/snapshot.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: pages hold each row once, also where the key has several columns`, async (t) => {
    const database = await openDatabase(t, kind);
    const count = 700;
    await write(database, (transaction) =>
      database.models.User.bulkCreate(
        Array.from({ length: count }, (_, i) => ({ email: `u${i}@b.example` })),
        { transaction },
      ),
    );
    await withSnapshot(database, async ({ tables, pages }) => {
      const seen = new Map<string, string[]>();
      let pageCount = 0;
      for await (const { table, rows } of pages()) {
        pageCount += 1;
        const texts = rows.map((row) => JSON.stringify(row));
        seen.set(table.name, [...(seen.get(table.name) ?? []), ...texts]);
      }
      t.true(pageCount > 6);
      for (const { name, count: counted } of tables) {
        const rows = seen.get(name) ?? [];
        t.is(rows.length, counted, name);
        t.is(new Set(rows).size, counted, name);
      }
      t.is(seen.get('users')?.length, count);
      // One change each, and one for the key check: three pages of a key with three columns.
      t.is(seen.get('changes')?.length, count + 1);
    });
  });

  test(`${kind}: what is written while it is read is not in it, and need not wait`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database);
    await withSnapshot(database, async ({ tables, pages }) => {
      await addUser(database);
      let users = 0;
      for await (const { table, rows } of pages()) if (table.name === 'users') users += rows.length;
      t.is(users, 1);
      t.is(tables.find(({ name }) => name === 'users')?.count, 1);
    });
    t.is(await database.models.User.count(), 2);
  });
}

test('a value that its column should not hold is named', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await addUser(database);
  await database.sequelize.query("UPDATE users SET inserted_at = 'soon'");
  const read = withSnapshot(database, async ({ pages }) => {
    for await (const { rows } of pages()) t.true(rows.length > 0);
  });
  await t.throwsAsync(read, { message: 'users.inserted_at holds a value that is no time' });
});
