// A group that identity providers fill keeps its members when it is renamed: the entries that mean
// it follow in the same write, and other names mean what they meant.

import test from 'ava';
import { takeGroups } from '../../../../lib/auth/identity/groups.ts';
import {
  type Database,
  type OpenidConnectProvider,
  readAuditEntries,
  readGroupNames,
  type SamlIdentityProvider,
} from '../../../../models/index.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';
import { databaseKinds } from '../../../support/database/databases.ts';

type Entry = OpenidConnectProvider | SamlIdentityProvider;

/** Saves entries without a look at their documents. */
async function configure(
  database: Database,
  openid: OpenidConnectProvider[],
  saml = [samlEntry()],
): Promise<void> {
  const lists = { openid_connect_providers: openid, saml_identity_providers: saml };
  await write(database, async (transaction) => {
    const found = { transaction, lock: true, rejectOnEmpty: true } as const;
    await (await database.models.Configuration.findOne(found)).update(lists, { transaction });
  });
}

async function entriesOf({ models }: Database): Promise<Entry[]> {
  const row = await models.Configuration.findOne({ rejectOnEmpty: true });
  return [...row.openid_connect_providers, ...row.saml_identity_providers];
}

/** What an entry makes of names, as at a sign-in or a refresh. */
async function signIn(database: Database, userId: string, names: string[]): Promise<void> {
  const [entry] = await entriesOf(database);
  const authority = { kind: 'oidc', provider_id: 'okta', authority: 'x' } as const;
  const whose = { userId, identity: null, authority, hearGroups: async () => undefined };
  await write(database, (transaction) =>
    takeGroups(database, whose, { said: { names }, entry: entry! }, transaction),
  );
}

/** The groups of a user, by name. */
async function groupsOf({ send }: TestServer, userId: string): Promise<string[]> {
  const { data } = (await send('GET', `/v0/groups?user_id=${userId}`)).body;
  return data.map(({ name }: { name: string }) => name).toSorted();
}

async function rename({ send }: TestServer, before: string, after: string) {
  const [group] = (await send('GET', `/v0/groups?name=${before}`)).body.data;
  return send('PATCH', `/v0/groups/${group.id}`, { body: { group: { name: after } } });
}

const byName = { groups_claim: 'groups', groups_create: true };

for (const kind of databaseKinds()) {
  test(`${kind}: a group that an entry made keeps its members, and no other name changes`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    await configure(database, [oidcEntry(byName)]);
    const { id } = await addUser(database);
    await signIn(database, id, ['Map1', 'staff']);
    t.is((await rename(server, 'Map1', 'Map2')).status, 200);
    const [entry] = await entriesOf(database);
    t.like(entry, { groups_map: { Map1: 'Map2' }, groups_unmapped: true });
    await signIn(database, id, ['Map1', 'staff', 'fresh']);
    t.deepEqual(await groupsOf(server, id), ['Map2', 'fresh', 'staff']);
    await signIn(database, id, ['Map2']);
    t.deepEqual(await groupsOf(server, id), [], 'another group there takes no place in it');
    for (const [before, after] of [
      ['Map2', 'Map3'],
      ['staff', 'people'],
      ['Map3', 'Map1'],
    ] as const)
      t.is((await rename(server, before, after)).status, 200);
    await signIn(database, id, ['Map1', 'staff']);
    t.deepEqual(await groupsOf(server, id), ['Map1', 'people']);
    const left = await readGroupNames(database, ['Map2', 'Map3', 'staff']);
    t.deepEqual([...left], [], 'no former name is made again');
  });

  test(`${kind}: every map that leads to the group follows, and the trail has both`, async (t) => {
    const server = await openServer(t, kind);
    const { database, send } = server;
    const groups_map = { eng: 'Map1', dev: 'Map1', ops: 'Operations' };
    const openid = [
      oidcEntry({ groups_claim: 'groups', groups_map }),
      oidcEntry({ id: 'other', groups_claim: 'groups', groups_map: { x: 'Operations' } }),
    ];
    const saml = [samlEntry({ groups_attribute: 'g', groups_map: { all: 'Map1' } })];
    await configure(database, openid, saml);
    const made = await send('POST', '/v0/groups', { body: { group: { name: 'Map1' } } });
    const { id } = await addUser(database);
    await signIn(database, id, ['eng']);
    t.is((await rename(server, 'Map1', 'Engineering')).status, 200);
    t.deepEqual(
      (await entriesOf(database)).map((entry) => [entry.groups_map, entry.groups_unmapped]),
      [
        [{ eng: 'Engineering', dev: 'Engineering', ops: 'Operations' }, undefined],
        [{ x: 'Operations' }, undefined],
        [{ all: 'Engineering' }, undefined],
      ],
    );
    await signIn(database, id, ['eng']);
    t.deepEqual(await groupsOf(server, id), ['Engineering']);
    const trail = await readAuditEntries(database, { limit: 9 });
    const [group] = trail.filter(({ record_id }) => record_id === made.body.data.id).slice(-1);
    t.deepEqual(group?.changes['name'], { from: 'Map1', to: 'Engineering' });
    const configuration = trail.filter((one) => one.kind === 'configuration').at(-1);
    t.true(configuration?.changes['saml_identity_providers'] !== undefined);
  });

  test(`${kind}: what does not mean the group stays as it is`, async (t) => {
    const server = await openServer(t, kind);
    const { database, send } = server;
    const openid = [oidcEntry({ groups_claim: 'groups' })];
    await configure(database, openid);
    await send('POST', '/v0/groups', { body: { group: { name: 'by-hand' } } });
    t.is((await rename(server, 'by-hand', 'other')).status, 200);
    await write(database, (transaction) =>
      database.models.Group.create({ name: 'made', provider: 'oidc/okta' }, { transaction }),
    );
    const before = await entriesOf(database);
    t.is((await rename(server, 'made', 'made')).status, 200);
    t.deepEqual(await entriesOf(database), before, 'the same name is no rename');
    await configure(database, [oidcEntry({ groups_claim: 'groups', groups_map: { a: 'b' } })]);
    t.is((await rename(server, 'made', 'x')).status, 200);
    t.like((await entriesOf(database))[0], { groups_map: { a: 'b' } }, 'it means no own name');
  });

  test(`${kind}: an entry that the environment fixes keeps the name`, async (t) => {
    const fixed = oidcEntry({ groups_claim: 'groups', groups_map: { eng: 'Map1' } });
    const server = await openServer(t, kind, { OPENID_CONNECT_PROVIDERS: JSON.stringify([fixed]) });
    for (const name of ['Map1', 'free'])
      await server.send('POST', '/v0/groups', { body: { group: { name } } });
    const refused = await rename(server, 'Map1', 'Map2');
    t.is(refused.status, 422);
    t.deepEqual(refused.body.errors, {
      name: [
        'is used by the identity provider "oidc/okta", which the environment fixes; keep the name, or remove the variable OPENID_CONNECT_PROVIDERS and enter the provider in the console first',
      ],
    });
    t.is((await rename(server, 'free', 'freed')).status, 200);
  });

  test(`${kind}: a map that is full takes no name more`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const groups_map = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`n${i}`, 'x']));
    await configure(database, [oidcEntry({ ...byName, groups_map, groups_unmapped: true })]);
    await signIn(database, (await addUser(database)).id, ['own']);
    const refused = await rename(server, 'own', 'other');
    t.is(refused.status, 422);
    t.regex(
      refused.body.errors.name[0],
      /groups_map of the identity provider "okta", which has 1000/,
    );
  });
}
