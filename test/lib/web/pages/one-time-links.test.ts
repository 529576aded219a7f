// What is behind a one-time link, page by page: a password, a second factor, or a provider that
// must name the very person of the link.

import test, { type ExecutionContext } from 'ava';
import { Secret, TOTP } from 'otpauth';
import { makeLink } from '../../../../lib/auth/one-time-links.ts';
import { addSecondFactor } from '../../../../lib/auth/second-factors.ts';
import {
  type LinkPurpose,
  readAuditEntries,
  type User,
  writeTransaction,
} from '../../../../models/index.ts';
import { type BadProvider, openBadProvider } from '../../../support/auth/bad-openid-provider.ts';
import {
  answerXml,
  base64,
  BOTH,
  goodWords,
  idpMetadata,
  requestIn,
} from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addDevice } from '../../../support/database/records.ts';
import { configure } from '../../../support/web/portal.ts';
import { addPerson, PASSWORD, personOf, Visitor } from '../../../support/web/visitor.ts';

const EMAIL = 'person@example.com';
const NEW = 'staple staple staple';
const FORM = { password: NEW, password_confirmation: NEW };
const SECRET = new Secret({ size: 20 }).base32;

async function linkFor(
  { database }: TestServer,
  user: User,
  purpose: LinkPurpose = 'enrolment',
): Promise<string> {
  const wish = { purpose, hours: 1, createdBy: null };
  const { result } = await writeTransaction(database, (transaction) =>
    makeLink(database, user, wish, transaction),
  );
  return `/one_time_links/${result.secret}`;
}

for (const kind of databaseKinds()) {
  test(`${kind}: a person chooses a password by a link, once, and adds a device`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const user = await addPerson(database, EMAIL, { password_hash: null });
    const path = await linkFor(server, user);
    const visitor = new Visitor(server);
    for (let i = 0; i < 3; i += 1) {
      const shown = await visitor.get(path);
      t.is(shown.status, 200, 'to look at it changes nothing');
      t.regex(shown.text, /you add your device/);
      t.true(shown.text.includes(EMAIL));
    }
    const done = await visitor.post(path, FORM);
    t.is(done.status, 303, done.text);
    t.is(done.location, '/user_devices/new');
    t.is((await visitor.get('/user_devices/new')).status, 200);
    for (const again of [await visitor.get(path), await new Visitor(server).get(path)]) {
      t.is(again.status, 404);
      t.regex(again.text, /no longer good/);
    }
    t.is((await new Visitor(server).signIn(EMAIL, NEW)).status, 303);
    const entries = await readAuditEntries(database, { kind: 'user', recordId: user.id, limit: 9 });
    const uses = entries.filter(({ action }) => action === 'use link');
    t.is(uses.length, 1);
    t.like(uses[0], { email: EMAIL, changes: { purpose: { to: 'enrolment' } } });
    t.false(JSON.stringify([entries, server.log]).includes(path.split('/')[2] ?? ''));
    t.is(server.services.counters.of('sign_ins', 'link_used'), 1);
    t.is(server.services.counters.of('sign_ins', 'link_refused'), 2);
  });

  test(`${kind}: who was here before, or has a device, goes to where they begin`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const before = { last_signed_in_at: new Date(), password_hash: null };
    const admin = await addPerson(database, 'boss@example.com', { ...before, role: 'admin' });
    const owner = await addPerson(database, EMAIL, { password_hash: null });
    await addDevice(database, owner.id);
    for (const [user, title, home] of [
      [admin, 'Welcome back', '/dashboard'],
      [owner, 'Welcome', '/user_devices'],
    ] as const) {
      const visitor = new Visitor(server);
      const path = await linkFor(server, user);
      const { text } = await visitor.get(path);
      t.true(text.includes(`<h1>${title}</h1>`), title);
      t.regex(text, /Your devices stay as they are/);
      t.is((await visitor.post(path, FORM)).location, '/');
      t.is((await visitor.get('/')).location, home);
    }
  });

  test(`${kind}: errors of the password are shown, and the link stays`, async (t) => {
    const server = await openServer(t, kind);
    const path = await linkFor(server, await addPerson(server.database, EMAIL));
    const visitor = new Visitor(server);
    await visitor.get(path);
    const rows: [Record<string, string>, RegExp][] = [
      [{ password: '', password_confirmation: '' }, /blank|empty|Please/],
      [{ password: 'short', password_confirmation: 'short' }, /at least 12 character/],
      [{ password: NEW, password_confirmation: 'x' }, /are not the same/],
      [{ password: '€'.repeat(30), password_confirmation: '€'.repeat(30) }, /at most 72 byte/],
    ];
    for (const [fields, words] of rows) {
      const { status, text } = await visitor.post(path, fields);
      t.is(status, 422);
      t.regex(text, words);
    }
    t.is((await new Visitor(server).signIn(EMAIL, PASSWORD)).status, 303);
    t.is((await visitor.post(path, FORM)).status, 303);
  });

  test(`${kind}: of many who use a link at once, one gets in`, async (t) => {
    const server = await openServer(t, kind);
    const user = await addPerson(server.database, EMAIL);
    const path = await linkFor(server, user);
    const visitors = [1, 2, 3, 4].map(() => new Visitor(server));
    for (const visitor of visitors) await visitor.get(path);
    const answers = await Promise.all(
      visitors.map((visitor, i) => {
        const password = `${NEW} ${i}`;
        return visitor.post(path, { password, password_confirmation: password });
      }),
    );
    t.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [303, 404, 404, 404],
    );
    t.is(await server.database.models.Session.count(), 1);
    const winner = answers.findIndex(({ status }) => status === 303);
    t.is((await new Visitor(server).signIn(EMAIL, `${NEW} ${winner}`)).status, 303);
  });

  test(`${kind}: another password ends sessions and links, and a second factor stays`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const user = await addPerson(database, EMAIL);
    const factor = { userId: user.id, name: 'phone', secret: SECRET, step: 0 };
    const open = new Visitor(server);
    await open.signIn(EMAIL);
    await writeTransaction(database, (transaction) =>
      addSecondFactor(database, factor, transaction),
    );
    const enrolment = await linkFor(server, user);
    const path = await linkFor(server, user, 'password_reset');
    const visitor = new Visitor(server);
    t.regex((await visitor.get(enrolment)).text, /Welcome back.*Your devices stay as they are/s);
    t.regex((await visitor.get(path)).text, /another password/);
    t.is((await visitor.post(path, FORM)).location, '/mfa/auth');
    t.is((await visitor.get('/user_account')).location, '/mfa/auth', 'nothing else opens');
    t.is((await open.get('/user_account')).status, 302, 'the session of before is over');
    t.is((await new Visitor(server).get(enrolment)).status, 404, 'so is the other link');
    await visitor.get('/mfa/auth');
    const code = new TOTP({ secret: Secret.fromBase32(SECRET) }).generate();
    t.is((await visitor.post('/mfa/auth', { code })).location, '/');
    t.is((await visitor.get('/user_account')).status, 200);
  });

  test(`${kind}: a link is void when it is over, or its user is disabled`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const user = await addPerson(database, EMAIL);
    const path = await linkFor(server, user);
    const visitor = new Visitor(server);
    await visitor.get(path);
    await database.models.OneTimeLink.update({ expires_at: new Date() }, { where: {} });
    t.is((await visitor.get(path)).status, 404);
    t.is((await visitor.post(path, FORM)).status, 404);
    const second = await linkFor(server, user);
    await server.send('PATCH', `/v0/users/${user.id}`, { body: { user: { enabled: false } } });
    t.is((await visitor.get(second)).status, 404);
    t.is((await visitor.post(second, FORM)).status, 404);
    t.is((await personOf(database, EMAIL)).password_hash, user.password_hash);
  });

  test(`${kind}: where passwords are off, the provider must name the same person`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const idp = await openBadProvider(t);
    const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri, auto_create_users: true });
    await configure(server, { openid_connect_providers: [entry], local_auth_enabled: false });
    const user = await addPerson(database, EMAIL, { password_hash: null });
    const path = await linkFor(server, user);
    const visitor = new Visitor(server);
    const page = await visitor.get(path);
    t.false(page.text.includes('type="password"'));
    t.is((await visitor.post(path, FORM)).status, 404, 'no password is taken');

    idp.bent.claims = { email: 'other@example.com', sub: 'other' };
    const other = await goOn(visitor, idp, page.text);
    t.is(other.status, 403);
    t.regex(other.text, /for somebody else/);
    t.is(await database.models.User.count({ where: { email: 'other@example.com' } }), 0);
    t.is(await database.models.Identity.count(), 0);
    t.is(server.services.counters.of('sign_ins', 'oidc_other_person'), 1);

    idp.bent.claims = {};
    const done = await goOn(visitor, idp, page.text);
    t.is(done.status, 303, done.text);
    t.is(done.location, '/user_devices/new');
    t.true((await visitor.get('/user_account')).text.includes(EMAIL));
    t.is((await visitor.get(path)).status, 404, 'it is used');
    t.is((await goOn(new Visitor(server), idp, page.text)).status, 404);
  });

  test(`${kind}: a SAML provider must name the same person too`, async (t) => {
    const server = await openServer(t, kind);
    const { base_url: _default, ...entry } = samlEntry({ metadata: idpMetadata(signOnService()) });
    const saml_identity_providers = [{ ...entry, auto_create_users: true }];
    await configure(server, { saml_identity_providers, local_auth_enabled: false });
    const user = await addPerson(server.database, 'another@example.com', { password_hash: null });
    const path = await linkFor(server, user);
    t.is(await throughSaml(t, server, path), 403);
    t.is(await server.database.models.User.count({ where: { email: EMAIL } }), 0);
    const own = await addPerson(server.database, EMAIL, { password_hash: null });
    const link = await linkFor(server, own);
    t.is(await throughSaml(t, server, link), 303);
    t.is((await new Visitor(server).get(link)).status, 404, 'it is used');
    t.is((await new Visitor(server).get(path)).status, 200, 'the other is not');
  });
}

/** The address behind the provider's button. */
function buttonIn(page: string): string {
  const [, path = ''] = /href="(\/auth\/[^"]+)"/.exec(page) ?? [];
  return path.replaceAll('&amp;', '&');
}

/** From the button to the answer of the callback. */
async function goOn(visitor: Visitor, idp: BadProvider, page: string) {
  const begun = await visitor.get(buttonIn(page));
  if (begun.location === null) return begun;
  return visitor.get(`/auth/oidc/okta/callback/?${idp.authorize(begun.location).toString()}`);
}

/** The status with which a sign-in through the SAML provider ends. */
async function throughSaml(t: ExecutionContext, server: TestServer, path: string): Promise<number> {
  const visitor = new Visitor(server);
  const begun = await visitor.get(buttonIn((await visitor.get(path)).text));
  const { id, query } = requestIn(begun.location ?? '');
  const consume = '/auth/saml/sp/consume/saml-idp';
  const words = goodWords(id, `http://127.0.0.1:13000${consume}`);
  const posted = await new Visitor(server).send('POST', consume, {
    SAMLResponse: base64(answerXml(words, BOTH)),
    RelayState: query.get('RelayState') ?? '',
  });
  t.is(posted.status, 303, posted.text);
  return (await visitor.get(posted.location ?? '')).status;
}
