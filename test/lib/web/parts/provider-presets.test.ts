// What new entries begin with: addresses of well-known providers, and nothing that opens a door.

import test from 'ava';
import { providerForms, TRUSTED } from '../../../../lib/web/parts/provider-form.ts';
import {
  freshEntry,
  presetsOf,
  providerPresets,
} from '../../../../lib/web/parts/provider-presets.ts';

const { oidc, saml } = providerForms;
/** What a preset may set, of each kind. */
const TEXTS = {
  oidc: ['label', 'id', 'discovery_document_uri', 'scope'],
  saml: ['label', 'id', 'metadata_url', 'email_attribute'],
};

test('a preset sets texts alone: nothing is trusted, let in or left unchecked', (t) => {
  for (const { name, kind, values } of providerPresets) {
    const form = providerForms[kind];
    const typed = freshEntry(form, name, []);
    const usual = freshEntry(form, '', []);
    t.like(typed, values, name);
    const changed = Object.keys(typed).filter((field) => typed[field] !== usual[field]);
    t.deepEqual(
      changed.filter((field) => !TEXTS[kind].includes(field)),
      [],
      `${kind} ${name}`,
    );
    t.like(typed, { [TRUSTED]: 'false', auto_create_users: 'false' });
    if (kind === 'oidc') t.regex(typed['scope'] ?? '', /^openid email profile( offline_access)?$/);
    else
      t.like(typed, {
        sign_requests: 'true',
        sign_metadata: 'true',
        signed_assertion_in_resp: 'true',
        signed_envelopes_in_resp: 'true',
      });
  }
});

test('an address with something to replace leads to no host but the provider’s own', (t) => {
  for (const { name, values } of providerPresets) {
    const text = values['discovery_document_uri'] ?? values['metadata_url'] ?? '';
    if (URL.canParse(text))
      t.regex(new URL(text).host, /^(accounts\.google\.com|login\.microsoftonline\.com)$/, name);
    else t.true(text === '' || text.includes('{'), name);
  }
});

test('a preset is of one kind: the same provider has another one for the other kind', (t) => {
  const names = (kind: 'oidc' | 'saml') => presetsOf(kind).map(({ name }) => name);
  t.deepEqual(names('oidc'), ['google', 'entra', 'okta', 'keycloak', 'authelia', 'zitadel']);
  t.deepEqual(names('saml'), ['google', 'entra', 'okta', 'keycloak']);
  t.is(freshEntry(saml, 'authelia', [])['id'], 'saml', 'it has no SAML');
  t.regex(freshEntry(saml, 'entra', [])['email_attribute'] ?? '', /emailaddress$/);
});

test('an id is one that no entry has', (t) => {
  t.is(freshEntry(oidc, 'okta', ['google'])['id'], 'okta');
  t.is(freshEntry(oidc, 'okta', ['okta', 'okta-2'])['id'], 'okta-3');
  t.is(freshEntry(saml, 'okta', ['okta'])['id'], 'okta-2');
  t.is(freshEntry(oidc, 'nobody', [])['id'], 'sso');
});
