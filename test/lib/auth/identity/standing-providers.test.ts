// Which entries may say what of groups.

import test from 'ava';
import {
  forgetGroups,
  standingProviders,
} from '../../../../lib/auth/identity/standing-providers.ts';
import { addUser } from '../../../models/fixtures.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';

test('an entry administers only where it names groups', (t) => {
  const standing = standingProviders({
    openid_connect_providers: [
      oidcEntry({ id: 'a' }),
      oidcEntry({ id: 'b', groups_claim: 'groups' }),
      oidcEntry({ id: 'c', admin_group: 'admins' }),
    ],
    saml_identity_providers: [
      samlEntry({ id: 'a', groups_attribute: 'groups', admin_group: 'admins' }),
    ],
  });
  t.deepEqual(standing, {
    all: ['oidc/a', 'oidc/b', 'oidc/c', 'saml/a'],
    naming: ['oidc/b', 'saml/a'],
    administering: ['saml/a'],
  });
});

test('what an entry of the environment said is forgotten once it is gone', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await addUser(database, { role: 'admin' });
  const user = await addUser(database, { role: 'admin', role_provider: 'oidc/a' });
  const entry = oidcEntry({ id: 'a', groups_claim: 'groups', admin_group: 'admins' });
  const lists = { openid_connect_providers: [entry], saml_identity_providers: [] };
  await forgetGroups(database, async () => lists).run(() => false);
  t.is((await user.reload()).role, 'admin');
  await forgetGroups(database, async () => ({ ...lists, openid_connect_providers: [] })).run(
    () => false,
  );
  t.is((await user.reload()).role, 'unprivileged');
});
