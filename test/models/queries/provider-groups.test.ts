// Memberships that providers name: each provider has its own, and by a name alone it reaches only
// groups that it made. Nobody is in more groups than a user may be in.

import test from 'ava';
import {
  countGroupsErrors,
  type Database,
  forgetGroupsOfOthers,
  type Group,
  GROUPS_OF_USER_MAX,
  isGroupName,
  MANUAL,
  readAuditEntries,
  replaceMemberships,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addIdentity, addUser, write } from '../fixtures.ts';

const SOURCE = 'oidc/okta';
const UUID_NAME = '01a20ad0-0000-7000-8000-000000000001';

function addGroups(database: Database, provider: string | null, ...names: string[]) {
  return write(database, (transaction) =>
    Promise.all(
      names.map((name) => database.models.Group.create({ name, provider }, { transaction })),
    ),
  );
}

function addMember(database: Database, group: Group, userId: string, source = MANUAL) {
  const values = { group_id: group.id, user_id: userId, source };
  return write(database, (transaction) =>
    database.models.GroupMembership.create(values, { transaction }),
  );
}

/** Says names, and returns what became of it. */
function say(
  database: Database,
  userId: string,
  names: readonly string[],
  others: Partial<Parameters<typeof replaceMemberships>[1]> = {},
) {
  const named = { userId, source: SOURCE, names, isCreating: false, ...others };
  return write(database, (transaction) => replaceMemberships(database, named, transaction));
}

/** The memberships of a user as `name source`, in order. */
async function membershipsOf({ models }: Database, userId: string): Promise<string[]> {
  const rows = await models.GroupMembership.findAll({ where: { user_id: userId } });
  const groups = new Map((await models.Group.findAll()).map(({ id, name }) => [id, name]));
  return rows.map(({ group_id, source }) => `${groups.get(group_id)} ${source}`).toSorted();
}

for (const kind of databaseKinds()) {
  test(`${kind}: a name means the group that this very entry made, and no other`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    await addGroups(database, null, 'by hand');
    await addGroups(database, 'saml/okta', 'of another kind');
    await addGroups(database, 'oidc/other', 'of another');
    await addGroups(database, SOURCE, 'own', 'Straße');
    const names = ['by hand', 'of another', 'of another kind', 'nowhere', 'own', 'own'];
    t.is((await say(database, id, names, { isCreating: false })).problem, null);
    t.deepEqual(await membershipsOf(database, id), ['own oidc/okta']);
    t.is(
      (await say(database, id, names, { isCreating: true })).problem,
      null,
      'none of them is made anew',
    );
    t.deepEqual(await membershipsOf(database, id), ['nowhere oidc/okta', 'own oidc/okta']);
    for (const other of ['OWN', 'own ', ' own', 'ｏｗｎ', 'Strasse', 'Stra\u00dfe\u0301'])
      await say(database, id, [other]);
    t.deepEqual(await membershipsOf(database, id), [], 'names are compared exactly');
  });

  test(`${kind}: a map leads to any group, and lets no other name through`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    await addGroups(database, null, 'Engineering');
    await addGroups(database, SOURCE, 'own');
    const map = { eng: 'Engineering', dev: 'Engineering', ops: 'Operations' };
    const names = ['eng', 'dev', 'ops', 'own', 'Engineering', 'constructor', '__proto__'];
    await say(database, id, names, { map });
    t.deepEqual(await membershipsOf(database, id), ['Engineering oidc/okta']);
    await say(database, id, names, { map, isCreating: true });
    const both = ['Engineering oidc/okta', 'Operations oidc/okta'];
    t.deepEqual(await membershipsOf(database, id), both);
    t.is(
      (await database.models.Group.findOne({ where: { name: 'Operations' } }))?.provider,
      SOURCE,
    );
  });

  test(`${kind}: names beside an open map mean what they mean without one`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    await addGroups(database, null, 'by hand');
    await addGroups(database, SOURCE, 'own', 'Infra');
    const map = { 'Cafe\u0301': 'own', 'Stra\u00dfe': 'own', eng: 'Infra' };
    const open = { map, isOpen: true, isCreating: true };
    await say(database, id, ['own', 'Infra', 'by hand'], open);
    t.deepEqual(await membershipsOf(database, id), [], 'a target is reached by the map alone');
    await say(database, id, ['eng', 'by hand', 'fresh'], open);
    const both = [`Infra ${SOURCE}`, `fresh ${SOURCE}`];
    t.deepEqual(await membershipsOf(database, id), both);
    await say(database, id, ['eng', 'fresh'], { ...open, isOpen: false });
    t.deepEqual(await membershipsOf(database, id), [`Infra ${SOURCE}`], 'a map alone is closed');
    await say(database, id, ['Cafe\u0301'], open);
    t.deepEqual(await membershipsOf(database, id), [`own ${SOURCE}`]);
    await say(database, id, ['e\u0301t\u00e9'], { map: { '\u00e9t\u00e9': 'own' } });
    t.deepEqual(await membershipsOf(database, id), [`own ${SOURCE}`], 'the map is asked in NFC');
  });

  test(`${kind}: a UUID makes no group, and one that there is keeps its members`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    const other = UUID_NAME.replace('1', '2');
    await addGroups(database, SOURCE, UUID_NAME);
    await say(database, id, [UUID_NAME, other], { isCreating: true });
    t.deepEqual(await membershipsOf(database, id), [`${UUID_NAME} ${SOURCE}`]);
    await say(database, id, ['x'], { map: { x: other }, isCreating: true });
    t.deepEqual(await membershipsOf(database, id), []);
    await say(database, id, [other], { map: { [other]: 'ops' }, isCreating: true });
    t.deepEqual(await membershipsOf(database, id), [`ops ${SOURCE}`], 'a map may name it');
  });

  test(`${kind}: what a provider says replaces what it said, and nothing of others`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    const [a, b] = await addGroups(database, SOURCE, 'a', 'b');
    await addMember(database, a!, id);
    await addMember(database, b!, id, 'saml/okta');
    await say(database, id, ['a', 'b']);
    const { models } = database;
    const rows = await models.GroupMembership.findAll({ where: { source: SOURCE } });
    const { change } = await say(database, id, ['b']);
    const both = [a!.id, b!.id].toSorted();
    t.deepEqual(change.before.toSorted(), both);
    t.deepEqual(change.after.toSorted(), both, 'an administrator says a too');
    t.deepEqual(await membershipsOf(database, id), ['a manual', `b ${SOURCE}`, 'b saml/okta']);
    const [kept] = await models.GroupMembership.findAll({ where: { source: SOURCE } });
    t.true(
      rows.some((row) => row.id === kept?.id),
      'what stays is not written again',
    );
    t.deepEqual((await say(database, id, [])).change.after.toSorted(), both);
    t.deepEqual(await membershipsOf(database, id), ['a manual', 'b saml/okta']);
    const entries = await readAuditEntries(database, { limit: 20, kind: 'group_membership' });
    const noted = entries.map(({ action, changes }) => [action, Object.keys(changes)]);
    t.deepEqual(noted.at(-1), ['delete', ['group_id', 'user_id', 'source']]);
  });

  test(`${kind}: beyond the most groups of a user, those that they are in stay`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    const [hand] = await addGroups(database, null, 'by hand');
    await addMember(database, hand!, id);
    const z = Array.from({ length: GROUPS_OF_USER_MAX - 2 }, (_, i) => `z${i + 10}`);
    t.is((await say(database, id, z, { isCreating: true })).problem, null);
    const more = ['a', 'b', ...z];
    t.is((await say(database, id, more, { isCreating: true })).problem, 'left_out');
    const expected = ['a', ...z].map((name) => `${name} ${SOURCE}`);
    t.deepEqual(await membershipsOf(database, id), ['by hand manual', ...expected].toSorted());
    t.is(await database.models.Group.count({ where: { name: 'b' } }), 0, 'and it is not made');
    const map = { x: 'by hand' };
    t.is(
      (await say(database, id, ['x'], { map })).problem,
      null,
      'a group of others needs no room',
    );
  });

  test(`${kind}: an entry that says nothing any more loses what it said`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const admin = await addUser(database, { role: 'admin' });
    const made = await addUser(database, { role: 'admin', role_provider: SOURCE });
    const other = await addUser(database, { role: 'admin', role_provider: 'saml/okta' });
    const [own] = await addGroups(database, SOURCE, 'own');
    await addMember(database, own!, user.id, SOURCE);
    await addMember(database, own!, user.id, 'saml/okta');
    await addMember(database, own!, user.id);
    const forget = (all: string[], naming: string[], administering: string[]) =>
      write(database, (transaction) =>
        forgetGroupsOfOthers(database, { all, naming, administering }, transaction),
      );
    const saml = ['saml/okta'];
    await forget([SOURCE, ...saml], [SOURCE, ...saml], [SOURCE, ...saml]);
    t.is((await membershipsOf(database, user.id)).length, 3);
    await forget([SOURCE, ...saml], saml, saml);
    t.deepEqual(await membershipsOf(database, user.id), ['own manual', 'own saml/okta']);
    t.is((await own!.reload()).provider, SOURCE, 'the entry is there');
    t.is((await made.reload()).role, 'unprivileged');
    t.is((await other.reload()).role, 'admin');
    await forget([], [], []);
    t.deepEqual(await membershipsOf(database, user.id), ['own manual']);
    t.is((await own!.reload()).provider, null);
    t.is((await other.reload()).role, 'unprivileged');
    t.is((await admin.reload()).role, 'admin', 'whom no provider made');
  });

  test(`${kind}: problems are counted by entry`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const groups_problem of ['overage', 'overage', null] as const) {
      const identity = await addIdentity(database, await addUser(database));
      await write(database, (transaction) => identity.update({ groups_problem }, { transaction }));
    }
    t.like(await countGroupsErrors(database), [{ problem: 'overage', accounts: 2 }]);
  });
}

test('a name that the API would not take as it is makes no group', (t) => {
  for (const good of ['a', 'Ü', '😀'.repeat(255), 'cn=vpn,dc=example', '__proto__'])
    t.true(isGroupName(good), good);
  for (const bad of [UUID_NAME, UUID_NAME.toUpperCase()]) t.false(isGroupName(bad), bad);
  for (const bad of ['e\u0301', 'a\u202eb', 'a\u200b', 'a\u2028b'])
    t.false(isGroupName(bad), JSON.stringify(bad));
  for (const bad of ['', ' ', ' a', 'a\n', 'a\0b', '\ud800', 'a'.repeat(256), '😀'.repeat(256)])
    t.false(isGroupName(bad), JSON.stringify(bad));
});
