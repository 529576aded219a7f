// Test sign-ins are an administrator's: a stranger, a user, another administrator and another
// browser begin none, read nothing of one, and turn neither a sign-in into a test nor a test into a
// sign-in. What a test is fed with signs nobody in and moves no flag.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { otherIdpKey } from '../support/auth/bad-saml-provider.ts';
import { openConsole } from '../support/web/console.ts';
import { openServer, type TestServer } from '../support/api/server.ts';
import {
  addSamlEntry,
  answerTo,
  beginTest,
  begunBy,
  CONSUME,
  ENTRY,
  postAnswer,
} from '../support/auth/test-sign-in.ts';
import { addPerson, atGateway, Visitor } from '../support/web/visitor.ts';

const ADMIN = 'boss@example.com';
const SIGN_IN = '/auth/saml/auth/signin/saml-idp';
const COMPLETE = '/auth/saml/sp/complete/saml-idp';
/** Free, the API answers in some ms; a loaded machine needs more. */
const ANSWER_MS_MAX = 1_000;

/** A gateway that listens, with an entry, an administrator's browser, and others'. */
async function open(t: ExecutionContext) {
  const server = await openServer(t, 'sqlite over a socket');
  await addSamlEntry(server);
  const gateway = atGateway(server.server.info.uri);
  const person = async (email: string, role: 'admin' | 'unprivileged'): Promise<Visitor> => {
    await addPerson(server.database, email, { role });
    const visitor = new Visitor(gateway);
    t.is((await visitor.signIn(email)).status, 303);
    await visitor.get('/user_account');
    return visitor;
  };
  const admin = await person(ADMIN, 'admin');
  const post = (fields: Record<string, string>, path?: string) => postAnswer(gateway, fields, path);
  return { server, admin, person, post, stranger: () => new Visitor(gateway) };
}

const requests = async ({ database: { models } }: TestServer) => models.SignInRequest.findAll();

const ticketIn = (location: string | null): string => location?.split(/[/=]/).at(-1) ?? '';

test('nobody but an administrator begins a test, and nobody through their browser', async (t) => {
  const { server, admin, person, stranger } = await open(t);
  const [user, nobody] = [await person('user@example.com', 'unprivileged'), stranger()];
  await nobody.get('/');
  t.is((await user.post(`${ENTRY}/test`)).status, 403);
  t.is((await nobody.post(`${ENTRY}/test`)).status, 302);
  const { token } = admin;
  admin.headers = {
    ...admin.headers,
    'sec-fetch-site': 'cross-site',
    origin: 'https://evil.example',
  };
  t.is((await admin.post(`${ENTRY}/test`)).status, 403, 'a form of another site');
  admin.headers = { accept: 'text/html' };
  admin.token = 'x'.repeat(43);
  t.is((await admin.post(`${ENTRY}/test`)).status, 403, 'without the token of this browser');
  admin.token = token;
  t.is((await admin.get(`${ENTRY}/test`)).status, 404, 'a link begins none');
  t.deepEqual(await requests(server), []);
  const old = new Date(Date.now() - 16 * 60_000);
  await server.database.models.Session.update({ inserted_at: old }, { where: {} });
  t.regex((await admin.post(`${ENTRY}/test`)).location ?? '', /^\/sign_in_again/, 'left open');
  t.deepEqual(await requests(server), []);
});

test('nothing that a browser sends makes its sign-in a test', async (t) => {
  const { server, admin, post, stranger } = await open(t);
  const { Session } = server.database.models;
  const session = await Session.findOne({ rejectOnEmpty: true });
  const lies = new URLSearchParams({
    testBy: session.id,
    test: '1',
    'secrets[testBy]': session.id,
  });
  const victim = stranger();
  const begun = begunBy(await victim.get(`${SIGN_IN}?${lies.toString()}`));
  for (const { secrets } of await requests(server)) t.is(secrets.testBy, undefined);
  const fields = { ...answerTo(begun), testBy: session.id, test: '1' };
  const { location } = await post(fields, `${CONSUME}?${lies.toString()}`);
  t.true(location?.startsWith(`${COMPLETE}?ticket=`), 'a sign-in as any other');
  const page = await admin.get(`${ENTRY}/tests/${ticketIn(location)}`);
  t.is(page.status, 404, 'nothing to be read of it');
  t.false(page.text.includes('person@'));
  t.is((await victim.get(location ?? '')).status, 303, 'and nobody used it up');
  t.is(await Session.count(), 2);
});

test('a test signs nobody in, whoever completes it', async (t) => {
  const { server, admin, post, stranger } = await open(t);
  const { User, Session, Identity } = server.database.models;
  const count = async () => [await User.count(), await Session.count(), await Identity.count()];
  const before = await count();
  const begun = await beginTest(admin);
  const { location } = await post(answerTo(begun, { nameId: 'admin@example.com' }));
  const ticket = ticketIn(location);
  for (const visitor of [stranger(), admin]) {
    const page = await visitor.get(`${COMPLETE}?ticket=${ticket}`);
    t.is(page.status, 403, page.text);
    const state = await visitor.get(`${COMPLETE}?ticket=${begun.relayState}`);
    t.is(state.status, 403);
  }
  t.is(
    (await post({ ...answerTo(begun), RelayState: ticket })).status,
    403,
    'a ticket is no state',
  );
  t.deepEqual(await count(), before);
  t.true((await admin.get('/user_account')).text.includes(ADMIN), 'who they were');
});

test('answers of a test and of a sign-in serve neither the other nor twice', async (t) => {
  const { server, admin, post, stranger } = await open(t);
  const fields = answerTo(await beginTest(admin));
  t.is((await post(fields)).status, 303);
  t.is((await post(fields)).status, 403, 'twice');
  const victim = stranger();
  const begun = begunBy(await victim.get(SIGN_IN));
  const swapped = await post({ ...fields, RelayState: begun.relayState });
  t.is(swapped.status, 502, 'the answer of a test ends no sign-in');
  const second = begunBy(await victim.get(SIGN_IN));
  const { relayState } = await beginTest(admin);
  const { location } = await post({ ...answerTo(second), RelayState: relayState });
  const { text } = await admin.get(location ?? '');
  t.true(text.includes('the log would say: answer_invalid InResponseTo'));
  t.false(/person@/.test(text), 'nothing of an answer that was meant for a sign-in');
  t.is(await server.database.models.Session.count(), 1);
});

test('a forged answer to a test shows nothing and moves no flag', async (t) => {
  const { server, admin, post } = await open(t);
  for (const signing of [
    { key: otherIdpKey },
    { key: otherIdpKey, response: false },
    { response: false, assertion: false },
  ]) {
    const { location } = await post(answerTo(await beginTest(admin), {}, signing));
    const { text } = await admin.get(location ?? '');
    t.true(text.includes('Neither the response nor the assertion has a good signature'));
    t.false(/person@|What the provider says of you|Set the flags/.test(text));
  }
  t.is(await server.database.models.SamlTest.count(), 0);
});

test('findings are for the session that began, and for nobody else', async (t) => {
  const { server, admin, person, post, stranger } = await open(t);
  const { location } = await post(answerTo(await beginTest(admin)));
  const path = location ?? '';
  const others = [await person('other@example.com', 'admin'), stranger()];
  others.push(await person('user@example.com', 'unprivileged'));
  const again = stranger();
  t.is((await again.signIn(ADMIN)).status, 303);
  for (const visitor of [...others, again]) {
    const { status, text } = await visitor.get(path);
    t.true([302, 403, 404].includes(status), `${status}`);
    t.notRegex(text, /person@|rsa-sha256/);
  }
  t.is((await admin.get(path)).status, 200);
  const bearer = await server.send('GET', path);
  t.not(bearer.status, 200, 'a token opens no page');
  await admin.post('/sign_out');
  t.is((await admin.get(path)).status, 302);
  t.is((await admin.signIn(ADMIN)).status, 303);
  t.is((await admin.get(path)).status, 404, 'a new session is another one');
});

test('with https the answer to a test must come from the browser that began', async (t) => {
  const console = await openConsole(t, 'sqlite', { EXTERNAL_URL: 'https://vpn.example/' });
  await addSamlEntry(console);
  console.admin.headers['host'] = 'vpn.example';
  const fields = answerTo(await beginTest(console.admin));
  const posted = await postAnswer(console, fields);
  t.is(posted.status, 403);
  t.regex(posted.text, /another browser/);
  t.is(await console.database.models.SamlTest.count(), 0);
});

test('an answer that is dear to examine holds up nobody', async (t) => {
  const { server, admin, post } = await open(t);
  const groups = Array.from(
    { length: 900 },
    (_, i) => `<a:AttributeValue>g${i}</a:AttributeValue>`,
  );
  const attributes = `<a:AttributeStatement><a:Attribute Name="groups">${groups.join('')}</a:Attribute></a:AttributeStatement>`;
  await post(answerTo(await beginTest(admin)));
  let isOver = false;
  let longestMs = 0;
  const asking = (async () => {
    while (!isOver) {
      const beganMs = performance.now();
      await (await fetch(`${server.server.info.uri}/healthz`)).text();
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      await sleep(20);
    }
  })();
  const begun = await beginTest(admin);
  const { location } = await post(answerTo(begun, { attributes }, { response: false }));
  isOver = true;
  await asking;
  t.log(`longest answer ${Math.round(longestMs)} ms`);
  t.true(longestMs < ANSWER_MS_MAX, `an answer took ${Math.round(longestMs)} ms`);
  t.regex((await admin.get(location ?? '')).text, /… and 880 more/);
});
