// What asks for a recent sign-in: every form by which somebody gets or keeps an account.

import test from 'ava';
import { RECENT_ADMINISTRATION_MS, RECENT_MS } from '../../../../lib/kit/records/session-life.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { visit } from '../../../support/web/portal.ts';
import { openServer, routesOf, type TestServer } from '../../../support/api/server.ts';
import { addPerson, PASSWORD, personOf } from '../../../support/web/visitor.ts';

const ID = '00000000-0000-4000-8000-000000000000';
const PROVIDER_FORMS = ['openid', 'saml'];

/** Each with the page to come back to. */
const ASKING: readonly (readonly [method: 'GET' | 'POST', path: string, back?: string])[] = [
  ['GET', '/user_account/register_mfa'],
  ['POST', '/user_account/register_mfa'],
  ['GET', `/user_account/second_factors/${ID}/remove`],
  ['POST', `/user_account/second_factors/${ID}/remove`],
  ['GET', '/user_account/recovery_codes'],
  ['POST', '/user_account/recovery_codes'],
  ['GET', '/api_tokens/new'],
  ['POST', '/api_tokens/new'],
  ['POST', '/api_tokens/many', '/api_tokens'],
  ['GET', '/users/enrol'],
  ['POST', '/users/enrol'],
  ['POST', '/users/invitations/send', '/users/invitations'],
  ['GET', '/users/new'],
  ['POST', '/users/new'],
  ['POST', `/users/${ID}/edit`],
  ['POST', `/users/${ID}/enable`, `/users/${ID}`],
  ['POST', `/user_devices/${ID}/switch_on`, `/user_devices/${ID}`],
  ['POST', '/users/many_enabled', '/users'],
  ['POST', `/undo_disabled/${ID}`, '/users'],
  ['POST', `/users/${ID}/reset_second_factors`, `/users/${ID}`],
];

/** What may be sent long after signing in, and why. */
const FREE: Readonly<Record<string, string>> = {
  '/auth/identity': 'it is the sign-in',
  '/auth/identity/callback': 'it is the sign-in',
  '/auth/saml/auth/signin/{id}': 'it is the sign-in',
  '/auth/saml/sp/consume/{id}': 'it is the sign-in',
  '/auth/saml/sp/logout/{id}': 'it takes a session away',
  '/mfa/auth': 'it is the sign-in',
  '/local/operations': 'commands alone reach it, by the socket of the host',
  '/forgotten_password': 'nobody is signed in there',
  '/one_time_links/{secret}': 'the link itself proves who asks',
  '/sign_out': 'it takes a session away',
  '/user_account/change_password': 'it asks for the present password itself',
  '/user_account/sessions/end_others': 'it takes sessions away',
  '/user_account/sessions/{id}/end': 'it takes a session away',
  '/users/{id}/revoke_link': 'it takes a way in away',
  '/users/invitations/many': 'it takes ways in away',
  '/users/{id}/disable': 'it takes rights away',
  '/users/{id}/left': 'it takes rights away',
  '/users/{id}/sessions/end': 'it takes sessions away',
  '/users/{id}/delete': 'it takes rights away',
  '/undo/{id}': 'it gives back what this session changed, and lets nobody in',
  '/users/many': 'it disables and deletes, which takes rights away',
};
/** Nobody signs in by what these hold. */
const NO_ACCOUNT =
  /^\/(dashboard|user_devices|devices|rules|users\/groups|settings\/(?!providers))/;

/** As if everybody had signed in longer ago. */
async function waitFor(
  { database }: TestServer,
  ageMs = RECENT_ADMINISTRATION_MS + 1_000,
): Promise<void> {
  const inserted_at = new Date(Date.now() - ageMs);
  await database.models.Session.update({ inserted_at }, { where: {} });
}

for (const kind of firstKind()) {
  for (const [method, path, back = path] of ASKING)
    test(`${kind}: ${method} ${path.replace(ID, '{id}')} asks for a recent sign-in`, async (t) => {
      const server = await openServer(t, kind);
      const admin = await visit(server, 'boss@example.com', 'admin');
      await waitFor(server);
      const answer = await admin.send(method, path, { csrf_token: admin.token });
      t.is(answer.status, 303);
      const query = new URLSearchParams({ why: 'recent', return_to: back }).toString();
      t.is(answer.location, `/sign_in_again?${query}`);
      const { text } = await admin.get(answer.location ?? '');
      t.regex(text, /To be sure that it is you, type your password again\./);
      t.is(/Nothing is changed/.test(text), method === 'POST');
    });

  test(`${kind}: a sign-in of a clock that was far ahead is no recent one`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, 'ann@example.com');
    t.is((await ann.get('/user_account/register_mfa')).status, 200);
    const inserted_at = new Date(Date.now() + 86_400_000);
    await server.database.models.Session.update({ inserted_at }, { where: {} });
    const { location } = await ann.get('/user_account/register_mfa');
    t.regex(location ?? '', /^\/sign_in_again\?why=recent/);
  });

  test(`${kind}: forms of providers ask for a recent sign-in`, async (t) => {
    const server = await openServer(t, kind);
    const admin = await visit(server, 'boss@example.com', 'admin');
    await waitFor(server);
    const paths = (await routesOf(server.server))
      .map((route) => route.path)
      .filter((path) => path.startsWith('/settings/providers/'))
      // What a test found is read, by the session that began it; it changes nothing.
      .filter((path) => !path.endsWith('/tests/{ticket}'));
    t.true(paths.length >= 5 * PROVIDER_FORMS.length);
    for (const path of paths) {
      const { location } = await admin.post(path.replace('{id}', 'okta'));
      t.regex(location ?? '', /^\/sign_in_again\?why=recent/, path);
    }
  });

  test(`${kind}: whoever signed in again may do it, for five minutes in all`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, 'ann@example.com');
    await waitFor(server);
    const { location } = await ann.get('/user_account/register_mfa');
    await ann.get(location ?? '');
    const back = new URLSearchParams(location?.split('?')[1]).get('return_to') ?? '';
    const fields = { email: 'ann@example.com', password: PASSWORD, return_to: back };
    const answer = await ann.post('/auth/identity/callback', fields);
    t.is(answer.location, '/user_account/register_mfa');
    t.is((await ann.get('/user_account/register_mfa')).status, 200);
    await waitFor(server, RECENT_MS + 1_000);
    t.is((await ann.get('/user_account/register_mfa')).status, 303);
  });

  test(`${kind}: an administrator changes others for 15 minutes, which no change prolongs`, async (t) => {
    const server = await openServer(t, kind);
    const admin = await visit(server, 'boss@example.com', 'admin');
    const { database } = server;
    const own = await personOf(database, 'boss@example.com');
    const other = await addPerson(database, 'ann@example.com');
    const asks = async (path: string, fields: Record<string, string>) =>
      ((await admin.post(path, fields)).location ?? '').startsWith('/sign_in_again?why=recent');
    const ann = { email: 'ann@example.com', role: 'unprivileged' };
    const boss = { email: 'boss@example.com', role: 'admin' };
    await waitFor(server, RECENT_MS + 1_000);
    t.false(await asks(`/users/${other.id}/edit`, ann));
    t.is((await admin.get('/users/new')).status, 200);
    for (const path of ['/api_tokens/new', '/users/enrol'])
      t.is((await admin.get(path)).status, 303, `${path} opens the own account`);
    t.true(await asks('/users/invitations/send', { do: 'send', id: own.id }), 'the same link');
    t.true(await asks(`/users/${own.id}/edit`, boss), 'not for the own user');
    t.true(await asks(`/users/${own.id.toUpperCase()}/edit`, boss));
    t.is((await admin.get('/user_account/register_mfa')).status, 303);
    await waitFor(server, RECENT_ADMINISTRATION_MS - 60_000);
    t.false(await asks(`/users/${other.id}/edit`, ann));
    await waitFor(server);
    t.true(await asks(`/users/${other.id}/edit`, ann));
  });
}

test('every form is either asking for a recent sign-in or known not to need it', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const forms = (await routesOf(server)).filter(
    ({ method, path }) => method !== 'get' && !/^\/(v0\/|assets)/.test(path),
  );
  t.true(forms.length > 30);
  for (const { path, settings } of forms)
    if (settings.app?.recentSignIn === undefined)
      t.true(FREE[path] !== undefined || NO_ACCOUNT.test(path), path);
});
