// Identity providers and the logo, as the configuration takes and shows them:
// docs/api.md#the-configuration.

import test from 'ava';
import { openProvider, samlMetadata } from '../../../support/auth/identity-provider.ts';
import { type Answer, openServer, refused, surfaces } from '../../../support/api/server.ts';

const path = '/v0/configuration';
const blank = ["can't be blank"];
const invalid = ['is invalid'];
const noHost = ['does not contain a scheme or a host'];
const badScheme = ['only http, https schemes are supported'];
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64');

/** An OpenID provider that answers at an origin. */
const openidAt = (origin: string) => ({
  id: 'okta',
  label: 'Sign in',
  client_id: 'postern',
  client_secret: ' s3cret ',
  discovery_document_uri: `${origin}/.well-known/openid-configuration`,
  auto_create_users: false,
});
const openidDefaults = {
  scope: 'openid email profile',
  response_type: 'code',
  redirect_uri: null,
};
const metadata = ` \t${samlMetadata()
  .replaceAll('\n', '\r\n')
  .replace(/<\?.*\?>/, '')}\r\n`;
const saml = { id: 'adfs', label: 'SSO', metadata, auto_create_users: true };
const samlShown = {
  ...saml,
  base_url: 'https://vpn.example.com/gate/auth/saml',
  sign_requests: true,
  sign_metadata: true,
  signed_assertion_in_resp: true,
  signed_envelopes_in_resp: true,
};

for (const kind of surfaces()) {
  test(`${kind}: providers are replaced whole and shown with their defaults`, async (t) => {
    const settings = { EXTERNAL_URL: 'https://vpn.example.com/gate/' };
    const { send, database } = await openServer(t, kind, settings);
    const openid = openidAt((await openProvider(t)).origin);
    const openidShown = { ...openid, ...openidDefaults };
    const put = (configuration: object): Promise<Answer> =>
      send('PUT', path, { body: { configuration } });
    const first = await put({
      openid_connect_providers: [openid],
      saml_identity_providers: [saml],
    });
    t.is(first.status, 200, first.text);
    t.deepEqual(first.body.data.openid_connect_providers, [openidShown]);
    t.deepEqual(first.body.data.saml_identity_providers, [samlShown]);
    t.deepEqual((await send('GET', path)).body, first.body);
    t.deepEqual((await put(first.body.data)).body, first.body, 'sent back as it was read');
    const row = await database.models.Configuration.findOne({ raw: true });
    t.false(JSON.stringify(row).includes('s3cret'), 'secrets are encrypted');
    const full = {
      ...openid,
      id: ' A.b_c-9 ',
      label: ' x ',
      client_id: ' y ',
      scope: ' email openid ',
      redirect_uri: ' http://10.0.0.1/x ',
      auto_create_users: 'true',
      other: 1,
    };
    const quiet = {
      ...saml,
      base_url: 'http://a.b',
      sign_requests: 'false',
      sign_metadata: false,
      signed_assertion_in_resp: '0',
      signed_envelopes_in_resp: false,
    };
    const second = await put({
      openid_connect_providers: [full, openid],
      saml_identity_providers: [quiet],
    });
    t.deepEqual(second.body.data.openid_connect_providers, [
      {
        ...openidShown,
        id: 'A.b_c-9',
        label: 'x',
        client_id: 'y',
        scope: 'email openid',
        redirect_uri: 'http://10.0.0.1/x',
        auto_create_users: true,
      },
      openidShown,
    ]);
    t.deepEqual(second.body.data.saml_identity_providers, [
      {
        ...samlShown,
        base_url: 'http://a.b',
        sign_requests: false,
        sign_metadata: false,
        signed_assertion_in_resp: false,
        signed_envelopes_in_resp: false,
      },
    ]);
    const third = await put({ openid_connect_providers: [] });
    t.deepEqual(third.body.data.openid_connect_providers, []);
    t.is(third.body.data.saml_identity_providers.length, 1);
    const left = { ...openid, scope: '', response_type: null, redirect_uri: '' };
    t.deepEqual(
      (await put({ openid_connect_providers: [left] })).body.data.openid_connect_providers,
      [openidShown],
    );
  });

  test(`${kind}: what an entry asks of claims is answered where it was sent`, async (t) => {
    const { send } = await openServer(t, kind);
    const openid = openidAt((await openProvider(t)).origin);
    const put = async (entry: object, status = 200): Promise<Answer> => {
      const configuration = { openid_connect_providers: [{ ...openid, ...entry }] };
      const answer = await send('PUT', path, { body: { configuration } });
      t.is(answer.status, status, answer.text);
      return answer;
    };
    const shown = { ...openid, ...openidDefaults };
    const asked = {
      token_endpoint_auth_method: 'client_secret_post',
      email_claim: 'preferred_username',
      required_claim: { name: 'hd', value: 'example.com' },
    };
    const first = await put(asked);
    t.deepEqual(first.body.data.openid_connect_providers, [{ ...shown, ...asked }]);
    t.deepEqual((await send('GET', path)).body, first.body);
    // An older client that sends the list back knows neither field, and must let nobody else in.
    t.deepEqual((await put({ label: 'X' })).body.data.openid_connect_providers, [
      { ...shown, ...asked, label: 'X' },
    ]);
    const { email_claim: _gone, ...narrow } = asked;
    const without = await put({ email_claim: '' });
    t.deepEqual(without.body.data.openid_connect_providers, [{ ...shown, ...narrow }]);
    t.deepEqual((await put({ id: 'other' })).body.data.openid_connect_providers, [
      { ...shown, id: 'other' },
    ]);
    await put(asked);
    const nothing = {
      token_endpoint_auth_method: null,
      email_claim: null,
      required_claim: null,
    };
    t.deepEqual((await put(nothing)).body.data.openid_connect_providers, [shown]);
    t.deepEqual((await put({})).body.data.openid_connect_providers, [shown]);
    const bad: [entry: object, errors: object][] = [
      [
        { email_claim: 'sub' },
        { email_claim: ['should be one of email, preferred_username, upn'] },
      ],
      [
        { token_endpoint_auth_method: 'private_key_jwt' },
        {
          token_endpoint_auth_method: ['should be one of client_secret_basic, client_secret_post'],
        },
      ],
      [{ required_claim: 'hd=x' }, { required_claim: invalid }],
      [{ required_claim: { name: 'hd', value: 'x', other: 1 } }, { required_claim: invalid }],
      [{ required_claim: { name: 'hd', value: ['x'] } }, { required_claim: invalid }],
      [{ required_claim: { name: 'hd' } }, { required_claim: blank }],
      [
        { required_claim: { name: 'hd', value: ' ' } },
        { required_claim: ['should be at least 1 character(s)'] },
      ],
    ];
    for (const [entry, errors] of bad)
      t.deepEqual(
        (await put(entry, 422)).body,
        refused({ openid_connect_providers: [errors] }),
        JSON.stringify(entry),
      );
  });

  test(`${kind}: a SAML entry keeps what an older client does not name`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const put = async (entry: object): Promise<object> => {
      const configuration = { saml_identity_providers: [{ ...saml, ...entry }] };
      const { body } = await send('PATCH', path, { body: { configuration } });
      return body.data.saml_identity_providers[0] as object;
    };
    const asked = {
      email_attribute: 'mail',
      required_attribute: { name: 'groups', value: 'vpn' },
    };
    await put(asked);
    t.like(await put({ label: 'X' }), { ...asked, label: 'X' });
    t.like(await put({ required_attribute: '' }), { email_attribute: 'mail' });
    const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    const [kept] = row.saml_identity_providers;
    t.false('required_attribute' in kept!, 'null is not kept');
    t.false('email_attribute' in (await put({ email_attribute: null })));
  });

  test(`${kind}: errors of providers stand where the entries stand`, async (t) => {
    const { send } = await openServer(t, kind);
    const openid = openidAt((await openProvider(t)).origin);
    const cases = async (
      list: string,
      good: object,
      table: [entry: object, errors: object][],
    ): Promise<void> => {
      for (const [entry, errors] of table) {
        const configuration = {
          [list]: [
            { ...good, id: 'good' },
            { ...good, ...entry },
          ],
        };
        const { status, body } = await send('PATCH', path, { body: { configuration } });
        t.is(status, 422, JSON.stringify(entry));
        t.deepEqual(body, refused({ [list]: [{}, errors] }), JSON.stringify(entry));
      }
      for (const bad of [{}, 'x', 5, [5], [null], [[]], [good, 'x']])
        t.deepEqual(
          (await send('PATCH', path, { body: { configuration: { [list]: bad } } })).body,
          refused({ [list]: invalid }),
        );
    };
    const shared: [entry: object, errors: object][] = [
      [
        { id: null, label: '' },
        { id: blank, label: blank },
      ],
      [{ id: 'good' }, { id: ['has already been taken'] }],
      ...['a b', 'ä', 'a/b', '.', '..', 'x'.repeat(65)].map((id): [object, object] => [
        { id },
        { id: invalid },
      ]),
      ...['identity', 'saml', 'magic_link'].map((id): [object, object] => [
        { id },
        { id: ['is reserved'] },
      ]),
      [
        { id: 5, label: 5 },
        { id: invalid, label: invalid },
      ],
      [{ label: '  ' }, { label: blank }],
      [{ auto_create_users: null }, { auto_create_users: blank }],
      [{ auto_create_users: 1 }, { auto_create_users: invalid }],
    ];
    await cases('openid_connect_providers', openid, [
      ...shared,
      [
        { client_id: null, client_secret: '', discovery_document_uri: ' ' },
        { client_id: blank, client_secret: blank, discovery_document_uri: blank },
      ],
      [{ scope: 'profile' }, { scope: ['must include openid scope', 'must include email scope'] }],
      [{ scope: 'openid emails' }, { scope: ['must include email scope'] }],
      [{ scope: 'xopenid email' }, { scope: ['must include openid scope'] }],
      [{ response_type: 'token' }, { response_type: invalid }],
      [{ discovery_document_uri: 'id.example' }, { discovery_document_uri: noHost }],
      [{ discovery_document_uri: 'ftp://id.example' }, { discovery_document_uri: badScheme }],
      [{ redirect_uri: '/x' }, { redirect_uri: noHost }],
      [{ redirect_uri: 'gopher://x' }, { redirect_uri: badScheme }],
      [{ redirect_uri: 5 }, { redirect_uri: invalid }],
    ]);
    await cases('saml_identity_providers', saml, [
      ...shared,
      [{ metadata: '' }, { metadata: blank }],
      [{ metadata: 5 }, { metadata: invalid }],
      [{ base_url: 'x' }, { base_url: noHost }],
      [{ base_url: 'ftp://x' }, { base_url: badScheme }],
      [
        { sign_requests: 'x', signed_envelopes_in_resp: 1 },
        { sign_requests: invalid, signed_envelopes_in_resp: invalid },
      ],
    ]);
    const empty = await send('PATCH', path, {
      body: { configuration: { openid_connect_providers: [{}] } },
    });
    t.deepEqual(Object.keys(empty.body.errors.openid_connect_providers[0]), [
      'id',
      'label',
      'client_id',
      'client_secret',
      'discovery_document_uri',
      'auto_create_users',
    ]);
  });

  test(`${kind}: a logo is an address, or data with its type, or nothing`, async (t) => {
    const { send } = await openServer(t, kind);
    const put = (logo: unknown): Promise<Answer> =>
      send('PUT', path, { body: { configuration: { logo } } });
    const nothing = { url: null, data: null, type: null };
    const good: [sent: unknown, shown: object][] = [
      [
        { url: ' https://example.com/logo.png ' },
        { ...nothing, url: 'https://example.com/logo.png' },
      ],
      [
        { data: PNG, type: 'image/png' },
        { ...nothing, data: PNG, type: 'image/png' },
      ],
      [
        { ...nothing, url: 'http://a.b', file: null, other: 1 },
        { ...nothing, url: 'http://a.b' },
      ],
      [{ url: 'http://[fd00::1]:81/a,b;c' }, { ...nothing, url: 'http://[fd00::1]:81/a,b;c' }],
      [
        { url: '', data: PNG, type: 'image/webp' },
        { ...nothing, data: PNG, type: 'image/webp' },
      ],
      [{}, {}],
      [nothing, {}],
      [null, {}],
      ['', {}],
    ];
    for (const [sent, shown] of good) {
      const answer = await put(sent);
      t.deepEqual(answer.body.data?.logo, shown, JSON.stringify(sent));
      t.deepEqual((await put(answer.body.data.logo)).body, answer.body, 'sent back as it was read');
    }
    const big = Buffer.alloc(1_048_577).toString('base64');
    const bad = [
      'x',
      5,
      [],
      true,
      { url: 'https://a.b', data: PNG, type: 'image/png' },
      { url: 'https://a.b', type: 'image/png' },
      { data: PNG },
      { type: 'image/png' },
      { file: '/etc/passwd' },
      { url: 'https://a.b', file: 'x' },
      { data: PNG, type: 'image/svg+xml' },
      { data: PNG, type: 'IMAGE/SVG+XML' },
      { data: PNG, type: 'text/html' },
      { data: PNG, type: 'image/png\nx' },
      { data: 'no base64!', type: 'image/png' },
      { data: big, type: 'image/png' },
      { data: 5, type: 'image/png' },
      { url: 'javascript://x' },
      { url: '/logo.png' },
      { url: 'https://a;sandbox/logo.png' },
      { url: 'https://a,b/logo.png' },
      { url: 'https://*/logo.png' },
      { url: 'https://a.b\0' },
      { url: 5 },
    ];
    for (const logo of bad) {
      const answer = await put(logo);
      t.deepEqual(
        [answer.status, answer.body],
        [422, refused({ logo: invalid })],
        JSON.stringify(logo).slice(0, 80),
      );
    }
    const greatest = { data: Buffer.alloc(1_048_576).toString('base64'), type: 'image/gif' };
    t.is((await put(greatest)).status, 200);
  });
}
