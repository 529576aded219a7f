// Rate limits: in virtual time, and over HTTP in the order of docs/api.md#order-of-checks.

import test from 'ava';
import { ApiError } from '../../../lib/kit/http/errors.ts';
import { RateLimits } from '../../../lib/auth/rate-limits.ts';
import { createToken } from '../../../lib/auth/tokens.ts';
import { writeTransaction } from '../../../models/index.ts';
import { ADMIN_EMAIL, type Answer, openServer, type TestServer } from '../../support/api/server.ts';

/** Time that does not pass: what is empty is not filled again, however long a request takes. */
const STILL = { limitsNow: () => 0 };

const refusal = { instanceOf: ApiError, message: 'too_many_requests' };

test('a token has the given rate and twice that at once', (t) => {
  let ms = 0;
  const limits = new RateLimits(5, () => ms);
  for (let i = 0; i < 10; i += 1) limits.checkToken('a');
  t.throws(() => limits.checkToken('a'), refusal);
  t.notThrows(() => limits.checkToken('b'));
  ms = 200;
  t.notThrows(() => limits.checkToken('a'));
  t.throws(() => limits.checkToken('a'), refusal);
});

test('0 is no limit', (t) => {
  const limits = new RateLimits(0);
  t.notThrows(() => {
    for (let i = 0; i < 10_000; i += 1) limits.checkToken('a');
  });
});

const repeat = async (count: number, act: () => Promise<Answer>): Promise<Answer> => {
  let last = await act();
  for (let i = 1; i < count; i += 1) last = await act();
  return last;
};

/** Empties the bucket of a token. */
async function exhaust({ send }: TestServer, token?: string): Promise<Answer> {
  return repeat(4, () => send('GET', '/v0/configuration', token === undefined ? {} : { token }));
}

test('too many requests are answered 429 with the time to wait, and counted', async (t) => {
  const server = await openServer(t, 'sqlite', { API_RATE_LIMIT: '1' }, STILL);
  const answer = await exhaust(server);
  t.is(answer.status, 429);
  t.deepEqual(answer.body, { error: 'too_many_requests' });
  t.is(answer.headers['retry-after'], '1');
  t.not(answer.headers['x-request-id'], undefined);
  t.true(server.services.counters.of('requests_refused', 'too_many_of_token') >= 1);
});

test('another token of the same user goes on', async (t) => {
  const server = await openServer(t, 'sqlite', { API_RATE_LIMIT: '1' }, STILL);
  const { token } = await createToken(server.database, { email: ADMIN_EMAIL, name: 'other' });
  t.is((await exhaust(server)).status, 429);
  t.is((await server.send('GET', '/v0/configuration', { token })).status, 200);
});

test('the limit is checked behind 404 and 401, and before 403, bodies and ids', async (t) => {
  const server = await openServer(t, 'sqlite', { API_RATE_LIMIT: '1' }, STILL);
  const { send, database } = server;
  await writeTransaction(database, (transaction) =>
    database.models.User.create({ email: 'u@b.example' }, { transaction }),
  );
  const { token } = await createToken(database, { email: 'u@b.example', name: 'unprivileged' });
  t.is((await send('GET', '/v0/users', { token })).status, 403);
  t.is((await exhaust(server, token)).status, 429, 'instead of 403');
  await exhaust(server);
  const statuses = async (...rows: [string, string, object?][]): Promise<number[]> =>
    Promise.all(
      rows.map(async ([method, path, sent = {}]) => (await send(method, path, sent)).status),
    );
  t.deepEqual(
    await statuses(
      ['GET', '/v0/nothing'],
      ['GET', '/v0/users', { token: null }],
      ['GET', '/v0/users', { token: 'pst_x' }],
      ['GET', '/healthz', { token: null }],
    ),
    [404, 401, 401, 200],
  );
  t.deepEqual(
    await statuses(
      ['POST', '/v0/rules', { body: 'x', headers: { 'content-type': 'text/plain' } }],
      ['GET', '/v0/rules/nothing'],
    ),
    [429, 429],
  );
});

test('what is open to everyone is limited by address, health is not', async (t) => {
  const { server, send } = await openServer(t, 'sqlite', { API_RATE_LIMIT: '1000' }, STILL);
  server.route({ method: 'GET', path: '/v0/open', options: { auth: false }, handler: () => ({}) });
  const askMany = async (path: string): Promise<Set<number>> => {
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => send('GET', path, { token: null })),
    );
    return new Set(answers.map(({ status }) => status));
  };
  t.deepEqual(await askMany('/v0/open'), new Set([200, 429]));
  t.deepEqual(await askMany('/healthz'), new Set([200]));
  t.deepEqual(await askMany('/v0/nothing'), new Set([429]), 'what does not exist too');
});

test('bad tokens are limited by address, and lock no good one out', async (t) => {
  const { send } = await openServer(
    t,
    'sqlite',
    {
      API_RATE_LIMIT: '1000',
      TRUSTED_PROXIES: '127.0.0.1',
    },
    STILL,
  );
  const from = (address: string, token: string | null) =>
    send('GET', '/v0/configuration', { token, headers: { 'x-forwarded-for': address } });
  const bad = `pst_${'x'.repeat(43)}`;
  // Once it was seen, it is known.
  await send('GET', '/v0/configuration', { headers: { 'x-forwarded-for': '192.0.2.9' } });
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, i) => from('192.0.2.1', i % 2 === 0 ? bad : null)),
  );
  const count = (status: number): number =>
    answers.filter((answer) => answer.status === status).length;
  t.is(count(401) + count(429), 300);
  t.is(count(401), 40, 'as many as may come at once');
  const good = await send('GET', '/v0/configuration', {
    headers: { 'x-forwarded-for': '192.0.2.1' },
  });
  t.is(good.status, 200, 'a good token from that address');
  t.is((await from('192.0.2.2', bad)).status, 401, 'another address');
});

test('a device that asks too often over IPv6 leaves the others their requests', async (t) => {
  const settings = { API_RATE_LIMIT: '1000', HTTP_THROUGH_TUNNEL: 'on' };
  const { server } = await openServer(t, 'sqlite', settings, STILL);
  const ask = async (remoteAddress: string): Promise<number> =>
    (await server.inject({ url: '/v0/configuration', remoteAddress })).statusCode;
  for (const [crowd, other] of [
    ['fd00::2', 'fd00::3'],
    ['2001:db8::2', '2001:db8:0:1::2'],
  ] as const) {
    let last = 0;
    for (let i = 0; i <= 40; i += 1) last = await ask(crowd);
    t.is(last, 429, crowd);
    t.is(await ask(other), 401, other);
  }
  t.is(await ask('2001:db8::3'), 429, 'outside the tunnel a /64 is one address');
});
