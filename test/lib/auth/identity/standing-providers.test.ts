// Which entries may say what of groups.

import test from 'ava';
import {
  forgetGroups,
  standingProviders,
} from '../../../../lib/auth/identity/standing-providers.ts';
import { watchFailures } from '../../../../lib/domain/policy/watch.ts';
import { readAuditEntries } from '../../../../models/index.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { configOf, openServer } from '../../../support/api/server.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';

test('an entry administers only where it names groups', (t) => {
  const lists = {
    openid_connect_providers: [
      oidcEntry({ id: 'a' }),
      oidcEntry({ id: 'b', groups_claim: 'groups' }),
      oidcEntry({ id: 'c', admin_group: 'admins' }),
    ],
    saml_identity_providers: [
      samlEntry({ id: 'a', groups_attribute: 'groups', admin_group: 'admins' }),
    ],
  };
  const all = ['oidc/a', 'oidc/b', 'oidc/c', 'saml/a'];
  const naming = ['oidc/b', 'saml/a'];
  t.deepEqual(standingProviders(lists), { all, naming, administering: ['saml/a'] });
  const turned = standingProviders(lists, new Set(['saml/a']));
  t.deepEqual(turned, { all, naming: ['oidc/b'], administering: [] }, 'it is another provider');
});

test('what an entry of the environment said is forgotten once it is gone', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await addUser(database, { role: 'admin' });
  const user = await addUser(database, { role: 'admin', role_provider: 'oidc/a' });
  const entry = oidcEntry({ id: 'a', groups_claim: 'groups', admin_group: 'admins' });
  const lists = { openid_connect_providers: [entry], saml_identity_providers: [] };
  const forget = (openid: object[]) =>
    forgetGroups(
      database,
      async () => ({ ...lists, openid_connect_providers: openid as (typeof entry)[] }),
      (_transaction, write) => write(),
    ).run(() => false);
  await forget([entry]);
  t.is((await user.reload()).role, 'admin');
  await forget([]);
  t.is((await user.reload()).role, 'unprivileged');
});

test('the trail names the policy tests that fail because groups are forgotten', async (t) => {
  const { database, send } = await openServer(t, 'sqlite');
  const user = await addUser(database);
  const group = await write(database, async (transaction) => {
    const made = await database.models.Group.create(
      { name: 'ops', provider: 'oidc/a' },
      { transaction },
    );
    const member = { user_id: user.id, group_id: made.id, source: 'oidc/a' };
    await database.models.GroupMembership.create(member, { transaction });
    return made;
  });
  const rule = { action: 'drop', destination: '10.0.0.0/8', group_id: group.id };
  t.is((await send('POST', '/v0/rules', { body: { rule } })).status, 201);
  const asks = { protocol: 'tcp', port: 443, expect: 'drop' };
  const policy_test = { name: 'p', user_id: user.id, destination: '10.0.0.5', ...asks };
  const { id, passes } = (await send('POST', '/v0/policy_tests', { body: { policy_test } })).body
    .data;
  t.true(passes);
  const lists = { openid_connect_providers: [], saml_identity_providers: [] };
  const context = { services: { config: configOf({}), database }, fixed: {} };
  await forgetGroups(
    database,
    async () => lists,
    (transaction, write) => watchFailures(context, transaction, write),
  ).run(() => false);
  const entries = await readAuditEntries(database, { limit: 9, action: 'fail' });
  t.deepEqual(
    entries.map(({ record_id: one }) => one),
    [id],
  );
});
