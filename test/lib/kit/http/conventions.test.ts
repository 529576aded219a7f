// What holds for every request. The server's own test looks at it from outside.

import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { addPerson, PASSWORD, Visitor } from '../../../support/web/visitor.ts';

test('bytes and percent signs that encode nothing are read as they are', async (t) => {
  const { server, send } = await openServer(t, 'sqlite');
  server.route({
    method: 'GET',
    path: '/echo/{text}',
    options: { auth: false },
    handler: ({ params, query }) => ({ text: params['text'] as string, query }),
  });
  const raw = Buffer.from('jürgen', 'utf8').toString('latin1');
  const table: [path: string, text: string][] = [
    ['/echo/a%40b', 'a@b'],
    ['/echo/a+b', 'a+b'],
    ['/echo/a%2Bb', 'a+b'],
    ['/echo/a%2Fb', 'a/b'],
    ['/echo/100%', '100%'],
    ['/echo/100%zz%41', '100%zzA'],
    ['/echo/j%C3%BCrgen', 'jürgen'],
    [`/echo/${raw}/`, 'jürgen'],
  ];
  for (const [path, text] of table) t.is((await send('GET', path)).body?.text, text, path);
  t.deepEqual((await send('GET', `/echo/${raw}%?x=1&y=%41`)).body, {
    text: 'jürgen%',
    query: { x: '1', y: 'A' },
  });
});

test('a request that comes with an id of its own gets ours', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  const headers = { 'x-request-id': 'mine' };
  const answer = await send('GET', '/healthz', { headers });
  t.not(answer.headers['x-request-id'], 'mine');
});

test('the path of EXTERNAL_URL is taken off, whether or not the proxy has done it', async (t) => {
  const { server, send } = await openServer(t, 'sqlite', {
    EXTERNAL_URL: 'https://vpn.example.com/a%2fb/%76pn/',
  });
  server.route({
    method: 'GET',
    path: '/echo/{text}',
    options: { auth: false },
    handler: ({ params, query, path }) => ({ text: params['text'] as string, query, path }),
  });
  const raw = Buffer.from('jürgen', 'utf8').toString('latin1');
  for (const path of [`/echo/${raw}%?x=1&y=%41`, `/a%2Fb/vpn/echo/${raw}%?x=1&y=%41`])
    t.deepEqual((await send('GET', path)).body, {
      text: 'jürgen%',
      query: { x: '1', y: 'A' },
      path: '/echo/j%C3%BCrgen%25',
    });
  for (const path of ['/a%2fb/%76pn/healthz', '/a%2Fb/vpn/healthz/', '/a%2Fb/vpn/v0/users'])
    t.is((await send('GET', path)).status, 200, path);
  for (const path of [
    '/a%2Fb/vpnhealthz',
    '/a%2Fb/vpn//evil.example/healthz',
    '/a/b/vpn/healthz',
    '/a%2Fb/vpn/a%2Fb/vpn/healthz',
  ])
    t.is((await send('GET', path)).status, 404, path);
  const user = { email: 'ann@example.com' };
  const made = await send('POST', '/a%2Fb/vpn/v0/users', { body: { user } });
  t.is(made.status, 201);
  t.regex(String(made.headers['location']), /^\/a%2fb\/%76pn\/v0\/users\//);
  t.is((await send('GET', String(made.headers['location']))).status, 200);
});

test('a path that begins as one of ours is left on', async (t) => {
  const { send } = await openServer(t, 'sqlite', {
    EXTERNAL_URL: 'https://vpn.example.com/docs/x/',
  });
  t.is((await send('GET', '/docs/x/healthz')).status, 404);
  t.is((await send('GET', '/healthz')).status, 200);
  t.is((await send('GET', '/v0/users')).status, 200);
});

test('people sign in behind a proxy that takes nothing off', async (t) => {
  const server = await openServer(t, 'sqlite', { EXTERNAL_URL: 'http://127.0.0.1:13000/vpn/' });
  await addPerson(server.database, 'ann@example.com');
  const visitor = new Visitor(server);
  visitor.headers['host'] = '127.0.0.1:13000';
  const asked = await visitor.get('/vpn/user_account?x=1');
  t.regex(asked.location ?? '', /^\/vpn\//);
  const page = await visitor.get(asked.location ?? '');
  t.is(page.status, 200);
  const [, style = ''] = /href="(\/vpn\/assets\/[^"]+\.css)"/.exec(page.text) ?? [];
  t.is((await visitor.get(style)).status, 200);
  const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(page.text) ?? [];
  t.regex(action, /^\/vpn\//);
  const fields = { email: 'ann@example.com', password: PASSWORD, return_to: '/user_account?x=1' };
  const done = await visitor.post(action, fields);
  t.is(done.location, '/vpn/user_account?x=1');
  t.is((await visitor.get(done.location ?? '')).status, 200);
  t.is((await visitor.get('/vpn')).location, '/vpn/user_devices');
});

/** The status of the answer to a request, byte by byte as it is spelled. */
async function statusOf({ server, token }: TestServer, target: string, host: string) {
  const socket = connect(Number(server.info.port), '127.0.0.1');
  const lines = [`GET ${target} HTTP/1.1`, `host: ${host}`, 'accept: text/html'];
  socket.write(
    [...lines, `authorization: Bearer ${token}`, 'connection: close', '', ''].join('\r\n'),
  );
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Number(Buffer.concat(chunks).toString('latin1').split(' ')[1]);
}

const STRANGE_HOSTS = ['a:b', '[', 'a b', ':', '%00', '?', '#', '/', '\\', 'x@', 'a/v0/users?'];

test('a host that is none changes no answer', async (t) => {
  const server = await openServer(t, 'sqlite over a socket');
  const table = Object.entries({ '/': 200, '/nothing%': 404, '/devices?x': 302, '/v0/users': 200 });
  for (const host of ['gate.example', '', ...STRANGE_HOSTS])
    for (const [target, status] of table)
      t.is(await statusOf(server, target, host), status, `${target} at ${host}`);
  t.deepEqual(
    server.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('no host makes an address another one than its limits were asked for', async (t) => {
  const settings = { EXTERNAL_URL: 'https://vpn.example.com/gate/' };
  const server = await openServer(t, 'sqlite over a socket', settings);
  server.server.route({ method: 'GET', path: '/v0/other', handler: () => '' });
  t.is(await statusOf(server, '/gate/healthz', 'a/v0/other?'), 200);
  t.is(await statusOf(server, '/gate/nothing', 'a/v0/other?'), 404);
});

test('a line that names no address has no page', async (t) => {
  const server = await openServer(t, 'sqlite over a socket');
  for (const target of ['*', '*%', 'http://[', 'http://[%', 'http://a:99999/', 'http:///'])
    t.is(await statusOf(server, target, 'gate.example'), 404, target);
});
