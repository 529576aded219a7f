// The addresses to paste at a provider, for an entry and before there is one.

import test from 'ava';
import { addressesToPaste } from '../../../../lib/web/parts/provider-addresses.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';

const settings = { externalUrl: 'https://vpn.example.com/', samlEntityId: 'urn:our:name' };

function values(...given: Parameters<typeof addressesToPaste>): string[] {
  return addressesToPaste(...given).map(({ value }) => value);
}

test('an OpenID provider needs the redirect and the post-logout address', (t) => {
  t.deepEqual(values('oidc', oidcEntry(), settings), [
    'https://vpn.example.com/auth/oidc/okta/callback/',
    'https://vpn.example.com/',
    'https://vpn.example.com/auth/oidc/okta',
  ]);
  const [redirect] = values('oidc', oidcEntry({ redirect_uri: 'https://a.example/b' }), settings);
  t.is(redirect, 'https://a.example/b');
  t.is(values('oidc', {}, settings)[0], 'https://vpn.example.com/auth/oidc/{id}/callback/');
});

test('a SAML provider needs the address of our metadata, or their contents', (t) => {
  const entry = samlEntry({ base_url: 'https://other.example/saml/' });
  t.deepEqual(values('saml', entry, settings), [
    'https://other.example/saml/sp/metadata/saml-idp',
    'urn:our:name',
    'https://other.example/saml/sp/consume/saml-idp',
    'https://other.example/saml/sp/logout/saml-idp',
  ]);
  t.is(values('saml', {}, settings)[0], 'https://vpn.example.com/auth/saml/sp/metadata/{id}');
});
