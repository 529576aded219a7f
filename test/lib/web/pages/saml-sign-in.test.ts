// Signing in through SAML, page by page: with a provider that others wrote, over real HTTP, and with
// one that lies.

import { deflateRawSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { parseXml } from '../../../../lib/auth/saml/xml.ts';
import { serviceProvider } from '../../../../lib/auth/saml/service-provider.ts';
import type { SamlIdentityProvider, User } from '../../../../models/index.ts';
import {
  answerXml,
  base64,
  BOTH,
  denial,
  goodWords,
  idpMetadata,
  requestIn,
  type Said,
} from '../../../support/auth/bad-saml-provider.ts';
import { firstKind, type TestDatabaseKind } from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { formIn } from '../../../support/auth/openid-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import { addressedLogout, logoutXml, postedLogout } from '../../../support/auth/saml-logout.ts';
import { openSamlProvider } from '../../../support/auth/saml-provider.ts';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { addPerson, personOf, type Shown, Visitor } from '../../../support/web/visitor.ts';

/** Enough for what a test reads. */
const LIMITS = { characters: 100_000, tags: 1_000, attributes: 1_000 };
const HOME = 'http://127.0.0.1:13000/';
const CONSUME = '/auth/saml/sp/consume/saml-idp';
const BEGIN = '/auth/saml/auth/signin/saml-idp';
const EMAIL = 'person@example.com';

async function configure(
  t: ExecutionContext,
  server: TestServer,
  changes: Partial<SamlIdentityProvider>,
  configuration: Record<string, unknown> = {},
): Promise<void> {
  const { base_url: _default, ...entry } = samlEntry({
    metadata: idpMetadata(signOnService()),
    ...changes,
  });
  const saml_identity_providers = [{ ...entry, ...changes }];
  const saved = await server.send('PATCH', '/v0/configuration', {
    body: { configuration: { saml_identity_providers, ...configuration } },
  });
  t.is(saved.status, 200, saved.text);
}

async function withProvider(
  t: ExecutionContext,
  kind: TestDatabaseKind = 'sqlite',
  changes: Partial<SamlIdentityProvider> = {},
  configuration: Record<string, unknown> = {},
  settings: Record<string, string> = {},
): Promise<TestServer> {
  const server = await openServer(t, kind, settings);
  await configure(t, server, changes, configuration);
  return server;
}

/** Posts as the provider's page does: from another site, so with no cookies of ours. */
function postFromElsewhere(
  server: TestServer,
  path: string,
  fields: Record<string, string>,
  cookies: Visitor['cookies'] = new Map(),
): Promise<Shown> {
  const stranger = new Visitor(server);
  for (const [name, value] of cookies) stranger.cookies.set(name, value);
  stranger.headers = {
    ...stranger.headers,
    origin: 'https://idp.example',
    'sec-fetch-site': 'cross-site',
  };
  return stranger.send('POST', path, fields);
}

interface Answered {
  said?: Partial<Said>;
  /** The address that the provider knows of us. */
  consume?: string;
}

/** From the link to the form of the provider's page. */
async function answer(
  visitor: Visitor,
  { said = {}, consume = `${HOME.slice(0, -1)}${CONSUME}` }: Answered = {},
): Promise<Record<string, string>> {
  const begun = await visitor.get(`${BEGIN}?return_to=/user_account`);
  const { id, query } = requestIn(begun.location ?? '');
  const inner = said.status === undefined ? undefined : '';
  const xml = answerXml({ ...goodWords(id, consume), ...said }, BOTH, inner);
  return { SAMLResponse: base64(xml), RelayState: query.get('RelayState') ?? '' };
}

async function signIn(
  server: TestServer,
  visitor: Visitor,
  answered: Answered = {},
): Promise<Shown> {
  const posted = await postFromElsewhere(server, CONSUME, await answer(visitor, answered));
  if (posted.location === null) return posted;
  return visitor.get(posted.location);
}

for (const kind of firstKind()) {
  test(`${kind}: a person signs in at a provider that others wrote`, async (t) => {
    const server = await openServer(t, kind);
    const { config, database } = server.services;
    const { key } = await serviceProvider(config, database);
    const idp = await openSamlProvider(t, `${HOME.slice(0, -1)}${CONSUME}`, key);
    await configure(t, server, { metadata: idp.metadata });
    const visitor = new Visitor(server);
    const begun = await visitor.get(`${BEGIN}?return_to=/user_account`);
    t.is(begun.status, 302);
    const page = await (await fetch(begun.location ?? '')).text();
    const form = formIn(page, begun.location ?? '');
    t.is(form?.action, `${HOME.slice(0, -1)}${CONSUME}`, page);
    const posted = await postFromElsewhere(server, CONSUME, form?.fields ?? {});
    t.is(posted.status, 303, posted.text);
    t.is(posted.headers['set-cookie'], undefined, 'no session where nobody can tell whose');
    const done = await visitor.get(posted.location ?? '');
    t.is(done.status, 303, done.text);
    t.is(done.location, '/user_account');
    t.true((await visitor.get('/user_account')).text.includes(EMAIL));
    const user = await personOf(database, EMAIL);
    t.is(user.last_signed_in_method, 'saml-idp');
  });

  test(`${kind}: an answer, and the page after it, serve once and in one browser`, async (t) => {
    const server = await withProvider(t, kind);
    const visitor = new Visitor(server);
    const fields = await answer(visitor);
    const posted = await postFromElsewhere(server, CONSUME, fields);
    t.is(posted.status, 303);
    const replayed = await postFromElsewhere(server, CONSUME, fields);
    t.is(replayed.status, 403);
    const other = await new Visitor(server).get(posted.location ?? '');
    t.is(other.status, 403);
    t.regex(other.text, /another browser/);
    t.is((await visitor.get(posted.location ?? '')).status, 403, 'used up by whoever tried');
    t.is((await signIn(server, visitor)).status, 303);
    t.is(server.services.counters.of('sign_ins', 'saml_other_browser'), 1);
  });

  test(`${kind}: a denial shuts out whom it was asked about, where the setting says so`, async (t) => {
    const flags = { signed_assertion_in_resp: false };
    for (const isOn of [false, true]) {
      const server = await withProvider(t, kind, flags, { disable_vpn_on_oidc_error: isOn });
      const visitor = new Visitor(server);
      t.is((await signIn(server, visitor)).status, 303);
      const denied = { said: { status: denial('AuthnFailed') } };
      const page = await signIn(server, visitor, denied);
      t.is(page.status, 403);
      const user = await personOf(server.database, EMAIL);
      t.is(user.disabled_by, isOn ? 'provider' : null);
      t.is(user.disabled_provider, isOn ? 'saml/saml-idp' : null);
      t.is((await visitor.get('/user_account')).status, isOn ? 302 : 200);
      t.is((await signIn(server, visitor)).status, 303, 'signing in there enables them');
      t.is((await personOf(server.database, EMAIL)).disabled_at, null);
    }
  });

  test(`${kind}: a denial of a question that another site began disables nobody`, async (t) => {
    const flags = { signed_assertion_in_resp: false };
    const server = await withProvider(t, kind, flags, { disable_vpn_on_oidc_error: true });
    const visitor = new Visitor(server);
    t.is((await signIn(server, visitor)).status, 303);
    const denied = { said: { status: denial('AuthnFailed') } };
    const own = visitor.headers;
    const denyAsked = async (site: string): Promise<string | null> => {
      visitor.headers = { ...own, 'sec-fetch-site': site };
      t.is((await signIn(server, visitor, denied)).status, 403);
      return (await personOf(server.database, EMAIL)).disabled_by;
    };
    for (const site of ['cross-site', 'same-site']) t.is(await denyAsked(site), null, site);
    visitor.headers = own;
    t.is((await visitor.get('/user_account')).status, 200);
    t.is(await denyAsked('same-origin'), 'provider');
  });

  test(`${kind}: a denial counts for nobody else`, async (t) => {
    const server = await withProvider(
      t,
      kind,
      { signed_assertion_in_resp: false, signed_envelopes_in_resp: false },
      { disable_vpn_on_oidc_error: true },
    );
    const status = denial('AuthnFailed');
    // Nobody was signed in.
    await signIn(server, new Visitor(server));
    t.is((await signIn(server, new Visitor(server), { said: { status } })).status, 403);
    // Somebody was, who signs in by password.
    const other = new Visitor(server);
    await addPerson(server.database, 'local@example.com');
    await other.signIn('local@example.com');
    t.is((await signIn(server, other, { said: { status } })).status, 403);
    // The provider's own trouble.
    const visitor = new Visitor(server);
    await signIn(server, visitor);
    const trouble = { said: { status: denial('RequestUnsupported') } };
    t.is((await signIn(server, visitor, trouble)).status, 403);
    const users: User[] = await server.database.models.User.findAll();
    t.true(users.every(({ disabled_at }) => disabled_at === null));
  });
}

test('who is signed in must prove themselves again; who is not need not', async (t) => {
  const server = await withProvider(t);
  const visitor = new Visitor(server);
  t.notRegex(requestIn((await visitor.get(BEGIN)).location ?? '').xml, /ForceAuthn/);
  await signIn(server, visitor);
  t.regex(requestIn((await visitor.get(BEGIN)).location ?? '').xml, /ForceAuthn="true"/);
});

test('a sign-in counts from when the person proved it at the provider', async (t) => {
  const server = await withProvider(t);
  const statements = (at: number | null) =>
    `<a:AuthnStatement${at === null ? '' : ` AuthnInstant="${new Date(at).toISOString()}"`}/>`;
  // Whoever finds the browser signs out first, so that we do not ask the provider to ask them.
  const isRecent = async (visitor: Visitor, at: number | null): Promise<boolean> => {
    t.is((await signIn(server, visitor, { said: { statements: statements(at) } })).status, 303);
    return (await visitor.get('/user_account/register_mfa')).status === 200;
  };
  t.true(await isRecent(new Visitor(server), Date.now() - 60_000));
  t.true(await isRecent(new Visitor(server), Date.now() + 30_000), 'a clock that is ahead');
  const found = new Visitor(server);
  t.false(await isRecent(found, Date.now() - 3_600_000), 'the provider asked for nothing');
  t.false(await isRecent(found, Date.now() - 3_600_000), 'nor when it was asked to');
  t.false(await isRecent(new Visitor(server), null), 'it does not say when');
  const asked = new Visitor(server);
  await isRecent(asked, null);
  t.true(await isRecent(asked, null), 'it was asked to have them prove it');
});

test('sign-in begins by a form too, from wherever', async (t) => {
  const server = await withProvider(t);
  const page = await postFromElsewhere(server, BEGIN, {});
  t.is(page.status, 200);
  t.regex(String(page.headers['refresh']), /^0;url=https:\/\/idp\.example\/sso\?SAMLRequest=/);
});

test('a provider that takes forms only gets one, and the policy lets it go there', async (t) => {
  const metadata = idpMetadata(signOnService('HTTP-POST', 'https://idp.example/post'));
  const server = await withProvider(t, 'sqlite', { metadata });
  const page = await new Visitor(server).get(BEGIN);
  t.is(page.status, 200);
  const form = formIn(page.text, HOME);
  t.is(form?.action, 'https://idp.example/post');
  const csp = String(page.headers['content-security-policy']);
  t.regex(csp, /form-action 'self' https: http:/);
  t.regex(csp, /script-src 'self';/);
  t.notRegex(page.text, /<script>|onload/);
  const request = page.text.match(/name="SAMLRequest" value="([^"]+)"/)?.[1] ?? '';
  t.is(parseXml(Buffer.from(request, 'base64').toString(), LIMITS).localName, 'AuthnRequest');
});

test('our metadata are there for everybody, under the address that base_url names', async (t) => {
  const base_url = 'https://vpn.example/auth/saml';
  const server = await withProvider(t, 'sqlite', { base_url });
  const page = await new Visitor(server).get('/auth/saml/sp/metadata/saml-idp');
  t.is(page.status, 200);
  t.regex(String(page.headers['content-type']), /^application\/samlmetadata\+xml/);
  t.is(parseXml(page.text, LIMITS).getAttribute('entityID'), 'urn:firezone.dev:firezone-app');
  t.true(page.text.includes(`${base_url}/sp/consume/saml-idp`));
  const visitor = new Visitor(server);
  const consume = `${base_url}/sp/consume/saml-idp`;
  t.is((await signIn(server, visitor, { consume })).status, 303);
  t.is((await signIn(server, visitor)).status, 502, 'not under the one of before');
});

test('with https the posted answer must come with the cookie', async (t) => {
  const settings = { EXTERNAL_URL: 'https://vpn.example/' };
  const server = await withProvider(t, 'sqlite', {}, {}, settings);
  const consume = 'https://vpn.example/auth/saml/sp/consume/saml-idp';
  const visitor = new Visitor(server);
  visitor.headers['host'] = 'vpn.example';
  const without = await postFromElsewhere(server, CONSUME, await answer(visitor, { consume }));
  t.is(without.status, 403);
  t.regex(without.text, /another browser/);
  const fields = await answer(visitor, { consume });
  const cookie = '__Host-postern-sign-in';
  const sent = new Map([[cookie, visitor.cookies.get(cookie) ?? '']]);
  const posted = await postFromElsewhere(server, CONSUME, fields, sent);
  t.is(posted.status, 303, posted.text);
  t.is((await visitor.get(posted.location ?? '')).location, '/user_account');
});

test('what a provider may not do is refused on the page too', async (t) => {
  const server = await withProvider(t);
  const unasked = { SAMLResponse: base64('<x/>'), RelayState: '' };
  t.is((await postFromElsewhere(server, CONSUME, unasked)).status, 403);
  t.is((await postFromElsewhere(server, CONSUME, {})).status, 403);
  t.is((await postFromElsewhere(server, '/auth/saml/sp/consume/none', unasked)).status, 404);
  t.is((await new Visitor(server).get(CONSUME)).status, 404);
  const visitor = new Visitor(server);
  const lied = await signIn(server, visitor, { said: { audience: 'urn:the-secret-text' } });
  t.is(lied.status, 502);
  t.regex(lied.text, /is not valid/);
  t.is(server.services.counters.of('sign_ins', 'saml_answer_invalid'), 1);
  t.notRegex(JSON.stringify(server.log), /the-secret-text|person@example/);
  const large = { ...unasked, SAMLResponse: 'A'.repeat(1_100_000) };
  t.is((await postFromElsewhere(server, CONSUME, large)).status, 413);
});

test('an administrator is taken over by no SAML provider that nobody marked', async (t) => {
  const server = await withProvider(t);
  const page = await signIn(server, new Visitor(server), { said: { nameId: 'admin@example.com' } });
  t.is(page.status, 403);
  t.regex(page.text, /does not vouch/);
});

test('a provider that signs a person out ends their sessions of it, and no others', async (t) => {
  const server = await withProvider(t);
  const visitor = new Visitor(server);
  await signIn(server, visitor);
  const user = await personOf(server.database, EMAIL);
  await server.database.models.Session.create({
    user_id: user.id,
    sha256: 'a'.repeat(64),
    state: 'open',
    method: 'email',
    inserted_at: new Date(),
    seen_at: new Date(),
  });
  const path = '/auth/saml/sp/logout/saml-idp';
  const query = addressedLogout({ destination: `${HOME.slice(0, -1)}${path}`, name: EMAIL });
  t.is((await new Visitor(server).get(`${path}?${query}&RelayState=x`)).status, 403);
  t.is((await visitor.get('/user_account')).status, 200, 'still there');
  const done = await new Visitor(server).get(`${path}?${query}`);
  t.is(done.status, 303);
  t.is((await visitor.get('/user_account')).status, 302, 'signed out');
  t.is(await server.database.models.Session.count(), 1);
  t.is((await new Visitor(server).get(path)).location, '/');
});

const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
const LOGOUT = '/auth/saml/sp/logout/saml-idp';
const SLO =
  '<SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo"/>';
const MAIL = `<a:AttributeStatement><a:Attribute Name="mail"><a:AttributeValue>${EMAIL}</a:AttributeValue></a:Attribute></a:AttributeStatement>`;

test('a name that changes each time is signed out too, that session alone', async (t) => {
  const server = await withProvider(t);
  const browsers = [new Visitor(server), new Visitor(server)];
  for (const [i, browser] of browsers.entries()) {
    const said = { nameId: `_transient${i}`, format: TRANSIENT, attributes: MAIL };
    t.is((await signIn(server, browser, { said })).status, 303);
  }
  const destination = `${HOME.slice(0, -1)}${LOGOUT}`;
  const open = async () =>
    Promise.all(browsers.map(async (one) => (await one.get('/user_account')).status));
  const send = async (index: string) => {
    const query = addressedLogout({ destination, name: '_transient0', format: TRANSIENT, index });
    return (await new Visitor(server).get(`${LOGOUT}?${query}`)).status;
  };
  t.is(await send('another'), 303);
  t.deepEqual(await open(), [200, 200], 'another session of the provider');
  t.is(await send('s1'), 303);
  t.deepEqual(await open(), [302, 200]);
});

test('a request to sign out is answered by a redirect, in a form too: it may stand in a frame', async (t) => {
  const server = await withProvider(t, 'sqlite', { metadata: idpMetadata(signOnService() + SLO) });
  const destination = `${HOME.slice(0, -1)}${LOGOUT}`;
  const done = await new Visitor(server).get(
    `${LOGOUT}?${addressedLogout({ destination, name: EMAIL })}`,
  );
  t.is(done.status, 303);
  t.regex(done.location ?? '', /^https:\/\/idp\.example\/slo\?SAMLResponse=/);
  const SAMLRequest = postedLogout({ destination, name: EMAIL });
  const posted = await postFromElsewhere(server, LOGOUT, { SAMLRequest });
  t.is(posted.status, 303);
  t.regex(posted.location ?? '', /^https:\/\/idp\.example\/slo\?SAMLResponse=/);
});

test('a request that nobody signed ends the session of this browser at most', async (t) => {
  const server = await withProvider(t);
  const [asked, other] = [new Visitor(server), new Visitor(server)];
  for (const one of [asked, other]) await signIn(server, one);
  const xml = logoutXml({ destination: `${HOME.slice(0, -1)}${LOGOUT}`, name: EMAIL });
  const fields = { SAMLRequest: deflateRawSync(xml).toString('base64') };
  const query = new URLSearchParams(fields).toString();
  const page = await asked.get(`${LOGOUT}?${query}`);
  t.is(page.status, 403);
  t.regex(page.text, /Signed out here/);
  t.regex(page.text, /must be signed/);
  t.notRegex(page.text, /Sign-in failed/);
  t.is((await asked.get('/user_account')).status, 302);
  t.is((await other.get('/user_account')).status, 200);
  const stranger = await new Visitor(server).get(`${LOGOUT}?${query}`);
  t.is(stranger.status, 403);
  t.regex(stranger.text, /Sign-out refused/);
  const local = new Visitor(server);
  await addPerson(server.database, 'local@example.com');
  await local.signIn('local@example.com');
  t.regex((await local.get(`${LOGOUT}?${query}`)).text, /Sign-out refused/);
  t.is((await local.get('/user_account')).status, 200, 'begun by a password');
  t.is(server.services.counters.of('sign_ins', 'saml_signed_out_here'), 1);
  t.is(server.services.counters.of('sign_ins', 'saml_sign_out_refused'), 2);
  t.regex(JSON.stringify(server.log), /the request is not signed/);
});

test('a form that nobody signed ends the session of this browser too, though no cookie comes with it', async (t) => {
  const server = await withProvider(t);
  const asked = new Visitor(server);
  await signIn(server, asked);
  const xml = logoutXml({ destination: `${HOME.slice(0, -1)}${LOGOUT}`, name: EMAIL });
  const posted = await postFromElsewhere(server, LOGOUT, { SAMLRequest: base64(xml) });
  t.is(posted.status, 303);
  t.regex(JSON.stringify(server.log), /the request is not signed/);
  const page = await asked.get(posted.location ?? '');
  t.is(page.status, 403);
  t.regex(page.text, /Signed out here/);
  t.regex(page.text, /must be signed/);
  t.is((await asked.get('/user_account')).status, 302);
});
