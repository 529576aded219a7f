// Signing in through OpenID, page by page: with a certified provider over real HTTP, with bad ones,
// and with none at all.

import test, { type ExecutionContext } from 'ava';
import { Secret, TOTP } from 'otpauth';
import { addSecondFactor } from '../../../../lib/auth/second-factors.ts';
import { type OpenidConnectProvider, writeTransaction } from '../../../../models/index.ts';
import { type BadProvider, openBadProvider } from '../../../support/auth/bad-openid-provider.ts';
import { firstKind, type TestDatabaseKind } from '../../../support/database/databases.ts';
import { openRealProvider, Person } from '../../../support/auth/openid-provider.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { addPerson, personOf, Visitor } from '../../../support/web/visitor.ts';

const HOME = 'http://127.0.0.1:13000/';
const CALLBACK = `${HOME}auth/oidc/okta/callback/`;
const EMAIL = 'alice@example.com';
const SECRET = new Secret({ size: 20 }).base32;

async function configure(
  t: ExecutionContext,
  server: TestServer,
  configuration: Record<string, unknown>,
): Promise<void> {
  const saved = await server.send('PATCH', '/v0/configuration', { body: { configuration } });
  t.is(saved.status, 200, saved.text);
}

async function withProvider(
  t: ExecutionContext,
  kind: TestDatabaseKind,
  changes: Partial<OpenidConnectProvider> = {},
  settings: Record<string, string> = {},
): Promise<{ server: TestServer; idp: BadProvider }> {
  const server = await openServer(t, kind, settings);
  const idp = await openBadProvider(t);
  const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri, ...changes });
  await configure(t, server, { openid_connect_providers: [entry] });
  return { server, idp };
}

/** From the link to the answer of the callback. */
async function signIn(visitor: Visitor, idp: BadProvider, path = '/auth/oidc/okta') {
  const begun = await visitor.get(path);
  const query = idp.authorize(begun.location ?? '');
  return visitor.get(`/auth/oidc/okta/callback/?${query.toString()}`);
}

for (const kind of firstKind()) {
  test(`${kind}: a person signs in at a real provider, and out again, there too`, async (t) => {
    const server = await openServer(t, kind);
    const idp = await openRealProvider(t, { redirectUris: [CALLBACK], postLogoutUris: [HOME] });
    idp.people.set('alice', { email: EMAIL, email_verified: true });
    const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri });
    await configure(t, server, { openid_connect_providers: [entry] });
    const visitor = new Visitor(server);
    const person = new Person('alice');
    const begun = await visitor.get('/auth/oidc/okta?return_to=/user_account');
    t.is(begun.status, 302);
    const back = await person.visit(begun.location ?? '', HOME);
    t.true(back.startsWith(CALLBACK));
    const done = await visitor.get(back.slice(HOME.length - 1));
    t.is(done.status, 303, done.text);
    t.is(done.location, '/user_account');
    t.true((await visitor.get('/user_account')).text.includes(EMAIL));
    const user = await personOf(server.database, EMAIL);
    t.is(user.last_signed_in_method, 'okta');
    t.truthy(user.last_signed_in_at);
    t.is(user.role, 'unprivileged');

    const left = await visitor.post('/sign_out');
    t.is(left.status, 200);
    const [, address = ''] = /^0;url=(.*)$/.exec(String(left.headers['refresh'])) ?? [];
    t.true(address.startsWith(`${idp.origin}/session/end?`));
    t.is(await person.visit(address, HOME), HOME, 'the provider sends the browser home');
    t.is((await visitor.get('/user_account')).status, 302);
  });

  test(`${kind}: the callback serves with and without its last slash, once`, async (t) => {
    const { server, idp } = await withProvider(t, kind);
    for (const end of ['/callback/', '/callback']) {
      const visitor = new Visitor(server);
      const { location } = await visitor.get('/auth/oidc/okta');
      const path = `/auth/oidc/okta${end}?${idp.authorize(location ?? '').toString()}`;
      t.is((await visitor.get(path)).status, 303);
      const again = await visitor.get(path);
      t.is(again.status, 403);
      t.regex(again.text, /took too long, was used already or began elsewhere/);
    }
  });

  test(`${kind}: a sign-in that another browser began is refused`, async (t) => {
    const { server, idp } = await withProvider(t, kind);
    const { location } = await new Visitor(server).get('/auth/oidc/okta');
    const victim = new Visitor(server);
    const query = idp.authorize(location ?? '').toString();
    const answer = await victim.get(`/auth/oidc/okta/callback/?${query}`);
    t.is(answer.status, 403);
    t.regex(answer.text, /began in another browser/);
    t.is((await victim.get('/user_account')).status, 302, 'not signed in');
    t.is(server.services.counters.of('sign_ins', 'oidc_other_browser'), 1);
  });

  test(`${kind}: who is not known gets in only where the entry says so`, async (t) => {
    const { server, idp } = await withProvider(t, kind, { auto_create_users: false });
    const answer = await signIn(new Visitor(server), idp);
    t.is(answer.status, 403);
    t.true(answer.text.includes('Error signing in: user not found and auto_create_users disabled'));
    t.is(server.services.counters.of('sign_ins', 'oidc_user_unknown'), 1);
  });

  test(`${kind}: the session has a new secret, and what was planted before is void`, async (t) => {
    const { server, idp } = await withProvider(t, kind);
    const visitor = new Visitor(server);
    visitor.cookies.set('postern-session', 'f'.repeat(43));
    t.is((await signIn(visitor, idp)).status, 303);
    const first = visitor.cookies.get('postern-session');
    t.not(first, 'f'.repeat(43));
    t.is((await signIn(visitor, idp)).status, 303);
    t.not(visitor.cookies.get('postern-session'), first);
    t.is(await server.database.models.Session.count(), 1);
  });

  test(`${kind}: a second factor is asked for after a provider too`, async (t) => {
    const { server, idp } = await withProvider(t, kind);
    const visitor = new Visitor(server);
    await signIn(visitor, idp);
    const [user] = await server.database.models.User.findAll({ order: [['id', 'DESC']] });
    const factor = { userId: String(user?.id), name: 'phone', secret: SECRET, step: 0 };
    await writeTransaction(server.database, (transaction) =>
      addSecondFactor(server.database, factor, transaction),
    );
    const before = user?.last_signed_in_at?.getTime();
    t.is((await signIn(visitor, idp)).location, '/mfa/auth');
    t.is((await visitor.get('/user_account')).location, '/mfa/auth');
    await user?.reload();
    t.is(user?.last_signed_in_at?.getTime(), before, 'not signed in yet');
    await visitor.get('/mfa/auth');
    const code = new TOTP({ secret: Secret.fromBase32(SECRET) }).generate();
    t.is((await visitor.post('/mfa/auth', { code })).status, 303);
    t.is((await visitor.get('/user_account')).status, 200);
    await user?.reload();
    t.is(user?.last_signed_in_method, 'okta');
    t.true((user?.last_signed_in_at?.getTime() ?? 0) > (before ?? 0));
  });

  test(`${kind}: a user whom the provider disabled gets in there alone, and is enabled`, async (t) => {
    const { server, idp } = await withProvider(t, kind);
    await addPerson(server.database, 'person@example.com', {
      disabled_at: new Date(),
      disabled_by: 'provider',
      disabled_provider: 'oidc/okta',
    });
    const visitor = new Visitor(server);
    t.is((await visitor.signIn('person@example.com')).status, 401);
    t.is((await signIn(visitor, idp)).status, 303);
    t.is((await personOf(server.database, 'person@example.com')).disabled_at, null);
  });

  test(`${kind}: a user whom an administrator disabled, or another provider, stays out`, async (t) => {
    const { server, idp } = await withProvider(t, kind);
    const causes = [
      { disabled_by: 'administrator', disabled_provider: null },
      { disabled_by: 'provider', disabled_provider: 'saml/okta' },
    ] as const;
    for (const [i, cause] of causes.entries()) {
      const email = `p${i}@example.com`;
      await addPerson(server.database, email, { disabled_at: new Date(), ...cause });
      idp.bent.claims = { email, sub: `p${i}` };
      const answer = await signIn(new Visitor(server), idp);
      t.is(answer.status, 403);
      t.regex(answer.text, /disabled/);
      t.truthy((await personOf(server.database, email)).disabled_at);
      t.is(server.services.counters.of('sign_ins', 'oidc_shut_out'), i + 1);
    }
  });

  test(`${kind}: a provider that is changed, or added, serves without a restart`, async (t) => {
    const { server, idp } = await withProvider(t, kind);
    const other = await openBadProvider(t);
    const entry = oidcEntry({ discovery_document_uri: other.discoveryUri, id: 'new' });
    t.is((await new Visitor(server).get('/auth/oidc/new')).status, 404);
    await configure(t, server, { openid_connect_providers: [entry] });
    const { location } = await new Visitor(server).get('/auth/oidc/new');
    t.true(location?.startsWith(`${other.origin}/authorize?`));
    t.is((await new Visitor(server).get('/auth/oidc/okta')).status, 404);
    t.truthy(idp);
  });
}

test('a provider that is away is a clear page with an id, and everything else works', async (t) => {
  const { server, idp } = await withProvider(t, 'sqlite');
  idp.bent.document = { issuer: 7 };
  const visitor = new Visitor(server);
  const answer = await visitor.get('/auth/oidc/okta');
  t.is(answer.status, 502);
  t.regex(answer.text, /cannot be reached/);
  t.true(answer.text.includes(String(answer.headers['x-request-id'])));
  await addPerson(server.database, EMAIL);
  t.is((await visitor.signIn(EMAIL)).status, 303);
  const [line] = server.log.filter(({ message }) => message.includes('through a provider'));
  t.like(line?.fields, { kind: 'oidc', provider: 'okta', reason: 'provider_unreachable' });
  t.false(JSON.stringify(server.log).includes('"stack"'), 'strangers cause no stack traces');
});

test('a provider that is away keeps nobody from signing out here', async (t) => {
  const { server, idp } = await withProvider(t, 'sqlite');
  const visitor = new Visitor(server);
  await signIn(visitor, idp);
  await visitor.get('/user_account');
  await server.database.sequelize.query("UPDATE identity_tokens SET tokens = '1:x:y'");
  const left = await visitor.post('/sign_out');
  t.is(left.status, 303);
  t.is(left.location, '/');
  t.is(await server.database.models.Session.count(), 0);
});

test('garbage, a refusal and a time-out at the token endpoint are clear pages', async (t) => {
  const { server, idp } = await withProvider(t, 'sqlite');
  const rows: [answer: BadProvider['bent']['answer'], status: number][] = [
    [(response) => void response.end('<html>the-secret-text'), 502],
    [(response) => void response.writeHead(503).end(), 502],
    [(response) => void response.destroy(), 502],
    [
      (response) =>
        void response
          .writeHead(400, { 'content-type': 'application/json' })
          .end('{"error":"invalid_grant","error_description":"the-secret-text"}'),
      403,
    ],
  ];
  for (const [answer, status] of rows) {
    idp.bent.answer = answer;
    const page = await signIn(new Visitor(server), idp);
    t.is(page.status, status);
    t.regex(page.text, /identity provider/);
  }
  t.notRegex(JSON.stringify(server.log), /the-secret-text|the-code|the-access-token/);
});

test('an administrator is not taken over by an e-mail that nobody vouches for', async (t) => {
  const { server, idp } = await withProvider(t, 'sqlite');
  idp.bent.claims = { email: 'admin@example.com', email_verified: undefined };
  const answer = await signIn(new Visitor(server), idp);
  t.is(answer.status, 403);
  t.regex(answer.text, /does not vouch/);
  idp.bent.claims = { email: 'admin@example.com', email_verified: true };
  t.is((await signIn(new Visitor(server), idp)).status, 303);
});

test('an address beyond the limit has to wait', async (t) => {
  const { server } = await withProvider(t, 'sqlite', {}, { API_RATE_LIMIT: '1000' });
  const visitor = new Visitor(server);
  const statuses = new Set<number>();
  for (let i = 0; i < 260; i += 1) statuses.add((await visitor.get('/auth/oidc/none')).status);
  t.deepEqual(
    [...statuses].toSorted((a, b) => a - b),
    [404, 429],
  );
});

test('nobody is led elsewhere after signing in', async (t) => {
  const { server, idp } = await withProvider(t, 'sqlite');
  for (const to of ['//evil.example', 'https://evil.example/', '/\\evil.example']) {
    const path = `/auth/oidc/okta?return_to=${encodeURIComponent(to)}`;
    t.is((await signIn(new Visitor(server), idp, path)).location, '/');
  }
});
