// Groups that could not be taken, in words: for entries that still name groups.

import test from 'ava';
import { findGroups, groupsFindings } from '../../../../lib/auth/identity/groups-findings.ts';
import { addIdentity, addUser, write } from '../../../models/fixtures.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';
import { openDatabase } from '../../../support/database/databases.ts';

test('administrators read what is wrong, and what to do', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const identity = await addIdentity(database, await addUser(database));
  await write(database, (transaction) =>
    identity.update({ groups_problem: 'overage' }, { transaction }),
  );
  const { kind, provider_id: id } = identity;
  t.is(kind, 'oidc');
  const errorsOf = (...openid: ReturnType<typeof oidcEntry>[]) =>
    groupsFindings(database, { openid_connect_providers: openid, saml_identity_providers: [] });
  t.deepEqual(await errorsOf(oidcEntry({ id })), [], 'it names no groups any more');
  t.deepEqual(await errorsOf(oidcEntry({ id: 'other', groups_claim: 'groups' })), []);
  const [error, ...others] = await errorsOf(oidcEntry({ id, groups_claim: 'groups' }));
  t.deepEqual(others, []);
  t.regex(error!.text, /groups of 1 account were not taken from the provider oidc\/.*stay as they/);
  t.regex(error!.fix, /assigned to the application/);
});

test('an entry that leads to a group that nobody makes is named', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await write(database, (transaction) =>
    database.models.Group.create({ name: 'Engineering' }, { transaction }),
  );
  const groups_map = { eng: 'Engineering', ops: 'Operations', noc: 'Operations', crm: 'Sales' };
  const entry = oidcEntry({ groups_claim: 'groups', groups_map });
  const errorsOf = (...openid: ReturnType<typeof oidcEntry>[]) =>
    groupsFindings(database, { openid_connect_providers: openid, saml_identity_providers: [] });
  const [error, ...others] = await errorsOf(entry);
  t.deepEqual(others, []);
  t.regex(
    error!.text,
    /provider oidc\/okta leads to a group that is not there: Operations, and 1 /,
  );
  t.regex(error!.fix, /^Make the group, correct its name in groups_map, or let the entry make/);
  t.deepEqual(await errorsOf({ ...entry, groups_create: true }), []);
  t.deepEqual(await errorsOf({ ...entry, groups_map: { eng: 'Engineering' } }), []);
});

test('a test sign-in says how many names there are, or why there are none', (t) => {
  const textOf = (...given: Parameters<typeof findGroups>) =>
    findGroups(...given).map(({ verdict, text }) => `${verdict}: ${text}`);
  const where = 'the claim groups';
  t.deepEqual(textOf(undefined, { names: [] }), []);
  t.deepEqual(textOf(where, { names: ['a', 'b'] }), [
    'good: The provider names 2 groups in the claim groups.',
  ]);
  t.regex(textOf(where, { names: [] })[0]!, /^doubtful: There is nothing in the claim groups/);
  t.regex(textOf(where, { problem: 'overage' })[0]!, /^bad: .*Entra.*assigned to the application/);
});
