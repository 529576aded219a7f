// Completing a sign-in: what every method has in common.

import test from 'ava';
import { completeSignIn, signOut } from '../../../lib/auth/sign-in.ts';
import { Sessions } from '../../../lib/auth/sessions.ts';
import { currentRevision, readAuditEntries, readChanges } from '../../../models/index.ts';
import { databaseKinds } from '../../support/database/databases.ts';
import { openServer, type TestServer } from '../../support/api/server.ts';
import { addPerson, personOf, Visitor } from '../../support/web/visitor.ts';

const EMAIL = 'ann@example.com';

/** A route by which a provider completes a sign-in. */
function addProvider(server: TestServer, method: string): void {
  const { services } = server;
  const context = { services, sessions: new Sessions({ ...services }), outside: '' };
  server.server.route({
    method: 'GET',
    path: `/complete/${method}`,
    options: { auth: false },
    handler: (request, h) =>
      completeSignIn(context, request, h, {
        userId: String(request.query['user']),
        method,
        returnTo: request.query['to'] as string,
      }),
  });
  server.server.route({
    method: 'GET',
    path: `/leave/${method}`,
    options: { auth: false },
    handler: async (request, h) => {
      await signOut(context, request, h);
      return 'left';
    },
  });
}

for (const kind of databaseKinds()) {
  test(`${kind}: time and method are stored, and gateways and the audit trail get them`, async (t) => {
    const server = await openServer(t, kind);
    const { id } = await addPerson(server.database, EMAIL);
    addProvider(server, 'okta');
    const before = await currentRevision(server.database);
    const started = Date.now();
    const shown = await new Visitor(server).get(`/complete/okta?user=${id}`);
    t.is(shown.status, 303);
    t.is(shown.location, '/');
    const user = await personOf(server.database, EMAIL);
    t.is(user.last_signed_in_method, 'okta');
    t.true((user.last_signed_in_at?.getTime() ?? 0) >= started);
    const since = await readChanges(server.database, before);
    t.deepEqual(since.full === true || since.changes, [{ table: 'users', id }]);
    t.is(shown.headers['postern-revision'], String(since.revision));
    const [entry] = await readAuditEntries(server.database, { limit: 1 });
    t.like(entry, { action: 'sign in', kind: 'user', record_id: id, user_id: id, email: EMAIL });
    t.deepEqual(entry?.changes, { method: { to: 'okta' } });
    t.is(server.services.counters.of('sign_ins', 'completed'), 1);
  });

  test(`${kind}: the browser is sent to the page that it asked for, and never to another site`, async (t) => {
    const server = await openServer(t, kind);
    const { id } = await addPerson(server.database, EMAIL);
    addProvider(server, 'okta');
    for (const [to, leads] of [
      ['/user_account', '/user_account'],
      ['//evil.example', '/'],
      ['https://evil.example', '/'],
      ['/\\evil.example', '/'],
      ['/x\r\nset-cookie: a=b', '/'],
    ] as const) {
      const query = new URLSearchParams({ user: id, to }).toString();
      const shown = await new Visitor(server).get(`/complete/okta?${query}`);
      t.is(shown.location, leads, to);
    }
  });

  test(`${kind}: a user whom the error of a provider disabled is enabled by its next sign-in`, async (t) => {
    const server = await openServer(t, kind);
    addProvider(server, 'okta');
    addProvider(server, 'other');
    const shut = { disabled_at: new Date(), disabled_by: 'provider' } as const;
    const { id } = await addPerson(server.database, EMAIL, { ...shut, disabled_provider: 'okta' });
    const refused = await new Visitor(server).get(`/complete/other?user=${id}`);
    t.is(refused.status, 403);
    t.regex(refused.text, /this account is disabled/);
    t.is((await new Visitor(server).get(`/complete/okta?user=${id}`)).status, 303);
    const user = await personOf(server.database, EMAIL);
    t.like(user.get({ plain: true }), {
      disabled_at: null,
      disabled_by: null,
      disabled_provider: null,
    });
  });

  test(`${kind}: a user who was deleted, or disabled by an administrator, gets no session`, async (t) => {
    const server = await openServer(t, kind);
    addProvider(server, 'okta');
    const shut = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    const { id } = await addPerson(server.database, EMAIL, { ...shut, disabled_provider: 'okta' });
    for (const user of [id, '00000000-0000-7000-8000-000000000000']) {
      const visitor = new Visitor(server);
      const shown = await visitor.get(`/complete/okta?user=${user}`);
      t.is(shown.status, 403);
      t.false(visitor.cookies.has('postern-session'));
    }
    t.is(await server.database.models.Session.count(), 0);
    t.is((await personOf(server.database, EMAIL)).last_signed_in_at, null);
  });

  test(`${kind}: signing out ends only this session, and the audit trail keeps it`, async (t) => {
    const server = await openServer(t, kind);
    const { id } = await addPerson(server.database, EMAIL);
    addProvider(server, 'okta');
    const [one, other] = [new Visitor(server), new Visitor(server)];
    for (const visitor of [one, other]) await visitor.get(`/complete/okta?user=${id}`);
    await one.get('/leave/okta');
    t.false(one.cookies.has('postern-session'));
    t.is(await server.database.models.Session.count(), 1);
    t.is((await other.get('/user_account')).status, 200);
    const [entry] = await readAuditEntries(server.database, { limit: 1 });
    t.like(entry, { action: 'sign out', record_id: id, email: EMAIL });
    t.is((await one.get('/leave/okta')).status, 200, 'twice is no error');
  });
}
