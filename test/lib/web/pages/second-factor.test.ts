// The second step of signing in: no other page can be reached before it, and guesses are limited.

import { Secret, TOTP } from 'otpauth';
import test from 'ava';
import { addSecondFactor } from '../../../../lib/auth/second-factors.ts';
import { writeTransaction } from '../../../../models/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { openServer, routesOf, type TestServer } from '../../../support/api/server.ts';
import {
  addPerson,
  endSessionsBefore,
  PASSWORD,
  personOf,
  Visitor,
} from '../../../support/web/visitor.ts';

const EMAIL = 'ann@example.com';
const SECRET = new Secret({ size: 20 }).base32;

function codeNow(steps = 0): string {
  const timestamp = Date.now() + steps * 30_000;
  return new TOTP({ secret: Secret.fromBase32(SECRET) }).generate({ timestamp });
}

async function withFactor(server: TestServer): Promise<readonly string[]> {
  const { id } = await addPerson(server.database, EMAIL, { role: 'admin' });
  const factor = { userId: id, name: 'phone', secret: SECRET, step: 0 };
  const { result } = await writeTransaction(server.database, (transaction) =>
    addSecondFactor(server.database, factor, transaction),
  );
  return result?.recoveryCodes ?? [];
}

/** Pages for everybody: who is halfway through a sign-in sees there what strangers see. */
const OPEN = ['/sign_out', '/auth/', '/forgotten_password', '/one_time_links/'];

for (const kind of firstKind()) {
  test(`${kind}: a password that a code must follow ends the session before`, async (t) => {
    const server = await openServer(t, kind);
    const { id: userId } = await addPerson(server.database, EMAIL);
    const visitor = new Visitor(server);
    await visitor.signIn(EMAIL);
    const stolen = new Visitor(server);
    stolen.cookies.set('postern-session', visitor.cookies.get('postern-session') ?? '');
    t.is((await stolen.get('/user_account')).status, 200);
    const factor = { userId, name: 'phone', secret: SECRET, step: 0 };
    await writeTransaction(server.database, (transaction) =>
      addSecondFactor(server.database, factor, transaction),
    );
    await visitor.get('/user_account');
    const form = { email: EMAIL, password: PASSWORD };
    t.is((await visitor.post('/auth/identity/callback', form)).location, '/mfa/auth');
    t.is((await stolen.get('/user_account')).status, 302);
  });

  test(`${kind}: after the password every page leads to the second step`, async (t) => {
    const server = await openServer(t, kind);
    await withFactor(server);
    const visitor = new Visitor(server);
    const first = await visitor.signIn(EMAIL, undefined, '/user_account?x=1');
    t.is(first.location, '/mfa/auth');
    t.is((await personOf(server.database, EMAIL)).last_signed_in_at, null, 'not signed in yet');
    const pages = (await routesOf(server.server))
      .filter(({ settings }) => {
        const auth = settings.auth as { strategies?: string[]; mode?: string } | false | undefined;
        return typeof auth === 'object' && auth.strategies?.includes('session') === true;
      })
      .map(({ method, path, settings }) => ({ method, path, settings }));
    t.true(pages.length > 5);
    for (const { method, path } of pages) {
      if (OPEN.some((open) => path.startsWith(open))) continue;
      const shown = await visitor.send(method.toUpperCase(), path.replace('{id}', 'x'), {
        csrf_token: visitor.token,
      });
      t.is(shown.location, '/mfa/auth', `${method} ${path}`);
    }
    await visitor.get('/mfa/auth');
    const halfway = visitor.cookies.get('postern-session');
    const forged = await visitor.post('/mfa/auth', { code: codeNow(), csrf_token: 'x' });
    t.is(forged.status, 403, 'without the token no code is looked at');
    const done = await visitor.post('/mfa/auth', { code: codeNow() });
    t.is(done.status, 303, done.text);
    t.is(done.location, '/user_account?x=1');
    t.not(visitor.cookies.get('postern-session'), halfway, 'another secret');
    t.is((await visitor.get('/user_account')).status, 200);
    const user = await personOf(server.database, EMAIL);
    t.is(user.last_signed_in_method, 'email');
    t.is(await server.database.models.Session.count(), 1);
  });

  test(`${kind}: after five wrong codes even right ones are refused`, async (t) => {
    const server = await openServer(t, kind, { TRUSTED_PROXIES: '127.0.0.1' });
    await withFactor(server);
    const texts = new Set<string>();
    for (let n = 0; n < 7; n += 1) {
      const visitor = new Visitor(server);
      visitor.headers['x-forwarded-for'] = `192.0.2.${n}`;
      await visitor.signIn(EMAIL);
      await visitor.get('/mfa/auth');
      const code = n < 5 ? '000000' : codeNow();
      const shown = await visitor.post('/mfa/auth', { code });
      t.is(shown.status, 401, String(n));
      texts.add(/id="field-code-error">([^<]*)</.exec(shown.text)?.[1] ?? '');
    }
    t.is(texts.size, 1, 'one sentence for all');
    t.is(server.services.counters.of('sign_ins', 'bad_code'), 5);
    t.is(server.services.counters.of('sign_ins', 'too_many_codes'), 2);
    t.is((await personOf(server.database, EMAIL)).last_signed_in_at, null);
  });

  test(`${kind}: a code works for one sign-in only`, async (t) => {
    const server = await openServer(t, kind);
    const [recovery = ''] = await withFactor(server);
    const code = codeNow();
    for (const [once, status] of [
      [code, 303],
      [code, 401],
      [recovery, 303],
      [recovery, 401],
    ] as const) {
      const visitor = new Visitor(server);
      await visitor.signIn(EMAIL);
      await visitor.get('/mfa/auth');
      t.is((await visitor.post('/mfa/auth', { code: once })).status, status);
    }
  });

  test(`${kind}: the second step is possible for ten minutes, only for the browser of the first step`, async (t) => {
    const server = await openServer(t, kind);
    await withFactor(server);
    t.is((await new Visitor(server).get('/mfa/auth')).location, '/');
    const visitor = new Visitor(server);
    await visitor.signIn(EMAIL);
    const inserted_at = new Date(Date.now() - 10 * 60_000);
    await server.database.models.Session.update({ inserted_at }, { where: {} });
    t.is((await visitor.get('/mfa/auth')).location, '/?why=ended');
    await addPerson(server.database, 'ben@example.com');
    const ben = new Visitor(server);
    await ben.signIn('ben@example.com');
    t.is((await ben.get('/mfa/auth')).location, '/');
  });

  test(`${kind}: if the first step was ended, the second step is refused`, async (t) => {
    const server = await openServer(t, kind);
    await withFactor(server);
    const visitor = new Visitor(server);
    await visitor.signIn(EMAIL);
    await visitor.get('/mfa/auth');
    endSessionsBefore(server, '/mfa/auth');
    t.is((await visitor.post('/mfa/auth', { code: codeNow() })).status, 401);
    t.is(await server.database.models.Session.count(), 0);
    t.is((await personOf(server.database, EMAIL)).last_signed_in_at, null);
  });

  test(`${kind}: a user who is disabled between the steps is not signed in`, async (t) => {
    const server = await openServer(t, kind);
    await withFactor(server);
    const visitor = new Visitor(server);
    await visitor.signIn(EMAIL);
    await visitor.get('/mfa/auth');
    const user = await personOf(server.database, EMAIL);
    const shut = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    await writeTransaction(server.database, (transaction) => user.update(shut, { transaction }));
    t.is((await visitor.post('/mfa/auth', { code: codeNow() })).location, '/?why=ended');
    t.is(await server.database.models.Session.count(), 0);
  });
}
