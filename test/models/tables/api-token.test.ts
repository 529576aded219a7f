// API tokens: found by their hash, with their owner.

import test from 'ava';
import { uniqueColumn } from '../../../models/database/errors.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addToken, addUser, tokenValues, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: a token is found by its hash, with its owner`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { role: 'admin' });
    const { sha256, id } = await addToken(database, user);
    const token = await database.models.ApiToken.findOne({
      where: { sha256 },
      include: 'user',
      rejectOnEmpty: true,
    });
    t.is(token.id, id);
    t.is(token.expires_at, null);
    t.is(token.last_used_at, null);
    t.is(token.user?.role, 'admin');
  });

  test(`${kind}: a hash is there once`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const values = tokenValues(user.id);
    const add = () =>
      write(database, (transaction) => database.models.ApiToken.create(values, { transaction }));
    await add();
    t.is(uniqueColumn(await t.throwsAsync(add())), 'sha256');
  });
}
