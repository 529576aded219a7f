// Strangers at a whole server, over sockets: what is limited, what is free, and what connections
// and handshakes cost. The clock of the limits goes on only where a test moves it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { Agent, request as tlsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { makeCertificate } from '../../../lib/auth/saml/certificate.ts';
import { openLocalSocket } from '../../../lib/kit/http/local-socket.ts';
import { listen, configOf, openServer, type TestServer } from '../../support/api/server.ts';
import { addPerson, Visitor } from '../../support/web/visitor.ts';
import { revokeToken } from '../../support/database/revoke.ts';

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

type Ask = (path: string, sent?: Sent) => Promise<Got>;

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly agent?: Agent;
}

async function open(
  t: ExecutionContext,
  settings: Record<string, string> = {},
): Promise<TestServer & { readonly clock: { ms: number }; readonly ask: Ask }> {
  const clock = { ms: 0 };
  const config = listen(configOf({ API_RATE_LIMIT: '1000', ...settings }));
  const opened = await openServer(t, 'sqlite', {}, { config, limitsNow: () => clock.ms });
  await opened.server.initialize();
  await opened.server.start();
  t.teardown(() => opened.server.stop({ timeout: 0 }));
  const port = Number(opened.server.info.port);
  const isTls = config.httpTlsCert !== null;
  return { ...opened, clock, ask: (path, sent = {}) => askAt(port, isTls, path, sent) };
}

function askAt(port: number, isTls: boolean, path: string, sent: Sent): Promise<Got> {
  const { method = 'GET', headers = {}, agent = false } = sent;
  const options = { host: '127.0.0.1', port, path, method, headers, agent };
  return new Promise((resolve, reject) => {
    const asked = isTls
      ? tlsRequest({ ...options, rejectUnauthorized: false })
      : plainRequest({ ...options, agent: false });
    asked.once('error', reject).once('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.once('end', () => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
      });
    });
    asked.end();
  });
}

/** How many of some requests are not refused. */
async function passed(count: number, ask: () => Promise<Got>): Promise<number> {
  const answers = await Promise.all(Array.from({ length: count }, ask));
  return answers.filter(({ status }) => status !== 429).length;
}

const LIMITED = [
  ['GET', '/'],
  ['GET', '/nothing'],
  ['POST', '/nothing'],
  ['PUT', '/'],
  ['GET', '/v0/nothing'],
  ['GET', '/docs'],
  ['GET', '/logo'],
  ['GET', '/favicon.ico'],
  ['GET', '/assets/of-another-version/postern.css'],
  ['POST', '/healthz'],
  ['GET', '/%68ealthz'],
  ['GET', '/', { expect: 'wonders' }],
] as const;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test('a stranger may ask 40 times at once and 20 times a second, whatever it is', async (t) => {
  const { ask, clock, services } = await open(t, { TRUSTED_PROXIES: '127.0.0.1' });
  for (const [i, [method, path, more = {}]] of LIMITED.entries()) {
    // A proxy asks for them all, each for an address of its own.
    const headers = { 'x-forwarded-for': `192.0.2.${i}`, ...more };
    const says = `${method} ${path}`;
    t.is(await passed(50, () => ask(path, { method, headers })), 40, says);
    t.is(services.counters.of('requests_refused', 'too_many_of_address'), 10 * (i + 1), says);
  }
  const headers = { 'x-forwarded-for': '192.0.2.0' };
  const refused = await ask('/', { headers });
  t.is(refused.status, 429);
  t.is(refused.text, '{"error":"too_many_requests"}');
  t.is(refused.headers['retry-after'], '1');
  t.regex(String(refused.headers['x-request-id']), /^[0-9a-f-]{36}$/);
  clock.ms = 1_000;
  t.is(await passed(30, () => ask('/', { headers })), 20);
});

test('health, the present files of pages and open metrics are free', async (t) => {
  const opened = await open(t, { METRICS_ACCESS: 'loopback' });
  const { ask } = opened;
  const page = await ask('/');
  const [asset = ''] = /\/assets\/[^"]+\/postern\.css/.exec(page.text) ?? [];
  await passed(60, () => ask('/'));
  for (const path of ['/healthz', '/readyz?x=1', asset, '/metrics'])
    t.like(await ask(path), { status: 200 }, path);
  t.is((await ask('/healthz', { method: 'HEAD' })).status, 200);
  t.is(await passed(60, () => ask('/healthz')), 60);
  t.is((await ask('/')).status, 429);
});

test('they are free too below the path of EXTERNAL_URL, and nothing else is', async (t) => {
  const { ask } = await open(t, { EXTERNAL_URL: 'https://vpn.example.com/gateway/' });
  const page = await ask('/gateway/');
  const [asset = ''] = /\/gateway\/assets\/[^"]+\/postern\.css/.exec(page.text) ?? [];
  t.is(await passed(60, () => ask('/gateway/nothing')), 39);
  for (const path of ['/gateway/healthz', '/healthz', asset])
    t.is((await ask(path)).status, 200, path);
  t.is((await ask('/gateway/')).status, 429);
});

test('a path of EXTERNAL_URL that begins as ours is taken off by nobody, so nothing below it is free', async (t) => {
  const { ask } = await open(t, { EXTERNAL_URL: 'https://vpn.example.com/users/' });
  t.is(await passed(60, () => ask('/users/healthz')), 40);
});

test('API_RATE_LIMIT=0 turns it off', async (t) => {
  const { ask } = await open(t, { API_RATE_LIMIT: '0' });
  t.is(await passed(300, () => ask('/nothing')), 300);
  t.is(
    await passed(100, () => ask('/v0/users', { headers: bearer(`pst_${'x'.repeat(43)}`) })),
    100,
  );
});

test('a good token, a session, METRICS_TOKEN and the socket of this host pass beside a stranger', async (t) => {
  const metrics = 'm'.repeat(40);
  const opened = await open(t, { METRICS_ACCESS: 'token', METRICS_TOKEN: metrics });
  const { ask, token, server, services, database } = opened;
  await addPerson(database, 'ann@example.com');
  const cookie = await cookiesOf(opened, 'ann@example.com');
  t.is((await ask('/v0/users', { headers: bearer(token) })).status, 200);
  await passed(60, () => ask('/nothing'));
  t.is((await ask('/v0/users', { headers: bearer(token) })).status, 200);
  t.is((await ask('/user_account', { headers: { cookie } })).status, 200);
  t.is((await ask('/metrics', { headers: bearer(metrics) })).status, 200);
  t.is((await ask('/metrics', { headers: bearer('another') })).status, 429);
  const folder = mkdtempSync(join(tmpdir(), 'postern-strangers-'));
  const path = join(folder, 'gateway.sock');
  const close = await openLocalSocket({ ...services, path, server: server.listener });
  t.teardown(async () => {
    await close();
    rmSync(folder, { recursive: true, force: true });
  });
  const local = await new Promise<number>((resolve, reject) => {
    plainRequest({ socketPath: path, path: '/v0/users' }, ({ statusCode }) =>
      resolve(statusCode ?? 0),
    )
      .once('error', reject)
      .end();
  });
  t.is(local, 200);
});

test('a token that was revoked is a stranger from its next request on', async (t) => {
  const { ask, token, database } = await open(t);
  const users = () => ask('/v0/users', { headers: bearer(token) });
  t.is((await users()).status, 200);
  await passed(60, () => ask('/nothing'));
  const row = await database.models.ApiToken.findOne({ attributes: ['id'] });
  t.true(await revokeToken(database, row?.id ?? ''));
  t.is((await users()).status, 429, 'it was known, so it was looked at');
  t.is((await ask('/nothing', { headers: bearer(token) })).status, 429);
});

/** The cookies of somebody who signed in. */
async function cookiesOf(opened: TestServer, email: string): Promise<string> {
  const visitor = new Visitor(opened);
  await visitor.signIn(email);
  return [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

test('a user who is no administrator has a pace, whatever they ask for and by how many sessions', async (t) => {
  const opened = await open(t);
  const { ask, clock, database, services, token } = opened;
  await addPerson(database, 'ann@example.com');
  const [one, other] = [
    await cookiesOf(opened, 'ann@example.com'),
    await cookiesOf(opened, 'ann@example.com'),
  ];
  clock.ms = 60_000;
  const askAs = (cookie: string, path: string, method = 'GET') =>
    ask(path, { method, headers: { cookie } });
  t.is(await passed(40, () => askAs(one, '/user_account')), 40);
  t.is(await passed(40, () => askAs(other, '/nothing')), 20);
  const refused = await askAs(one, '/user_account');
  t.is(refused.status, 429);
  t.is(refused.headers['retry-after'], '1');
  t.deepEqual(JSON.parse(refused.text), {
    error: 'too_many_requests',
    message: 'You asked too often. Wait a second, then ask again, and less often.',
  });
  t.is(services.counters.of('requests_refused', 'too_many_of_user'), 21);
  t.is((await askAs(one, '/healthz')).status, 200, 'free');
  t.is((await ask('/v0/users', { headers: bearer(token) })).status, 200, 'an administrator');
  clock.ms = 120_000;
  t.is(await passed(40, () => askAs(one, '/user_account', 'POST')), 30);
  t.is(services.counters.of('requests_refused', 'too_many_writes_of_user'), 10);
  t.is((await askAs(one, '/user_account')).status, 200, 'reads go on');
});

test('API_RATE_LIMIT=0 lets users ask as often as they like', async (t) => {
  const opened = await open(t, { API_RATE_LIMIT: '0' });
  await addPerson(opened.database, 'ann@example.com');
  const headers = { cookie: await cookiesOf(opened, 'ann@example.com') };
  t.is(await passed(100, () => opened.ask('/nothing', { headers, method: 'POST' })), 100);
});

async function openTls(t: ExecutionContext, settings: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-tls-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const { privateKey, certificate } = await makeCertificate(new Date(), Buffer.alloc(8, 0x11));
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(cert, certificate);
  writeFileSync(key, privateKey);
  return open(t, {
    EXTERNAL_URL: 'https://vpn.example.com/',
    HTTP_TLS_CERT: cert,
    HTTP_TLS_KEY: key,
    ...settings,
  });
}

/** How many of some requests get an answer, each by a connection of its own. */
async function answered(count: number, ask: () => Promise<Got>): Promise<number> {
  let got = 0;
  for (let i = 0; i < count; i += 1)
    await ask().then(
      () => (got += 1),
      () => undefined,
    );
  return got;
}

test('a TLS handshake takes one, and gives it back when its first request passes', async (t) => {
  const { ask, services } = await openTls(t);
  t.is(await answered(30, () => ask('/healthz')), 30, 'health is free');
  t.is(await answered(30, () => ask('/nothing')), 30, 'these cost one each');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  // The connection itself needs one of the ten that are left, for as long as it is new.
  t.is(await passed(15, () => ask('/nothing', { agent })), 10);
  t.is(await answered(3, () => ask('/healthz')), 0, 'nothing is left for a handshake');
  t.is(services.counters.of('connections_refused', 'too_many_handshakes'), 3);
});

test('handshakes without a request stay paid', async (t) => {
  const { ask, clock } = await openTls(t);
  // The first request of each is refused, because nothing is left.
  t.is(await answered(60, () => ask('/nothing')), 40);
  clock.ms = 500;
  t.is(await answered(20, () => ask('/nothing')), 10);
});

test('handshakes are free for an address from which a good token came within the hour', async (t) => {
  const { ask, clock, token } = await openTls(t);
  const users = () => ask('/v0/users', { headers: bearer(token) });
  t.is((await users()).status, 200);
  t.is(await passed(60, () => ask('/nothing')), 40);
  t.is(await answered(50, users), 50);
  // The look at the hour is the gate's: a stranger of that address gets as far as a refusal.
  t.is((await ask('/nothing')).status, 429);
  clock.ms = 3_600_001;
  t.is(await answered(60, () => ask('/nothing')), 40);
});

test('API_RATE_LIMIT=0 limits no handshakes', async (t) => {
  const { ask } = await openTls(t, { API_RATE_LIMIT: '0' });
  t.is(await answered(45, () => ask('/nothing')), 45);
});
