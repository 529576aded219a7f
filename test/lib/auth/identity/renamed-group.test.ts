// Which entries follow a group that is renamed: those that lead to it, and the one that made it.

import test from 'ava';
import { followGroup } from '../../../../lib/auth/identity/renamed-group.ts';
import type { OpenidConnectProvider } from '../../../../models/index.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';

const naming = { groups_claim: 'groups' };

/** What becomes of the map of one entry; null where nothing does. */
function mapAfter(changes: Partial<OpenidConnectProvider>, provider: string | null = null) {
  const lists = {
    openid_connect_providers: [oidcEntry(changes)],
    saml_identity_providers: [samlEntry({ groups_attribute: 'groups' })],
  };
  const followed = followGroup(lists, { provider, before: 'old', after: 'new' });
  const [entry] = followed.openid_connect_providers?.entries ?? [];
  return entry === undefined ? null : [entry.groups_map, entry.groups_unmapped ?? false];
}

test('every name that a map leads to the group follows, whoever made the group', (t) => {
  const groups_map = { a: 'old', b: 'old', old: 'c', ['__proto__']: 'old' };
  const after = { a: 'new', b: 'new', old: 'c', ['__proto__']: 'new' };
  t.deepEqual(mapAfter({ ...naming, groups_map }), [after, false]);
  t.deepEqual(mapAfter({ ...naming, groups_map }, 'oidc/okta'), [after, false]);
});

test('the entry that made the group learns its new name', (t) => {
  t.deepEqual(mapAfter(naming, 'oidc/okta'), [{ old: 'new' }, true]);
  const open = { ...naming, groups_map: { a: 'b' }, groups_unmapped: true };
  t.deepEqual(mapAfter(open, 'oidc/okta'), [{ a: 'b', old: 'new' }, true]);
});

test('entries that do not mean the group stay as they are', (t) => {
  t.is(mapAfter(naming), null, 'an administrator made it');
  t.is(mapAfter(naming, 'oidc/other'), null);
  t.is(mapAfter({}, 'oidc/okta'), null, 'it names no groups any more');
  t.is(mapAfter({ ...naming, groups_map: { a: 'b' } }, 'oidc/okta'), null, 'the map is all');
  const elsewhere = { ...naming, groups_map: { old: 'b' }, groups_unmapped: true };
  t.is(mapAfter(elsewhere, 'oidc/okta'), null, 'the name means another group');
});

test('the lists that change are named, with their entries', (t) => {
  const lists = {
    openid_connect_providers: [oidcEntry(naming)],
    saml_identity_providers: [samlEntry({ groups_attribute: 'g' }), samlEntry({ id: 'x' })],
  };
  const renamed = { provider: 'saml/saml-idp', before: 'old', after: 'new' };
  const followed = followGroup(lists, renamed);
  t.deepEqual(Object.keys(followed), ['saml_identity_providers']);
  t.deepEqual(followed.saml_identity_providers?.changed, ['saml/saml-idp']);
  t.is(followed.saml_identity_providers?.entries[1], lists.saml_identity_providers[1]);
});
