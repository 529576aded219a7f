// Who may read the metrics: this host, an administrator's token, METRICS_TOKEN; nobody else, by
// whatever trick. And that requests are counted and logged by route, never by path.

import test, { type ExecutionContext } from 'ava';
import type { Server } from '@hapi/hapi';
import { createToken } from '../../../lib/auth/tokens.ts';
import { readExposition, valueOf } from '../../support/observe/exposition.ts';
import { addUser } from '../../support/database/records.ts';
import { openServer } from '../../support/api/server.ts';
import { fakeObserved, totals, fakeWatched } from '../../support/observe/fake-gateway.ts';

const METRICS_TOKEN = 'a-token-for-prometheus';
const ELSEWHERE = '192.0.2.50';

/** A server whose metrics tell of a device. */
const open = (t: ExecutionContext, settings: Record<string, string> = {}) =>
  openServer(t, 'sqlite', settings, {
    observed: fakeObserved(),
    watched: fakeWatched([totals('a')]),
  });

interface Asked {
  from?: string;
  host?: string;
  token?: string;
  headers?: Record<string, string>;
  method?: string;
}

async function ask(
  server: Server,
  { from = '127.0.0.1', host = 'localhost:13000', token, headers = {}, method = 'GET' }: Asked = {},
): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
  const response = await server.inject({
    method,
    url: '/metrics',
    remoteAddress: from,
    headers: {
      host,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
  });
  return { status: response.statusCode, text: response.payload, headers: response.headers };
}

test('this host may read them, by any of its own names', async (t) => {
  const { server } = await open(t);
  for (const asked of [
    {},
    { from: '::1', host: '[::1]:13000' },
    { from: '::ffff:127.0.0.1', host: '127.0.0.1:13000' },
    { from: '127.8.8.8', host: 'LOCALHOST' },
  ]) {
    const { status, text, headers } = await ask(server, asked);
    t.is(status, 200, JSON.stringify(asked));
    t.true(readExposition(text).has('wireguard_peer_info'));
    t.like(headers, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
    });
  }
});

test('strangers learn nothing, whatever they say of themselves', async (t) => {
  const { server } = await open(t);
  for (const asked of [
    { from: ELSEWHERE },
    { from: ELSEWHERE, host: '127.0.0.1:13000' },
    { from: ELSEWHERE, headers: { 'x-forwarded-for': '127.0.0.1' } },
    { from: '::ffff:192.0.2.50' },
    // Through a proxy on this host.
    { headers: { 'x-forwarded-for': ELSEWHERE } },
    { headers: { 'x-forwarded-for': '127.0.0.1' } },
    { headers: { 'x-forwarded-proto': 'https' } },
    { headers: { forwarded: 'for=192.0.2.50' } },
    { headers: { via: '1.1 proxy' } },
    { headers: { 'x-real-ip': ELSEWHERE } },
    { headers: { 'cf-connecting-ip': ELSEWHERE } },
    // A page in a browser on this host, at a name that its author pointed here.
    { host: 'rebound.example.com:13000' },
    { host: '127.0.0.1.example.com' },
    { host: 'localhost.example.com' },
  ]) {
    const { status, text, headers } = await ask(server, asked);
    t.is(status, 401, JSON.stringify(asked));
    t.is(text, '{"errors":{"auth":"unauthenticated"}}');
    t.is(headers['www-authenticate'], 'Bearer');
  }
});

test('a proxy that is trusted does not make its clients this host', async (t) => {
  const { server } = await open(t, { TRUSTED_PROXIES: '127.0.0.1' });
  t.is((await ask(server, { headers: { 'x-forwarded-for': '127.0.0.1' } })).status, 401);
});

test('tokens: an administrator’s, and METRICS_TOKEN, which opens nothing else', async (t) => {
  const { server, token, send, database } = await open(t, { METRICS_TOKEN });
  const from = ELSEWHERE;
  t.is((await ask(server, { from, token })).status, 200);
  t.is((await ask(server, { from, token: METRICS_TOKEN })).status, 200);
  for (const bad of [`${METRICS_TOKEN}x`, METRICS_TOKEN.slice(1), `pst_${'z'.repeat(43)}`, 'x'])
    t.is((await ask(server, { from, token: bad })).status, 401, bad);
  for (const path of ['/v0/configuration', '/v0/users'])
    t.is((await send('GET', path, { token: METRICS_TOKEN })).status, 401, path);
  await addUser(database, { email: 'plain@example.com' });
  const plain = await createToken(database, { email: 'plain@example.com', name: 'plain' });
  t.is((await ask(server, { from, token: plain.token })).status, 403);
});

test('METRICS_ACCESS=token asks this host as well', async (t) => {
  const { server, token } = await open(t, { METRICS_ACCESS: 'token' });
  t.is((await ask(server)).status, 401);
  t.is((await ask(server, { token })).status, 200);
});

test('METRICS_ACCESS=off: there is no such page', async (t) => {
  const { server, token } = await open(t, { METRICS_ACCESS: 'off' });
  t.is((await ask(server, { token })).status, 404);
});

test('behind a proxy on this host nobody is local, unless the setting says so', async (t) => {
  const behind = { EXTERNAL_URL: 'https://vpn.example.com/' };
  t.is((await ask((await open(t, behind)).server)).status, 401);
  const { server } = await open(t, { ...behind, METRICS_ACCESS: 'loopback' });
  t.is((await ask(server)).status, 200);
});

test('whoever guesses tokens is stopped, and counted', async (t) => {
  const { server, services } = await open(t, { API_RATE_LIMIT: '1000' });
  const statuses = new Set<number>();
  for (let i = 0; i < 60; i++)
    statuses.add((await ask(server, { from: ELSEWHERE, token: `guess-${i}-guess-guess` })).status);
  t.deepEqual([...statuses], [401, 429]);
  t.true(services.counters.of('requests_refused', 'too_many_of_address') > 0);
  const { text } = await ask(server);
  const name = 'wg_gateway_requests_refused_total';
  // The burst, and what refills it meanwhile.
  const refused = valueOf(readExposition(text), name, { reason: 'invalid_token' }) ?? 0;
  t.true(refused >= 40 && refused < 60);
});

test('only so many are read at once, and one that is given up makes room', async (t) => {
  const many = Array.from({ length: 3_000 }, (_, i) => totals(`k${i}`));
  const { server, services } = await openServer(
    t,
    'sqlite over a socket',
    {},
    {
      observed: fakeObserved(),
      watched: fakeWatched(many),
    },
  );
  const scrape = (signal: AbortSignal): Promise<Response> =>
    fetch(`${server.info.uri}/metrics`, { signal });
  // Each takes the headers and none of the rest.
  const aborts = Array.from({ length: 4 }, () => new AbortController());
  for (const { signal } of aborts) t.is((await scrape(signal)).status, 200);
  const fifth = await scrape(new AbortController().signal);
  t.is(fifth.status, 429);
  t.is(services.counters.of('requests_refused', 'too_many_scrapes'), 1);
  for (const abort of aborts) abort.abort();
  for (let status = 429, i = 0; status !== 200; i++) {
    t.true(i < 100, 'there is room again');
    const again = await scrape(new AbortController().signal);
    ({ status } = again);
    await again.arrayBuffer();
  }
});

test('HEAD tells the type and makes no text', async (t) => {
  const { server } = await open(t);
  const { status, text, headers } = await ask(server, { method: 'HEAD' });
  t.deepEqual([status, text], [200, '']);
  t.regex(String(headers['content-type']), /^text\/plain; version=0\.0\.4/);
});

test('requests are counted and logged by route and status, never by path', async (t) => {
  const { server, send, log } = await open(t);
  const { headers } = await send('GET', '/v0/users/jane.doe@example.com');
  await send('GET', '/nowhere/jane.doe@example.com');
  await send('POST', '/v0/rules', { body: { rule: { destination: 'bad' } } });
  const { text } = await ask(server);
  const families = readExposition(text);
  const count = (method: string, route: string, status: string) =>
    valueOf(families, 'http_requests_total', { method, route, status });
  t.is(count('get', '/v0/users/{id}', '404'), 1);
  t.is(count('get', 'none', '404'), 1);
  t.is(count('post', '/v0/rules', '422'), 1);
  const timed = { method: 'get', route: '/v0/users/{id}' };
  t.is(valueOf(families, 'http_request_duration_seconds_count', timed), 1);
  t.false(text.includes('jane'));
  t.false(JSON.stringify(log).includes('jane'));
  const line = log.find(({ message }) => message === 'a request was answered');
  t.like(line, {
    level: 'debug',
    fields: { request_id: headers['x-request-id'], route: '/v0/users/{id}', status: 404 },
  });
});

test('a scrape asks the database nothing', async (t) => {
  const { server, database } = await open(t);
  let statements = 0;
  const query = database.sequelize.query.bind(database.sequelize);
  database.sequelize.query = ((...args: Parameters<typeof query>) => {
    statements += 1;
    return query(...args);
  }) as typeof database.sequelize.query;
  t.is((await ask(server)).status, 200);
  t.is(statements, 0);
});
