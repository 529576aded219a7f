// Sessions as rows: what ends them.

import test from 'ava';
import type { Database, Session, User } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, randomKey, write } from '../fixtures.ts';

function addSession(database: Database, user: User, seen_at: Date): Promise<Session> {
  return database.models.Session.create({
    user_id: user.id,
    sha256: Buffer.from(randomKey()).toString('hex').slice(0, 64),
    state: 'open',
    method: 'email',
    inserted_at: seen_at,
    seen_at,
  });
}

for (const kind of databaseKinds()) {
  test(`${kind}: another password, another role or being disabled ends a user's sessions`, async (t) => {
    const database = await openDatabase(t, kind);
    const other = await addUser(database);
    await addSession(database, other, new Date());
    const rows: [number, Partial<User>][] = [
      [0, { password_hash: 'x' }],
      [0, { role: 'admin' }],
      [0, { disabled_at: new Date(), disabled_by: 'provider' }],
      [1, { email: 'another@example.com' }],
      [1, { last_signed_in_at: new Date(), last_signed_in_method: 'email' }],
      [1, { role: 'unprivileged' }],
    ];
    for (const [left, values] of rows) {
      const user = await addUser(database);
      await addSession(database, user, new Date());
      await write(database, (transaction) => user.update(values, { transaction }));
      const count = await database.models.Session.count({ where: { user_id: user.id } });
      t.is(count, left, JSON.stringify(values));
    }
    t.is(await database.models.Session.count({ where: { user_id: other.id } }), 1);
  });

  test(`${kind}: sessions end with a change of many users at once, too`, async (t) => {
    const database = await openDatabase(t, kind);
    const users = [await addUser(database), await addUser(database)];
    for (const user of users) await addSession(database, user, new Date());
    const where = { id: users.map(({ id }) => id) };
    await write(database, (transaction) =>
      database.models.User.update({ role: 'admin' }, { where, transaction }),
    );
    t.is(await database.models.Session.count(), 0);
  });

  test(`${kind}: nothing ends where the change is undone`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await addSession(database, user, new Date());
    await t.throwsAsync(
      write(database, async (transaction) => {
        await user.update({ role: 'admin' }, { transaction });
        throw new Error('undone');
      }),
    );
    t.is(await database.models.Session.count(), 1);
  });
}
