// What a provider says of groups, and what is written of it: through the same door at a sign-in and
// at a refresh. An administrator is made by a trusted provider alone.

import test from 'ava';
import {
  type GroupsEntry,
  NAMES_BYTES_MAX,
  NAMES_MAX,
  readNames,
  takeGroups,
} from '../../../../lib/auth/identity/groups.ts';
import { type Database, type GroupsSaid, markTrusted } from '../../../../models/index.ts';
import { addIdentity, addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const authority = { kind: 'oidc', provider_id: 'okta', authority: 'https://id.example/d' } as const;

const hearGroups = async (): Promise<void> => undefined;

function take(database: Database, userId: string, said: GroupsSaid, entry: GroupsEntry = {}) {
  const whose = { userId, identity: null, authority, hearGroups };
  return write(database, (transaction) =>
    takeGroups(database, whose, { said, entry: { groups_create: true, ...entry } }, transaction),
  );
}

function groupsOf({ models }: Database, userId: string): Promise<number> {
  return models.GroupMembership.count({ where: { user_id: userId } });
}

test('names are a list, one text, or nothing at all', (t) => {
  t.deepEqual(readNames(['a', 'b']), { names: ['a', 'b'] });
  t.deepEqual(readNames('a, b'), { names: ['a, b'] }, 'which is one name');
  for (const nothing of [undefined, null, []]) t.deepEqual(readNames(nothing), { names: [] });
  for (const other of [1, true, {}, { 0: 'a', length: 1 }])
    t.deepEqual(readNames(other), { problem: 'unreadable' });
  for (const other of [1, null, ['b'], { id: 1 }, true]) {
    t.deepEqual(readNames([other]), { problem: 'unreadable' });
    t.deepEqual(readNames(['a', other]), { problem: 'unreadable' }, 'and no part of it is taken');
  }
});

test('more names than are read are a problem, and no part of them', (t) => {
  const many = Array.from({ length: NAMES_MAX }, (_, i) => `group ${i}`);
  t.deepEqual(readNames(many), { names: many });
  t.deepEqual(readNames([...many, 'one more']), { problem: 'too_many_names' });
  t.deepEqual(readNames('a'.repeat(NAMES_BYTES_MAX + 1)), { problem: 'too_many_names' });
  t.deepEqual(readNames('ü'.repeat(NAMES_BYTES_MAX / 2 + 1)), { problem: 'too_many_names' });
});

for (const kind of databaseKinds()) {
  test(`${kind}: what cannot be read changes nothing, and is remembered`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const identity = await addIdentity(database, user);
    await addUser(database, { role: 'admin' });
    await write(database, (transaction) => markTrusted(database, authority, true, transaction));
    const entry = { admin_group: 'admins' };
    await take(database, user.id, { names: ['admins', 'vpn'] }, entry);
    t.is((await user.reload()).role, 'admin');
    const whose = { userId: user.id, identity, authority, hearGroups };
    const said = { problem: 'overage' } as const;
    const problem = await write(database, (transaction) =>
      takeGroups(database, whose, { said, entry }, transaction),
    );
    t.is(problem, 'overage');
    t.is((await identity.reload()).groups_problem, 'overage');
    t.is(await groupsOf(database, user.id), 2);
    t.is((await user.reload()).role, 'admin');
    const good = { said: { names: [] }, entry };
    await write(database, (transaction) => takeGroups(database, whose, good, transaction));
    t.is((await identity.reload()).groups_problem, null);
    t.is(await groupsOf(database, user.id), 0);
    t.is((await user.reload()).role, 'unprivileged');
  });

  test(`${kind}: only a trusted provider makes administrators, as its entry leads now`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await addUser(database, { role: 'admin' });
    const entry = { admin_group: 'admins' };
    const said = { names: ['admins'] };
    const isAdmin = async (): Promise<boolean> => {
      await take(database, user.id, said, entry);
      return (await user.reload()).role === 'admin';
    };
    const mark = (changes: object) =>
      write(database, (transaction) =>
        markTrusted(database, { ...authority, ...changes }, true, transaction),
      );
    t.false(await isAdmin());
    await mark({ kind: 'saml' });
    await mark({ authority: 'https://evil.example/d' });
    t.false(await isAdmin());
    await mark({});
    t.true(await isAdmin());
    await mark({ authority: 'https://evil.example/d' });
    t.false(await isAdmin(), 'the entry was turned elsewhere');
    await mark({});
    for (const name of ['Admins', 'admins ', 'ａdmins', 'admin'])
      await take(database, user.id, { names: [name] }, entry);
    t.is((await user.reload()).role, 'unprivileged');
    await take(database, user.id, said, {});
    t.is((await user.reload()).role, 'unprivileged', 'the entry names no such group');
  });
}
