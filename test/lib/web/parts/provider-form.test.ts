// The forms of identity providers: what an entry is made of, and whose messages are whose.

import test from 'ava';
import {
  entryErrors,
  entryOf,
  providerForms,
  TRUSTED,
  typedEntry,
} from '../../../../lib/web/parts/provider-form.ts';
import { typedFrom } from '../../../../lib/web/kit/form.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';

const { oidc, saml } = providerForms;

test('a secret that is left empty stays, one that is typed replaces it', (t) => {
  const present = oidcEntry({ client_secret: 'old' });
  const typed = typedFrom(present, oidc.sections);
  t.is(typed['client_secret'], '', 'it is never sent to a browser');
  t.is(entryOf(oidc, typed, present)['client_secret'], 'old');
  t.is(entryOf(oidc, { ...typed, client_secret: 'new' }, present)['client_secret'], 'new');
  t.is(entryOf(oidc, typed, null)['client_secret'], '');
});

test('the mark of trust is no part of an entry, and its id stays', (t) => {
  const present = oidcEntry();
  const typed = { ...typedFrom(present, oidc.sections), id: 'other', [TRUSTED]: 'true' };
  const entry = entryOf(oidc, typed, present);
  t.false(TRUSTED in entry);
  t.is(entry['id'], 'okta');
});

test('a required claim is typed as name=value, and shown so', (t) => {
  const typed = (required_claim: string) => ({
    ...typedEntry(oidc, oidcEntry()),
    required_claim,
  });
  const read = (text: string): unknown => entryOf(oidc, typed(text), null)['required_claim'];
  t.is(read(' '), '');
  t.deepEqual(read('hd=example.com'), { name: 'hd', value: 'example.com' });
  t.deepEqual(read('x=a=b'), { name: 'x', value: 'a=b' });
  t.deepEqual(read('hd'), { name: 'hd' });
  const present = oidcEntry({ required_claim: { name: 'x', value: 'a=b' } });
  t.is(typedEntry(oidc, present)['required_claim'], 'x=a=b');
  t.is(typedEntry(oidc, oidcEntry())['required_claim'], '');
  t.false('required_claim' in entryOf(saml, typedEntry(saml, samlEntry()), null));
});

test('names of groups are typed a line each, and shown so', (t) => {
  const typed = (groups_map: string) => ({ ...typedEntry(oidc, oidcEntry()), groups_map });
  const read = (text: string): unknown => entryOf(oidc, typed(text), null)['groups_map'];
  t.is(read(' \n'), '');
  t.deepEqual(read('cn=vpn,dc=example => Engineering\r\n\n a=>b => c '), {
    'cn=vpn,dc=example': 'Engineering',
    'a=>b': 'c',
  });
  t.deepEqual(read('no sign'), { 'no sign': '' }, 'which the rules of the API refuse');
  const present = oidcEntry({ groups_map: { vpn: 'Engineering', ops: 'Operations' } });
  t.is(typedEntry(oidc, present)['groups_map'], 'vpn => Engineering\nops => Operations');
  t.is(typedEntry(oidc, oidcEntry())['groups_map'], '');
});

test('a box about groups that is not ticked is no field', (t) => {
  const open = (groups_unmapped: string) =>
    entryOf(oidc, { ...typedEntry(oidc, oidcEntry()), groups_unmapped }, null)['groups_unmapped'];
  t.is(open('false'), '');
  t.is(open('true'), true);
  const made = (groups_create: string) =>
    entryOf(saml, { ...typedEntry(saml, samlEntry()), groups_create }, null)['groups_create'];
  t.is(made('false'), '');
  t.is(made('true'), true);
});

test('messages of other entries are none of this form', (t) => {
  const errors = {
    base: ['a'],
    openid_connect_providers: [{ id: ['b'] }, { label: ['c'] }],
  };
  t.deepEqual(entryErrors(errors, 'openid_connect_providers', 1), { base: ['a'], label: ['c'] });
  const whole = { openid_connect_providers: ['is invalid'] };
  t.deepEqual(entryErrors(whole, 'openid_connect_providers', 0), { base: ['is invalid'] });
  t.deepEqual(entryErrors({ base: ['x'] }, 'openid_connect_providers', 0), { base: ['x'] });
});

test('the form of SAML is that of its list', (t) => {
  t.is(saml.list, 'saml_identity_providers');
});

test('the way by which the client shows its secret is chosen, and left out where nothing is', (t) => {
  for (const method of ['client_secret_basic', 'client_secret_post'] as const) {
    const typed = typedEntry(oidc, oidcEntry({ token_endpoint_auth_method: method }));
    t.is(typed['token_endpoint_auth_method'], method);
    t.is(entryOf(oidc, typed, null)['token_endpoint_auth_method'], method);
  }
  const typed = typedEntry(oidc, oidcEntry());
  t.is(entryOf(oidc, typed, oidcEntry())['token_endpoint_auth_method'], '');
});
