// API tokens over the API: made for whoever asks, listed without the token itself, revoked at once.

import test from 'ava';
import { createToken } from '../../../../lib/auth/tokens.ts';
import { newId, readAuditEntries } from '../../../../models/index.ts';
import { ADMIN_EMAIL, openServer } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';

const TOKENS = '/v0/api_tokens';
const DAY_MS = 86_400_000;

for (const kind of databaseKinds()) {
  test(`${kind}: a token is made, shown once, used, listed and revoked`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const made = await send('POST', TOKENS, {
      body: { api_token: { name: ' backup ', days: 30 } },
    });
    t.is(made.status, 201);
    const { token, id, expires_at, inserted_at, ...rest } = made.body.data;
    t.regex(token, /^pst_[\w-]{43}$/);
    t.is(made.headers['location'], `${TOKENS}/${id}`);
    t.deepEqual(rest, {
      user_id: adminId,
      email: ADMIN_EMAIL,
      name: 'backup',
      scopes: ['admin'],
      last_used_at: null,
    });
    t.true(Math.abs(Date.parse(expires_at) - Date.parse(inserted_at) - 30 * DAY_MS) < 60_000);
    t.is((await send('GET', '/v0/users', { token })).status, 200);

    const shown = { id, expires_at, inserted_at, ...rest };
    const one = await send('GET', `${TOKENS}/${id.toUpperCase()}`);
    t.deepEqual({ ...one.body.data, last_used_at: null }, shown);
    const { text, body } = await send('GET', TOKENS);
    t.is(body.data.length, 2, 'that of the test too');
    t.false(text.includes(token) || /[0-9a-f]{64}/.test(text), 'neither token nor hash');

    t.is((await send('DELETE', `${TOKENS}/${id}`)).status, 204);
    t.is((await send('GET', '/v0/users', { token })).status, 401);
    for (const method of ['GET', 'DELETE'])
      t.is((await send(method, `${TOKENS}/${id}`)).status, 404);
    const entries = await readAuditEntries(database, { kind: 'token', recordId: id, limit: 9 });
    t.deepEqual(
      entries.map(({ action, email }) => [action, email]),
      [
        ['create', ADMIN_EMAIL],
        ['delete', ADMIN_EMAIL],
      ],
    );
    t.false(JSON.stringify(entries).includes(token));
  });

  test(`${kind}: a token has the scopes that were asked for, and an error names them`, async (t) => {
    const { send } = await openServer(t, kind);
    const make = async (scopes: unknown) =>
      send('POST', TOKENS, { body: { api_token: { name: 'grafana', scopes } } });
    const { body } = await make(['metrics', 'read']);
    t.deepEqual(body.data.scopes, ['read', 'metrics']);
    t.deepEqual((await make(['capture', 'admin'])).body.data.scopes, ['admin'], 'that is all');
    const { token, id } = body.data;
    t.is((await send('GET', `${TOKENS}/${id}`, { token })).status, 200);
    t.is((await send('DELETE', `${TOKENS}/${id}`, { token })).status, 403);
    const wider = { api_token: { name: 'wider', scopes: ['admin'] } };
    t.is((await send('POST', TOKENS, { token, body: wider })).status, 403);
    for (const bad of [[], ['root'], ['read', 1]]) {
      const answer = await make(bad);
      t.is(answer.status, 422);
      const text = 'should be a list of admin, read, metrics or capture';
      t.deepEqual(answer.body.errors, { scopes: [text] });
    }
    t.deepEqual((await make('read')).body.errors, {
      scopes: ['should be a list of admin, read, metrics or capture'],
    });
  });

  test(`${kind}: no token lives longer than the one that makes it`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { token } = await createToken(database, { email: ADMIN_EMAIL, name: 'short', days: 2 });
    const make = async (api_token: object) =>
      (await send('POST', TOKENS, { token, body: { api_token } })).body.data.expires_at;
    const end = Date.now() + 2 * DAY_MS;
    for (const days of [undefined, 365])
      t.true(Date.parse(await make({ name: 'a', days })) <= end, String(days));
    t.true(Date.parse(await make({ name: 'a', days: 1 })) < end - DAY_MS / 2);
  });

  test(`${kind}: the list comes in pages, of all or of one user`, async (t) => {
    const { send, database, adminId } = await openServer(t, kind);
    const other = await addUser(database, { email: 'bob@example.test', role: 'admin' });
    for (const name of ['one', 'two'])
      await createToken(database, { email: 'bob@example.test', name });
    const first = await send('GET', `${TOKENS}?limit=2`);
    const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(String(first.headers['link'])) ?? [];
    const second = await send('GET', next);
    t.is(second.headers['link'], undefined);
    const all = [...first.body.data, ...second.body.data];
    t.deepEqual(
      all.map(({ user_id }: { user_id: string }) => user_id),
      [adminId, other.id, other.id],
    );
    const ofBob = await send('GET', `${TOKENS}?user_id=${other.id.toUpperCase()}`);
    t.deepEqual(ofBob.body.data, all.slice(1));
    for (const id of [newId(), 'x'])
      t.deepEqual((await send('GET', `${TOKENS}?user_id=${id}`)).body, { data: [] });
  });

  test(`${kind}: errors are reported together, and one user has 25 live tokens at most`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const make = (api_token: object) => send('POST', TOKENS, { body: { api_token } });
    for (const [sent, errors] of [
      [{}, { name: ["can't be blank"] }],
      [
        { name: '  ', days: 0 },
        { name: ["can't be blank"], days: [/1/] },
      ],
      [
        { name: 'x'.repeat(256), days: 366 },
        { name: [/255/], days: [/365/] },
      ],
      [
        { name: 7, days: 1.5 },
        { name: ['is invalid'], days: ['is invalid'] },
      ],
    ] as [object, Record<string, (string | RegExp)[]>][]) {
      const { status, body } = await make(sent);
      t.is(status, 422);
      t.deepEqual(Object.keys(body.errors).sort(), Object.keys(errors).sort());
      for (const [name, [wanted]] of Object.entries(errors))
        t.regex(body.errors[name][0], wanted instanceof RegExp ? wanted : new RegExp(wanted ?? ''));
    }
    const count = await database.models.ApiToken.count();
    for (let i = count; i < 25; i++) t.is((await make({ name: `${i}` })).status, 201);
    t.deepEqual((await make({ name: 'more' })).body.errors, {
      base: ['token limit of 25 reached'],
    });
  });

  test(`${kind}: nobody but an administrator makes, lists or revokes one`, async (t) => {
    const { send, database } = await openServer(t, kind);
    await addUser(database, { email: 'eve@example.test' });
    const { token, id } = await createToken(database, { email: 'eve@example.test', name: 'own' });
    const body = { api_token: { name: 'a' } };
    for (const asked of [{ token }, { token: null }]) {
      const status = asked.token === null ? 401 : 403;
      t.is((await send('GET', TOKENS, asked)).status, status);
      t.is((await send('POST', TOKENS, { ...asked, body })).status, status);
      for (const method of ['GET', 'DELETE'])
        t.is((await send(method, `${TOKENS}/${id}`, asked)).status, status);
    }
    t.is(await database.models.ApiToken.count(), 2);
  });
}
