// Sessions as rows: what ends them, when their use is noted, and that old ones are forgotten.

import test from 'ava';
import { pruneSignIns, type Session, touchSession } from '../../../models/index.ts';
import type { Database, User } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/databases.ts';
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
  test(`${kind}: another password, another role or being shut out ends a user's sessions`, async (t) => {
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

  test(`${kind}: use is noted to the minute, and never goes back`, async (t) => {
    const database = await openDatabase(t, kind);
    const start = new Date('2026-11-21T08:00:00Z');
    const at = (seconds: number): Date => new Date(start.getTime() + seconds * 1_000);
    const session = await addSession(database, await addUser(database), start);
    const seen = async (): Promise<number> => {
      const [row] = await database.models.Session.findAll();
      return ((row?.seen_at.getTime() ?? 0) - start.getTime()) / 1_000;
    };
    for (const [now, noted] of [
      [59, 0],
      [60, 60],
      [600, 600],
      [300, 600],
    ] as const) {
      await touchSession(database, session, at(now));
      t.is(await seen(), noted, String(now));
    }
  });

  test(`${kind}: what serves no more is forgotten, however much it is`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const [old, fresh] = [new Date('2026-11-20'), new Date('2026-11-21')];
    const { Session: sessions, SignInAttempt: attempts } = database.models;
    const row = { user_id: user.id, state: 'open', method: 'email' } as const;
    await sessions.bulkCreate(
      Array.from({ length: 1_201 }, (_, i) => ({
        ...row,
        sha256: String(i).padStart(64, '0'),
        inserted_at: old,
        seen_at: i === 0 ? fresh : old,
      })),
    );
    for (const [i, expires_at] of [old, fresh].entries())
      await attempts.create({
        sha256: String(i).repeat(64),
        kind: 'account',
        count: 1,
        expires_at,
      });
    const now = new Date('2026-11-20T12:00:00Z');
    t.is(await pruneSignIns(database, { seenBefore: now, now }), 1_201);
    t.is(await sessions.count(), 1);
    t.is(await attempts.count(), 1);
  });
}
