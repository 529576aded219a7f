// When the use of a session is noted, and that old sessions are forgotten.

import test from 'ava';
import { pruneSignIns, type Session, touchSession } from '../../../models/index.ts';
import type { Database, User } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, randomKey } from '../fixtures.ts';

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

  test(`${kind}: what is over is forgotten, however much it is`, async (t) => {
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
    const long = new Date(now.getTime() - 30 * 24 * 3_600_000 - 1);
    for (const [i, expires_at] of [old, long].entries())
      await attempts.create({ sha256: `c${i}`.padEnd(64), kind: 'code', count: 5, expires_at });
    t.is(await pruneSignIns(database, { seenBefore: now, now }), 1_202);
    t.is(await sessions.count(), 1);
    const left = await attempts.findAll({ order: ['kind'] });
    t.deepEqual(
      left.map(({ kind: by, expires_at }) => [by, expires_at]),
      [
        ['account', fresh],
        ['code', old],
      ],
      'codes are remembered for 30 days',
    );
  });
}
