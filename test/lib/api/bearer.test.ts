// Who may use the API: docs/api.md#authentication, over HTTP.

import test from 'ava';
import { showTime } from '../../../lib/kit/records/shown.ts';
import { hashToken } from '../../../lib/auth/tokens.ts';
import { createToken } from '../../../lib/auth/tokens.ts';
import { type Database, writeTransaction } from '../../../models/index.ts';
import { untilHolds } from '../../support/api/running-capture.ts';
import { ADMIN_EMAIL, openServer, refused, serverOn, surfaces } from '../../support/api/server.ts';
import { revokeToken } from '../../support/database/revoke.ts';

const path = '/v0/users';
const unauthenticated = refused({ auth: 'unauthenticated' });
const invalidToken = refused({ auth: 'invalid_token' });

async function change(database: Database, email: string, values: object): Promise<void> {
  await writeTransaction(database, (transaction) =>
    database.models.User.update(values, { where: { email }, transaction }),
  );
}

for (const kind of surfaces()) {
  test(`${kind}: a token is accepted only as a bearer in the Authorization header`, async (t) => {
    const { send, token } = await openServer(t, kind);
    const table: [authorization: string | null, status: number, body?: object][] = [
      [`Bearer ${token}`, 200],
      [`bearer ${token}`, 200],
      [`BEARER   ${token} `, 200],
      [null, 401, unauthenticated],
      ['', 401, unauthenticated],
      ['Bearer', 401, unauthenticated],
      ['Bearer ', 401, unauthenticated],
      ['Bearer    ', 401, unauthenticated],
      [token, 401, unauthenticated],
      [`Basic ${token}`, 401, unauthenticated],
      [`Token ${token}`, 401, unauthenticated],
      [`Bearer${token}`, 401, unauthenticated],
      ['Bearer x', 401, invalidToken],
      [`Bearer ${token}x`, 401, invalidToken],
      [`Bearer ${token.slice(0, -1)}`, 401, invalidToken],
      [`Bearer ${token} ${token}`, 401, invalidToken],
      [`Bearer pst_${'A'.repeat(43)}`, 401, invalidToken],
      [`Bearer ${token.toUpperCase()}`, 401, invalidToken],
    ];
    for (const [authorization, status, body] of table) {
      const headers = authorization === null ? {} : { authorization };
      const answer = await send('GET', path, { token: null, headers });
      t.is(answer.status, status, String(authorization));
      if (body !== undefined) t.deepEqual(answer.body, body, String(authorization));
      t.is(answer.headers['www-authenticate'], status === 401 ? 'Bearer' : undefined);
    }
    for (const query of [
      `?access_token=${token}`,
      `?token=${token}`,
      `?authorization=Bearer%20${token}`,
    ])
      t.is((await send('GET', path + query, { token: null })).status, 401);
  });

  test(`${kind}: a token no longer works once it is revoked or expired, or its owner is disabled`, async (t) => {
    const one = await openServer(t, kind);
    const two = await serverOn(one.database);
    const { database } = one;
    const ask = async (token: string): Promise<number[]> =>
      Promise.all([one, two].map(async ({ send }) => (await send('GET', path, { token })).status));
    const made = await createToken(database, { email: ADMIN_EMAIL, name: 'x' });
    t.deepEqual(await ask(made.token), [200, 200]);
    t.true(await revokeToken(database, made.id));
    t.deepEqual(await ask(made.token), [401, 401], 'at the next request, in every process');
    const answer = await one.send('GET', path, { token: made.token });
    t.deepEqual(answer.body, invalidToken);

    const past = new Date(Date.now() - 86_400_000 - 1000);
    const old = await createToken(database, { email: ADMIN_EMAIL, name: 'old', days: 1 }, past);
    t.deepEqual(await ask(old.token), [401, 401]);
    const expired = await one.send('GET', path, { token: old.token });
    const detail = `this token expired at ${showTime(old.expires_at)}`;
    t.deepEqual(expired.body, { ...invalidToken, detail }, 'the answer says so');
    const first = `${old.token.slice(0, 5) === 'pst_A' ? 'pst_B' : 'pst_A'}${old.token.slice(5)}`;
    t.deepEqual((await one.send('GET', path, { token: first })).body, invalidToken);
    t.true(await revokeToken(database, old.id));
    t.deepEqual((await one.send('GET', path, { token: old.token })).body, invalidToken);

    await one.send('POST', path, { body: { user: { email: 'bob@example.com', role: 'admin' } } });
    const bob = await createToken(database, { email: 'bob@example.com', name: 'bob' });
    t.deepEqual(await ask(bob.token), [200, 200]);
    await change(database, 'bob@example.com', { disabled_at: new Date(), disabled_by: 'provider' });
    t.deepEqual(await ask(bob.token), [401, 401]);
    await change(database, 'bob@example.com', { disabled_at: null, disabled_by: null });
    t.deepEqual(await ask(bob.token), [200, 200]);
    await change(database, 'bob@example.com', { role: 'unprivileged' });
    t.deepEqual(await ask(bob.token), [403, 403]);
    await one.send('DELETE', '/v0/users/bob@example.com');
    t.deepEqual(await ask(bob.token), [401, 401]);
  });

  test(`${kind}: a token expires by the clock, even while it is cached`, async (t) => {
    const { send, database } = await openServer(t, kind);
    let token = '';
    let expiresAt = 0;
    let status = 0;
    // A slow machine needs longer to use it once before it expires.
    for (let leftMs = 1_000; leftMs < 60_000; leftMs *= 3) {
      expiresAt = Date.now() + leftMs;
      const almost = new Date(expiresAt - 86_400_000);
      const fields = { email: ADMIN_EMAIL, name: `${leftMs}`, days: 1 };
      ({ token } = await createToken(database, fields, almost));
      ({ status } = await send('GET', path, { token }));
      if (status === 200) break;
    }
    t.is(status, 200, 'it is valid before');
    await new Promise((resolve) => setTimeout(resolve, expiresAt + 100 - Date.now()));
    const over = await send('GET', path, { token });
    t.is(over.status, 401);
    t.regex(JSON.stringify(over.body), /this token expired at /);
  });

  test(`${kind}: a user who is no administrator is refused on every operation`, async (t) => {
    const { send, database, adminId } = await openServer(t, kind);
    await send('POST', path, { body: { user: { email: 'weak@example.com' } } });
    const { token } = await createToken(database, { email: 'weak@example.com', name: 'weak' });
    const operations = [
      ...['users', 'devices', 'rules'].flatMap((name) => [
        ['GET', `/v0/${name}`],
        ['POST', `/v0/${name}`],
        ...['GET', 'HEAD', 'PATCH', 'PUT', 'DELETE'].map((method) => [
          method,
          `/v0/${name}/${adminId}`,
        ]),
      ]),
      ['GET', '/v0/configuration'],
      ['PATCH', '/v0/configuration'],
      ['PUT', '/v0/configuration'],
      ['GET', '/v0/users/weak@example.com'],
    ] as [string, string][];
    for (const [method, to] of operations) {
      const answer = await send(method, to, { token });
      t.is(answer.status, 403, `${method} ${to}`);
      if (method !== 'HEAD') t.deepEqual(answer.body, { error: 'forbidden' });
    }
  });

  test(`${kind}: the last use of a token is stored, at most once a minute`, async (t) => {
    const { send, database, token } = await openServer(t, kind);
    const lastUsed = async (): Promise<Date | null> =>
      (await database.models.ApiToken.findOne({ where: { sha256: hashToken(token) } }))
        ?.last_used_at ?? null;
    t.is(await lastUsed(), null);
    const beganMs = Date.now();
    await send('GET', path);
    await untilHolds(async () => (await lastUsed()) !== null);
    const first = (await lastUsed())!;
    t.true(first.getTime() >= beganMs && first.getTime() <= Date.now(), first.toISOString());
    await send('GET', path);
    await new Promise((resolve) => setTimeout(resolve, 50));
    t.deepEqual(await lastUsed(), first);
  });

  test(`${kind}: no secret is in the log or in an answer`, async (t) => {
    const { send, token, log } = await openServer(t, kind);
    const password = 'correct horse battery';
    const user = { email: 'ann@example.com', password, password_confirmation: password };
    const { text } = await send('POST', path, { body: { user } });
    await send('GET', path, { token: `${token}x` });
    const heard = JSON.stringify(log) + text;
    for (const secret of [password, token, hashToken(token), '$2b$'])
      t.false(heard.includes(secret));
  });
}
