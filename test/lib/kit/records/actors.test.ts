// Whoever was let in and lost their right before the transaction writes nothing, by API and form.

import test from 'ava';
import { createToken } from '../../../../lib/auth/tokens.ts';
import { writeTransaction } from '../../../../models/index.ts';
import { ADMIN_EMAIL, openServer, type TestServer } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addPerson, personOf, Visitor } from '../../../support/web/visitor.ts';
import { disableUser, revokeToken } from '../../../support/database/revoke.ts';

/** Does something between the moment a request is let in and its handler. */
function meanwhile({ server }: TestServer, path: string, act: () => Promise<unknown>): void {
  server.ext('onPreHandler', async (request, h) => {
    if (request.method !== 'get' && request.path === path) await act();
    return h.continue;
  });
}

const rule = { body: { rule: { destination: '10.0.0.1' } } };

for (const kind of databaseKinds()) {
  for (const [title, status, act] of [
    [
      'token is revoked',
      401,
      async ({ database }: TestServer) => {
        const token = await database.models.ApiToken.findOne({ rejectOnEmpty: true });
        await revokeToken(database, token.id);
      },
    ],
    [
      'token ends',
      401,
      async ({ database }: TestServer) => {
        const token = await database.models.ApiToken.findOne({ rejectOnEmpty: true });
        await writeTransaction(database, (transaction) =>
          token.update({ expires_at: new Date(0) }, { transaction }),
        );
      },
    ],
    [
      'user is disabled',
      401,
      async ({ database }: TestServer) => {
        await addPerson(database, 'deputy@example.com', { role: 'admin' });
        await disableUser(database, ADMIN_EMAIL);
      },
    ],
    [
      'user administers no more',
      403,
      async ({ database }: TestServer) => {
        const user = await personOf(database, ADMIN_EMAIL);
        await writeTransaction(database, (transaction) =>
          user.update({ role: 'unprivileged' }, { transaction }),
        );
      },
    ],
  ] as const)
    test(`${kind}: a request whose ${title} meanwhile writes nothing`, async (t) => {
      const opened = await openServer(t, kind);
      meanwhile(opened, '/v0/rules', () => act(opened));
      const answer = await opened.send('POST', '/v0/rules', rule);
      t.is(answer.status, status);
      const said = (answer.body as { detail?: string }).detail;
      const expired = 'this token expired at 1970-01-01T00:00:00.000000Z';
      t.is(said, title === 'token ends' ? expired : undefined);
      t.is(await opened.database.models.Rule.count(), 0);
      t.is(opened.services.counters.of('requests_refused', 'revoked_meanwhile'), 1);
    });

  test(`${kind}: a form whose session ends meanwhile writes nothing and says so`, async (t) => {
    const opened = await openServer(t, kind);
    const { database, services } = opened;
    for (const email of ['boss@example.com', 'other@example.com'])
      await addPerson(database, email, { role: 'admin' });
    const visitor = new Visitor(opened);
    await visitor.signIn('boss@example.com');
    meanwhile(opened, '/rules/new', () => disableUser(database, 'boss@example.com'));
    await visitor.get('/rules/new');
    const shown = await visitor.post('/rules/new', { destination: '10.0.0.1', action: 'accept' });
    t.is(shown.status, 403);
    t.regex(shown.text, /You are signed out/);
    t.is(await database.models.Rule.count(), 0);
    t.is(services.counters.of('requests_refused', 'revoked_meanwhile'), 1);
  });

  test(`${kind}: of writes that share a transaction only the revoked one is refused`, async (t) => {
    const opened = await openServer(t, kind);
    const { database, send } = opened;
    const other = await createToken(database, { email: ADMIN_EMAIL, name: 'other' });
    let isRevoked = false;
    meanwhile(opened, '/v0/rules', async () => {
      if (!isRevoked) await revokeToken(database, other.id);
      isRevoked = true;
    });
    const post = (address: string, token = opened.token) =>
      send('POST', '/v0/rules', { token, body: { rule: { destination: address } } });
    const answers = await Promise.all([
      post('10.0.0.1'),
      post('10.0.0.2', other.token),
      post('10.0.0.3'),
    ]);
    t.deepEqual(
      answers.map(({ status }) => status),
      [201, 401, 201],
    );
    t.is(await database.models.Rule.count(), 2);
  });
}
