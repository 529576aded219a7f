// Signing in again while signed in: by one's own way, and back. docs/api.md#sign-in.

import test from 'ava';
import { methodOf } from '../../../../lib/auth/identity/method.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { openProvider, samlMetadata } from '../../../support/auth/identity-provider.ts';
import { configure, visit } from '../../../support/web/portal.ts';
import { openServer } from '../../../support/api/server.ts';
import { PASSWORD, personOf } from '../../../support/web/visitor.ts';

const ANN = 'ann@example.com';

for (const kind of firstKind()) {
  test(`${kind}: the password renews the VPN session and leads back`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const before = (await personOf(server.database, ANN)).last_signed_in_at?.getTime() ?? 0;
    const secret = ann.cookies.get('postern-session');
    const form = await ann.get('/sign_in_again?return_to=/user_devices?x=1');
    t.regex(form.text, /name="return_to" value="\/user_devices\?x=1"/);
    t.true(form.text.includes(`value="${ANN}"`));
    const fields = { email: ANN, password: PASSWORD, return_to: '/user_devices?x=1' };
    const answer = await ann.post('/auth/identity/callback', fields);
    t.is(answer.location, '/user_devices?x=1');
    t.not(ann.cookies.get('postern-session'), secret);
    const after = (await personOf(server.database, ANN)).last_signed_in_at?.getTime() ?? 0;
    t.true(after > before);
    t.is(await server.database.models.Session.count(), 1, 'the session of before is gone');
  });

  test(`${kind}: cancelling leads to a page that does not ask the same again`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN, 'admin');
    const rows: [asked: string, cancel: string][] = [
      ['/user_account/register_mfa', '/user_account'],
      ['/user_account/second_factors/1/remove', '/user_account'],
      ['/users/new', '/users'],
      ['/users?page=2', '/users?page=2'],
      ['/user_devices', '/user_devices'],
      ['/nothing/there', '/'],
    ];
    for (const [asked, cancel] of rows) {
      const query = new URLSearchParams({ why: 'recent', return_to: asked }).toString();
      const { text } = await ann.get(`/sign_in_again?${query}`);
      t.true(text.includes(`href="${cancel}">Cancel`), asked);
    }
  });

  test(`${kind}: after a wrong password the same question is asked again`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    await ann.get('/sign_in_again?why=recent&return_to=/user_account/register_mfa');
    const fields = { email: ANN, password: 'wrong', return_to: '/user_account/register_mfa' };
    const { status, text } = await ann.post('/auth/identity/callback', {
      ...fields,
      again: 'recent',
    });
    t.is(status, 401);
    t.regex(text, /To be sure that it is you/);
    t.regex(text, /Error signing in: user credentials are invalid/);
    t.regex(text, /href="\/user_account">Cancel/);
    t.regex(text, /name="return_to" value="\/user_account\/register_mfa"/);
    t.regex(text, /name="again" value="recent"/);
  });

  test(`${kind}: nobody is led out of here`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    for (const to of ['//evil.example', 'https://evil.example', '/\\evil.example']) {
      const { text } = await ann.get(`/sign_in_again?return_to=${encodeURIComponent(to)}`);
      t.false(text.includes('evil'), to);
      t.regex(text, /name="return_to" value="\/user_devices"/);
    }
  });

  test(`${kind}: whoever came from a provider goes there again, and elsewhere if it is gone`, async (t) => {
    const server = await openServer(t, kind);
    const provider = await openProvider(t);
    const ann = await visit(server, ANN);
    const shared = { label: 'Okta', auto_create_users: false };
    const openid = {
      ...shared,
      id: 'okta',
      client_id: 'c',
      client_secret: 's',
      discovery_document_uri: `${provider.origin}/x`,
    };
    const saml = { ...shared, id: 'adfs', label: 'ADFS', metadata: samlMetadata() };
    await configure(server, {
      openid_connect_providers: [openid],
      saml_identity_providers: [saml],
    });
    const offered = async () => {
      const { text } = await ann.get('/sign_in_again?return_to=/user_devices');
      return [
        text.includes('type="password"'),
        text.includes('href="/auth/oidc/okta?return_to=%2Fuser_devices"'),
        text.includes('href="/auth/saml/auth/signin/adfs?return_to=%2Fuser_devices"'),
      ];
    };
    t.deepEqual(await offered(), [true, false, false]);
    const { Session } = server.database.models;
    await Session.update({ method: methodOf('oidc', 'okta') }, { where: {} });
    t.deepEqual(await offered(), [false, true, false]);
    await Session.update({ method: methodOf('saml', 'adfs') }, { where: {} });
    t.deepEqual(await offered(), [false, false, true]);
    await Session.update({ method: methodOf('saml', 'okta') }, { where: {} });
    t.deepEqual(await offered(), [true, true, true]);
    await Session.update({ method: 'email' }, { where: {} });
    await configure(server, { local_auth_enabled: false });
    t.deepEqual(await offered(), [false, true, true]);
  });
}
