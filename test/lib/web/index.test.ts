// The web interface as a whole: what every answer has, and that nothing is open by an oversight.

import test from 'ava';
import { firstKind } from '../../support/database/databases.ts';
import { openServer, routesOf } from '../../support/api/server.ts';
import { addPerson, type Shown, Visitor } from '../../support/web/visitor.ts';

/** What everybody may open. */
const OPEN = new Set([
  'get /',
  'get /auth/identity',
  'get /auth/identity/callback',
  'post /auth/identity',
  'post /auth/identity/callback',
  // What providers send people to and from; each step proves itself.
  'get /auth/oidc/{id}',
  'get /auth/oidc/{id}/callback',
  'get /auth/saml/auth/signin/{id}',
  'post /auth/saml/auth/signin/{id}',
  'post /auth/saml/sp/consume/{id}',
  'get /auth/saml/sp/complete/{id}',
  'get /auth/saml/sp/metadata/{id}',
  'get /auth/saml/sp/logout/{id}',
  'post /auth/saml/sp/logout/{id}',
  'post /sign_out',
  'get /one_time_links/{secret}',
  'get /forgotten_password',
  'post /forgotten_password',
  'post /one_time_links/{secret}',
  'get /auth/oidc/{id}',
  'get /auth/oidc/{id}/callback',
  'get /auth/saml/auth/signin/{id}',
  'post /auth/saml/auth/signin/{id}',
  'post /auth/saml/sp/consume/{id}',
  'get /auth/saml/sp/complete/{id}',
  'get /auth/saml/sp/metadata/{id}',
  'delete /sign_out',
  'get /assets/{version}/{name*}',
  'get /favicon.ico',
  'get /logo',
  'get /docs',
  'get /docs/start.js',
  'get /docs/swagger-ui-bundle.js',
  'get /docs/swagger-ui.css',
  'get /healthz',
  'get /readyz',
  'get /v0/openapi.json',
]);

test('every route asks who is there, but those that are meant for everybody', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const open = (await routesOf(server))
    .filter(({ settings }) => {
      const auth = settings.auth as false | undefined | { mode: string; strategies: string[] };
      if (auth === false) return true;
      return auth !== undefined && auth.mode !== 'required';
    })
    .map(({ method, path }) => `${method} ${path}`);
  t.deepEqual(open.toSorted(), [...OPEN].toSorted());
});

/** What proves itself by other means than a token of forms; each has tests of its own. */
const TOKENLESS = new Set([
  'post /auth/saml/auth/signin/{id}',
  'post /auth/saml/sp/consume/{id}',
  'post /auth/saml/sp/logout/{id}',
]);
/** For who is not signed in yet: second-factor.test.ts. */
const HALFWAY = 'post /mfa/auth';

test('whatever may change something is refused without the token, for whoever is signed in', async (t) => {
  const server = await openServer(t, 'sqlite');
  await addPerson(server.database, 'boss@example.com', { role: 'admin' });
  const boss = new Visitor(server);
  await boss.signIn('boss@example.com');
  await boss.get('/user_account');
  const { token } = boss;
  const forms = (await routesOf(server.server))
    .filter(({ method, path, settings }) => {
      const isOfApi = settings.auth === undefined || /^\/(v0|local)\//.test(path);
      return !isOfApi && !['get', 'head', 'options'].includes(method);
    })
    .map(({ method, path }) => `${method} ${path}`);
  t.true(forms.length > 30, `${forms.length} forms`);
  for (const form of forms.filter((one) => !TOKENLESS.has(one) && one !== HALFWAY)) {
    const [method = '', route = ''] = form.split(' ');
    const path = route.replaceAll('{id}', '00000000-0000-7000-8000-000000000000');
    for (const [headers, csrf_token] of [
      [{}, ''],
      [{}, `${token.slice(0, -1)}_`],
      [{ origin: 'https://evil.example' }, token],
      [{ 'sec-fetch-site': 'cross-site' }, token],
    ] as const) {
      boss.headers = { accept: '*/*', ...headers };
      const { status, text } = await boss.send(method.toUpperCase(), path, { csrf_token });
      t.is(status, 403, form);
      t.regex(text, /^\{"error":"stale_form"/, form);
    }
  }
  boss.headers = { accept: 'text/html' };
  t.is((await boss.get('/user_account')).status, 200, 'and nothing was done');
});

test('what does not name its strategy belongs to the API, and asks for a token', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  for (const { path, settings } of await routesOf(server))
    if (settings.auth === undefined) t.regex(path, /^\/v0(\/|$)/);
});

for (const kind of firstKind()) {
  test(`${kind}: an administrator, a user and a stranger see what is theirs`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, 'user@example.com');
    const stranger = await new Visitor(server).get('/user_account?x=1');
    t.is(stranger.status, 302);
    t.is(stranger.location, `/?return_to=${encodeURIComponent('/user_account?x=1')}`);
    const user = new Visitor(server);
    await user.signIn('user@example.com');
    const shown = await user.get('/user_account');
    t.is(shown.status, 200);
    t.false(shown.text.includes('>Console<'));
  });

  test(`${kind}: the API takes no session for a token`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, 'boss@example.com', { role: 'admin' });
    const visitor = new Visitor(server);
    await visitor.signIn('boss@example.com');
    t.is((await visitor.get('/v0/users')).status, 401);
    t.regex((await visitor.get('/v0/users')).text, /^\{"errors":\{"auth":"unauthenticated"\}\}$/);
  });
}

test('strangers may ask twenty times a second, an administrator as often as a token', async (t) => {
  const server = await openServer(t, 'sqlite', { API_RATE_LIMIT: '1000' });
  await addPerson(server.database, 'boss@example.com', { role: 'admin' });
  const visitor = new Visitor(server);
  await visitor.signIn('boss@example.com');
  // Far more than the 40 that are free at once and the 20 of each second that this takes.
  const many = (who: Visitor, path: string): Promise<Shown[]> =>
    Promise.all(Array.from({ length: 200 }, () => who.get(path)));
  t.true((await many(visitor, '/user_account')).every(({ status }) => status === 200));
  const stranger = new Visitor(server);
  stranger.cookies.set('postern-session', 'x'.repeat(43));
  for (const path of ['/', '/user_account', '/mfa/auth']) {
    const refused = (await many(stranger, path)).find(({ status }) => status === 429);
    t.is(refused?.headers['retry-after'], '1', path);
    t.is(refused?.text, '{"error":"too_many_requests"}', path);
  }
  const page = await visitor.get('/user_account');
  const [asset = ''] = /\/assets\/[^"]+\/postern\.css/.exec(page.text) ?? [];
  t.is((await stranger.get(asset)).status, 200);
});
