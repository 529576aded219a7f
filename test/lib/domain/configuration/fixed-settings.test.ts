// Variables that fix fields of the configuration: how their texts are read, and what the start says
// about invalid ones.

import test from 'ava';
import { configurationVariables } from '../../../../config/index.ts';
import { configurationSchema } from '../../../../lib/domain/configuration/configuration.ts';
import {
  fixedSettingsOf,
  readFixedSettings,
} from '../../../../lib/domain/configuration/fixed-settings.ts';
import { federation, samlMetadata } from '../../../support/auth/identity-provider.ts';
import { configOf } from '../../../support/api/server.ts';

const settings = { externalUrl: 'https://vpn.example.com/' };
const openid = {
  id: 'okta',
  label: 'l',
  client_id: 'c',
  client_secret: 's3cret',
  discovery_document_uri: 'https://nobody.invalid/x',
  auto_create_users: true,
};
const saml = { id: 'adfs', label: 'l', auto_create_users: 'false', metadata: samlMetadata() };

test('every field that may be changed has its variable', (t) => {
  const readOnly = ['id', 'inserted_at', 'updated_at'];
  const { keys } = configurationSchema.describe() as { keys: object };
  t.deepEqual(
    configurationVariables.map(({ name }) => name.toLowerCase()),
    Object.keys(keys).filter((name) => !readOnly.includes(name)),
  );
});

test('without variables nothing is fixed', (t) => {
  t.deepEqual(readFixedSettings(settings, {}), { fixed: {}, errors: [] });
  t.deepEqual(fixedSettingsOf(configOf()), {});
});

const good: [name: string, text: string, value: unknown][] = [
  ['LOCAL_AUTH_ENABLED', '0', false],
  ['DEFAULT_ACTION', 'drop', 'drop'],
  ['ALLOW_UNPRIVILEGED_DEVICE_MANAGEMENT', 'true', true],
  ['VPN_SESSION_DURATION', '2147483647', 2_147_483_647],
  ['DEFAULT_CLIENT_MTU', '1500', 1500],
  ['DEFAULT_CLIENT_ALLOWED_IPS', '10.0.0.0/8, FD00::/8', ['10.0.0.0/8', 'fd00::/8']],
  ['DEFAULT_CLIENT_DNS', '1.1.1.1', ['1.1.1.1']],
  ['DEFAULT_CLIENT_DNS', '["1.1.1.1","a.b"]', ['1.1.1.1', 'a.b']],
  ['DEFAULT_CLIENT_DNS', '[]', []],
  ['DEFAULT_CLIENT_ENDPOINT', ' vpn.example.com:1 ', 'vpn.example.com:1'],
  ['LOGO', 'null', {}],
  ['LOGO', '{"url":"http://a.b"}', { url: 'http://a.b', data: null, type: null }],
  [
    'OPENID_CONNECT_PROVIDERS',
    JSON.stringify([openid]),
    [{ ...openid, scope: 'openid email profile', response_type: 'code', redirect_uri: null }],
  ],
  [
    'SAML_IDENTITY_PROVIDERS',
    JSON.stringify([saml]),
    [
      {
        ...saml,
        auto_create_users: false,
        base_url: 'https://vpn.example.com/auth/saml',
        sign_requests: true,
        sign_metadata: true,
        signed_assertion_in_resp: true,
        signed_envelopes_in_resp: true,
      },
    ],
  ],
];
for (const [name, text, value] of good)
  test(`${name} ${text.slice(0, 40)} is read as the API reads it`, (t) => {
    t.deepEqual(readFixedSettings(settings, { [name]: text }), {
      fixed: { [name.toLowerCase()]: value },
      errors: [],
    });
  });

test('a SAML provider may have only an address: nothing is fetched at the start', (t) => {
  const entry = { id: 'adfs', label: 'A', auto_create_users: false };
  const metadata_url = 'https://idp.example/metadata';
  const read = (sent: object) =>
    readFixedSettings(settings, {
      SAML_IDENTITY_PROVIDERS: JSON.stringify([{ ...entry, ...sent }]),
    });
  const { fixed, errors } = read({ metadata_url });
  t.deepEqual(errors, []);
  t.like(fixed.saml_identity_providers?.[0], { metadata: '', metadata_url });
  t.regex(read({})?.errors[0] ?? '', /entry 1: metadata can't be blank/);
  t.regex(read({ metadata_url, metadata: '<x/>' }).errors[0] ?? '', /entry 1: metadata is invalid/);
  t.regex(read({ metadata_url: 'http://idp.example/' }).errors[0] ?? '', /must begin with https/);
});

const hidden = 'got the given value (hidden); for example OPENID_CONNECT_PROVIDERS=[]';
const bad: [name: string, text: string, errors: string[]][] = [
  [
    'VPN_SESSION_DURATION',
    '1.5',
    ['VPN_SESSION_DURATION is invalid; got "1.5"; for example VPN_SESSION_DURATION=86400'],
  ],
  [
    'DEFAULT_CLIENT_MTU',
    '9',
    [
      'DEFAULT_CLIENT_MTU must be greater than or equal to 576; got "9"; ' +
        'for example DEFAULT_CLIENT_MTU=1280',
    ],
  ],
  [
    'DEFAULT_CLIENT_DNS',
    'a b,a b',
    ['a b is not a valid FQDN', 'should not contain duplicates'].map(
      (error) =>
        `DEFAULT_CLIENT_DNS ${error}; got "a b,a b"; for example DEFAULT_CLIENT_DNS=1.1.1.1,1.0.0.1`,
    ),
  ],
  [
    'LOGO',
    '{',
    ['LOGO is not valid JSON; got "{"; for example LOGO={"url":"https://example.com/logo.png"}'],
  ],
  ['OPENID_CONNECT_PROVIDERS', '{}', [`OPENID_CONNECT_PROVIDERS is invalid; ${hidden}`]],
  [
    'OPENID_CONNECT_PROVIDERS',
    JSON.stringify([openid, { ...openid, client_secret: '', scope: 'openid' }]),
    ['id has already been taken', "client_secret can't be blank", 'scope must include email scope']
      .map((error) => `OPENID_CONNECT_PROVIDERS entry 2: ${error}; ${hidden}`)
      .toSorted(),
  ],
];
for (const [name, text, errors] of bad)
  test(`${name} ${text.slice(0, 40)} is refused in the words of the API`, (t) => {
    const read = readFixedSettings(settings, { [name]: text });
    t.deepEqual({ ...read, errors: read.errors.toSorted() }, { fixed: {}, errors });
  });

test('of several providers the first one serves, or the one that is named', (t) => {
  const metadata = federation('urn:a', 'urn:b');
  const read = (changes: object) =>
    readFixedSettings(
      { externalUrl: 'http://127.0.0.1:13000/' },
      { SAML_IDENTITY_PROVIDERS: JSON.stringify([{ ...saml, metadata, ...changes }]) },
    );
  t.deepEqual(read({}).errors, []);
  const { fixed, errors } = read({ entity_id: 'urn:b' });
  t.deepEqual(errors, []);
  t.is(fixed.saml_identity_providers?.[0]?.entity_id, 'urn:b');
  t.regex(read({ entity_id: 'urn:x' }).errors[0] ?? '', /does not describe urn:x, which entity_id/);
});

test('unusable metadata are refused, and long texts are shortened', (t) => {
  const text = JSON.stringify([{ ...saml, metadata: `<x>${'y'.repeat(1000)}</x>` }]);
  const { errors } = readFixedSettings(settings, { SAML_IDENTITY_PROVIDERS: text });
  t.is(errors.length, 1);
  t.true(
    errors[0]?.startsWith('SAML_IDENTITY_PROVIDERS entry 1: metadata is invalid. Details: it '),
  );
  t.true((errors[0]?.length ?? 0) < 500);
});

test('several invalid variables are reported at once', (t) => {
  const { errors } = readFixedSettings(settings, {
    LOCAL_AUTH_ENABLED: 'perhaps',
    VPN_SESSION_DURATION: '-1',
  });
  t.deepEqual(
    errors.map((error) => error.split(' ')[0]),
    ['LOCAL_AUTH_ENABLED', 'VPN_SESSION_DURATION'],
  );
  t.throws(() => fixedSettingsOf(configOf({ LOCAL_AUTH_ENABLED: 'perhaps' })), {
    message: /LOCAL_AUTH_ENABLED is invalid/,
  });
});
