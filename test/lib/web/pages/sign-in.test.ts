// Signing in and out, by form. docs/api.md#sign-in.

import test from 'ava';
import { firstKind } from '../../../support/database/databases.ts';
import { openProvider, samlMetadata } from '../../../support/auth/identity-provider.ts';
import { openServer } from '../../../support/api/server.ts';
import { addPerson, personOf, Visitor } from '../../../support/web/visitor.ts';

const EMAIL = 'ann@example.com';

for (const kind of firstKind()) {
  test(`${kind}: e-mail and password sign a user in and lead to the page that was asked for`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = new Visitor(server);
    const asked = await visitor.get('/user_account?x=1');
    const form = await visitor.get(asked.location ?? '');
    t.regex(form.text, /name="return_to" value="\/user_account\?x=1"/);
    const answer = await visitor.signIn(` ${EMAIL.toUpperCase()} `, undefined, '/user_account?x=1');
    t.is(answer.status, 303);
    t.is(answer.location, '/user_account?x=1');
    t.is((await visitor.get('/user_account')).status, 200);
    t.is((await visitor.get('/')).location, '/user_devices');
    t.is((await personOf(server.database, EMAIL)).last_signed_in_method, 'email');
  });

  test(`${kind}: the browser is never led to another site`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    for (const to of ['//evil.example', 'https://evil.example', '/\\evil.example', '/\t/evil']) {
      const page = await new Visitor(server).get(`/?return_to=${encodeURIComponent(to)}`);
      t.false(page.text.includes('return_to'), to);
      t.is((await new Visitor(server).signIn(EMAIL, undefined, to)).location, '/', to);
    }
  });

  test(`${kind}: a refused form keeps the e-mail, as text, and never the password`, async (t) => {
    const server = await openServer(t, kind);
    const email = `"><script>alert(1)</script>@x`;
    const { text, status } = await new Visitor(server).signIn(email, 'mistyped password');
    t.is(status, 401);
    t.true(text.includes('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;@x"'));
    t.false(text.includes('mistyped'));
  });

  test(`${kind}: where there is no way to sign in the page says what makes one`, async (t) => {
    const server = await openServer(t, kind);
    const body = { configuration: { local_auth_enabled: false } };
    await server.send('PATCH', '/v0/configuration', { body });
    const { text } = await new Visitor(server).get('/');
    t.regex(text, /There is no way to sign in here/);
    t.regex(text, /<code>\S.*configuration set local_auth_enabled=true<\/code>/);
    const fixed = await openServer(t, kind, { LOCAL_AUTH_ENABLED: 'false' });
    const page = (await new Visitor(fixed).get('/')).text;
    t.regex(page, /<code>LOCAL_AUTH_ENABLED=true<\/code>/);
    t.notRegex(page, /configuration set/);
  });

  test(`${kind}: without local sign-in the page shows only the providers`, async (t) => {
    const server = await openServer(t, kind);
    const provider = await openProvider(t);
    await addPerson(server.database, EMAIL);
    const label = 'Okta <b>';
    const shared = { label, auto_create_users: false };
    const configuration = {
      local_auth_enabled: false,
      openid_connect_providers: [
        {
          ...shared,
          id: 'okta',
          client_id: 'c',
          client_secret: 's',
          discovery_document_uri: `${provider.origin}/x`,
        },
      ],
      saml_identity_providers: [{ ...shared, id: 'adfs', metadata: samlMetadata() }],
    };
    const saved = await server.send('PATCH', '/v0/configuration', { body: { configuration } });
    t.is(saved.status, 200, saved.text);
    const visitor = new Visitor(server);
    const { text } = await visitor.get('/?return_to=/user_account');
    t.false(text.includes('type="password"'));
    t.true(text.includes('href="/auth/oidc/okta?return_to=%2Fuser_account"'));
    t.true(text.includes('href="/auth/saml/auth/signin/adfs?return_to=%2Fuser_account"'));
    t.true(text.includes('Sign in with Okta &lt;b&gt;'));
    const off = await visitor.get('/auth/identity');
    t.is(off.status, 404);
    t.regex(off.text, /Local auth disabled/);
    for (const path of ['/auth/identity', '/auth/identity/callback']) {
      const answer = await visitor.post(path, { email: EMAIL, password: 'correct horse battery' });
      t.is(answer.status, 404);
    }
    visitor.headers['accept'] = '*/*';
    const plain = await visitor.get('/auth/identity');
    t.is(plain.text, 'Local auth disabled');
    t.is(plain.status, 404);
    t.is(await server.database.models.Session.count(), 0);
  });

  test(`${kind}: when a session has ended, the user reads so and returns to the page of the form`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = new Visitor(server);
    await visitor.signIn(EMAIL);
    await visitor.get('/user_account/change_password');
    await server.database.models.Session.destroy({ where: {} });
    visitor.headers['referer'] = 'http://127.0.0.1:13000/user_account/change_password?x=1';
    const sent = await visitor.post('/user_account/change_password', { password: 'x' });
    const back = encodeURIComponent('/user_account/change_password?x=1');
    t.is(sent.location, `/?return_to=${back}&why=ended`);
    const { text } = await visitor.get(sent.location ?? '');
    t.regex(text, /You were signed out/);
    t.regex(text, /data-asks-again/);
    t.is((await visitor.get('/user_account')).location, '/?return_to=%2Fuser_account&why=ended');
    // A question before a write is shown where its form was sent to, which only takes forms.
    visitor.headers['referer'] = 'http://127.0.0.1:13000/user_account/change_password/x/y?z=/';
    const question = await visitor.post('/user_account/change_password');
    t.is(question.location, '/?return_to=%2Fuser_account%2Fchange_password&why=ended');
    for (const referer of [
      'http://evil.example/user_devices',
      'http://127.0.0.1:13000//evil',
      'x',
    ]) {
      visitor.headers['referer'] = referer;
      t.is((await visitor.post('/user_account/change_password')).location, '/?why=ended', referer);
    }
    delete visitor.headers['referer'];
    t.notRegex((await visitor.get('/')).text, /You were signed out/);
  });

  test(`${kind}: signing out ends the session, by form and by DELETE`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    for (const method of ['POST', 'DELETE']) {
      const visitor = new Visitor(server);
      await visitor.signIn(EMAIL);
      await visitor.get('/user_account');
      const secret = visitor.cookies.get('postern-session') ?? '';
      const answer = await visitor.send(method, '/sign_out', { csrf_token: visitor.token });
      t.is(answer.status, 303);
      t.is(answer.location, '/');
      t.regex((await visitor.get('/')).text, /You are signed out\./);
      visitor.cookies.set('postern-session', secret);
      t.is((await visitor.get('/user_account')).status, 302, 'the cookie no longer works');
    }
    t.is((await new Visitor(server).get('/sign_out')).status, 404, 'a link signs nobody out');
  });
}
