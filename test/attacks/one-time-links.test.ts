// A one-time link opens an account, so strangers guess at it, use it again, bend where it leads, and
// plant sessions and names of hosts around it.

import test, { type ExecutionContext } from 'ava';
import { configOf, openServer, type TestServer } from '../support/api/server.ts';
import { addPerson, atGateway, PASSWORD, Visitor } from '../support/web/visitor.ts';

const EMAIL = 'person@example.com';
const NEW = 'staple staple staple';
const FORM = { password: NEW, password_confirmation: NEW };

interface Scene {
  readonly server: TestServer;
  readonly path: string;
  /** A new browser at the gateway. */
  readonly browser: () => Visitor;
}

/** A gateway that listens, with a user who has a link. */
async function open(t: ExecutionContext, settings: Record<string, string> = {}): Promise<Scene> {
  const server = await openServer(t, 'sqlite over a socket', { API_RATE_LIMIT: '0', ...settings });
  const user = await addPerson(server.database, EMAIL);
  const made = await server.send('POST', `/v0/users/${user.id}/enrolment`, {
    body: { enrolment: {} },
    headers: { 'x-forwarded-host': 'evil.example' },
  });
  t.is(made.status, 201, made.text);
  const { url } = made.body.data as { url: string };
  t.true(url.startsWith(server.services.config.externalUrl), 'the host of the settings, no other');
  const place = atGateway(server.server.info.uri);
  return { server, path: new URL(url).pathname, browser: () => new Visitor(place) };
}

test('scanners that open a link, and forms from elsewhere, do not use it up', async (t) => {
  const { path, browser } = await open(t);
  for (const method of ['GET', 'HEAD', 'GET'])
    t.is((await browser().send(method, path)).status, 200, method);
  t.is((await browser().send('POST', path, FORM)).status, 403, 'without a token');
  const elsewhere = browser();
  await elsewhere.get(path);
  elsewhere.headers = { ...elsewhere.headers, origin: 'https://evil.example' };
  t.is((await elsewhere.post(path, FORM)).status, 403, 'from another site');
  const person = browser();
  await person.get(path);
  t.is((await person.post(path, FORM)).status, 303);
});

test('a link that was used, and one that is guessed, open nothing', async (t) => {
  const { path, browser, server } = await open(t);
  const [first, second] = [browser(), browser()];
  await first.get(path);
  await second.get(path);
  t.is((await first.post(path, FORM)).status, 303);
  t.is(
    (await second.post(path, { password: PASSWORD, password_confirmation: PASSWORD })).status,
    404,
  );
  const guesses = [
    path.slice(0, -1),
    `${path}A`,
    path.toLowerCase(),
    path.replace(/.{4}$/, 'AAAA'),
    '/one_time_links/%00',
    '/one_time_links/null',
    `/one_time_links/${'a'.repeat(4_000)}`,
    "/one_time_links/'%20OR%201=1--",
  ];
  for (const guess of guesses) t.true((await second.get(guess)).status >= 400, guess);
  t.is((await browser().signIn(EMAIL, NEW)).status, 303);
  t.is(await server.database.models.Session.count(), 2, 'of the link and of the sign-in');
});

test('whoever guesses is slowed down', async (t) => {
  const { browser } = await open(t, { API_RATE_LIMIT: '10' });
  const stranger = browser();
  // An address has 20 requests a second without a good token; a busy machine answers few more.
  const statuses: number[] = [];
  while (!statuses.includes(429) && statuses.length < 2_000) {
    const guesses = Array.from({ length: 100 }, (_, i) =>
      `${statuses.length + i}`.padStart(43, 'a'),
    );
    const answers = await Promise.all(
      guesses.map((guess) => stranger.get(`/one_time_links/${guess}`)),
    );
    statuses.push(...answers.map(({ status }) => status));
  }
  t.true(statuses.includes(429));
});

test('a link leads nowhere but to this gateway, and tells nobody of itself', async (t) => {
  const { path, browser } = await open(t);
  const person = browser();
  const page = await person.get(`${path}?return_to=https://evil.example/`);
  t.regex(String(page.headers['referrer-policy']), /^(same-origin|no-referrer)$/);
  t.is(page.headers['cache-control'], 'no-store');
  t.false(page.text.includes('evil.example'));
  const done = await person.post(`${path}?return_to=//evil.example`, {
    ...FORM,
    return_to: 'https://evil.example/',
  });
  t.is(done.location, '/user_devices/new');
});

test('a session that was planted before does not become that of the person', async (t) => {
  const { path, browser, server } = await open(t);
  await addPerson(server.database, 'mallory@example.com');
  const mallory = browser();
  await mallory.signIn('mallory@example.com');
  const planted = mallory.cookies.get('postern-session') ?? '';
  const person = browser();
  person.cookies.set('postern-session', planted);
  await person.get(path);
  t.is((await person.post(path, FORM)).status, 303);
  t.not(person.cookies.get('postern-session'), planted);
  t.true((await person.get('/user_account')).text.includes(EMAIL));
  t.is((await mallory.get('/user_account')).status, 302, 'the planted one is over');
});

test('the log never holds a link', async (t) => {
  const { path, browser, server } = await open(t, { LOG_LEVEL: 'debug' });
  const person = browser();
  await person.get(path);
  await person.post(path, { password: 'short' });
  await person.post(path, FORM);
  await person.get(path);
  const secret = path.split('/').at(-1) ?? '';
  t.is(secret.length, 43);
  t.false(JSON.stringify(server.log).includes(secret));
  t.is(configOf({}).apiRateLimit > 0, true, 'guesses are limited by default');
});
