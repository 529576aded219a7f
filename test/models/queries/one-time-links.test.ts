// One-time links: taken once, only in time, and only while the user is who they were.

import test, { type ExecutionContext } from 'ava';
import {
  type Database,
  findLinkOf,
  findLiveLink,
  isLive,
  isTakable,
  type OneTimeLink,
  pruneLinks,
  putLink,
  removeUser,
  revokeLink,
  takeLink,
  type User,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const now = new Date('2026-11-26T12:00:00Z');

function after(ms: number): Date {
  return new Date(now.getTime() + ms);
}

let links = 0;

function put(database: Database, user: User, values: Partial<OneTimeLink> = {}) {
  links += 1;
  const link = {
    user_id: user.id,
    purpose: 'enrolment',
    sha256: links.toString(16).padStart(64, '0'),
    created_by: null,
    expires_at: after(HOUR_MS),
    ...values,
  } as const;
  return write(database, (transaction) => putLink(database, link, now, transaction));
}

for (const kind of databaseKinds()) {
  test(`${kind}: a link is taken once, and only in time`, async (t) => {
    const database = await openDatabase(t, kind);
    const link = await put(database, await addUser(database));
    const take = (at: Date): Promise<boolean> =>
      write(database, (transaction) => takeLink(database, link.id, at, transaction));
    t.false(await take(after(HOUR_MS)), 'too late');
    const before = after(-86_400_000);
    t.false(isTakable(link, before), 'it was made by a clock that was far ahead');
    t.is(await findLiveLink(database, link.sha256, before), null);
    t.false(await isLive(database, link.id, before));
    t.false(await take(before));
    t.true(isTakable(link, now));
    t.is((await findLiveLink(database, link.sha256, now))?.id, link.id);
    const taken = await Promise.all([take(now), take(now), take(now)]);
    t.deepEqual(taken.toSorted(), [false, false, true]);
    t.is(await findLiveLink(database, link.sha256, now), null);
    t.is(await revoke(database, link), false, 'nothing is left to revoke');
    t.deepEqual((await findLinkOf(database, link.user_id, 'enrolment'))?.used_at, now);
  });

  test(`${kind}: a user has one link of each purpose; another takes its place`, async (t) => {
    const database = await openDatabase(t, kind);
    const [user, other] = [await addUser(database), await addUser(database)];
    const first = await put(database, user);
    await put(database, user, { purpose: 'password_reset' });
    await put(database, other);
    const second = await put(database, user);
    t.is(await findLiveLink(database, first.sha256, now), null);
    t.is((await findLinkOf(database, user.id, 'enrolment'))?.id, second.id);
    t.is(await database.models.OneTimeLink.count(), 3);
    t.true(await revoke(database, second));
    t.is(await findLinkOf(database, user.id, 'enrolment'), null);
    t.not(await findLinkOf(database, user.id, 'password_reset'), null);
    t.false(JSON.stringify(await database.models.OneTimeLink.findAll()).includes(second.sha256));
  });

  test(`${kind}: who is another by now loses links that were not used`, async (t) => {
    const database = await openDatabase(t, kind);
    const rows: [number, Partial<User>][] = [
      [0, { password_hash: 'x' }],
      [0, { role: 'admin' }],
      [0, { email: 'another@example.com' }],
      [0, { disabled_at: new Date(), disabled_by: 'administrator' }],
      [1, { last_signed_in_at: new Date(), last_signed_in_method: 'email' }],
    ];
    for (const [left, values] of rows) {
      const user = await addUser(database);
      const used = await put(database, user, { purpose: 'password_reset' });
      await put(database, user);
      await write(database, (transaction) => takeLink(database, used.id, now, transaction));
      await write(database, (transaction) => user.update(values, { transaction }));
      await checkCount(t, database, user, left + 1, JSON.stringify(values));
    }
  });

  test(`${kind}: links go with their user, and when they have been over for a month`, async (t) => {
    const database = await openDatabase(t, kind);
    const [user, other] = [await addUser(database), await addUser(database)];
    await put(database, user);
    await put(database, other, { expires_at: after(-31 * DAY_MS) });
    await put(database, other, { purpose: 'password_reset', expires_at: after(-29 * DAY_MS) });
    t.is(await pruneLinks(database, now), 1);
    await checkCount(t, database, other, 1);
    await write(database, (transaction) => removeUser(database, user.id, transaction));
    await checkCount(t, database, user, 0);
  });
}

function revoke(database: Database, { user_id: userId, purpose }: OneTimeLink): Promise<boolean> {
  return write(database, (transaction) =>
    revokeLink(database, { userId, purpose }, now, transaction),
  );
}

async function checkCount(
  t: ExecutionContext,
  database: Database,
  { id }: User,
  wanted: number,
  hint?: string,
): Promise<void> {
  t.is(await database.models.OneTimeLink.count({ where: { user_id: id } }), wanted, hint);
}
