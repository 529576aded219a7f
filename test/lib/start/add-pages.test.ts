// The console is added to a server with the first request for a page.

import test from 'ava';
import { openServer, routesOf } from '../../support/api/server.ts';

const HTML = { accept: 'text/html' };

test('programs never load the console; the first page does', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const isLoaded = (): boolean => server.app.lateRoutes?.has('/devices') ?? false;
  for (const path of ['/v0/devices', '/v0/x', '/healthz', '/readyz', '/metrics', '/docs'])
    await server.inject(path);
  t.false(isLoaded());
  const { statusCode, headers } = await server.inject({ url: '/', headers: HTML });
  t.is(statusCode, 200);
  t.regex(String(headers['content-security-policy']), /frame-ancestors 'none'/);
  t.true(isLoaded());
});

test('several first requests at once are all answered', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const urls = ['/', '/devices', '/nothing', '/favicon.ico', '/v0/devices'];
  const answers = await Promise.all(urls.map((url) => server.inject({ url, headers: HTML })));
  t.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [200, 302, 404, 200, 401],
  );
});

test('the first page may be one that is refused: it has the headers of every page', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const { statusCode, headers } = await server.inject({ url: '/no/such/page', headers: HTML });
  t.is(statusCode, 404);
  t.is(headers['x-frame-options'], 'DENY');
  t.is(headers['x-content-type-options'], 'nosniff');
});

test('a form that comes before any page is checked as ever', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const answer = await server.inject({ method: 'POST', url: '/auth/identity/callback' });
  t.is(answer.statusCode, 403);
  const routes = await routesOf(server);
  t.true(routes.some(({ path }) => path === '/auth/identity/callback'));
});

test('a console that cannot be loaded is an error of ours, with the headers of pages', async (t) => {
  const { server, log } = await openServer(t, 'sqlite');
  const fail = (): never => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  };
  server.ext('onRequest', fail, { before: 'conventions' });
  const { statusCode, headers } = await server.inject({ url: '/', headers: HTML });
  t.is(statusCode, 500);
  t.is(headers['x-frame-options'], 'DENY');
  t.like(log.find(({ level }) => level === 'error')?.fields, {
    err: { message: 'too many open files' },
  });
});

test('a server that stops adds no console, whose live pages nothing would end', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const statuses: number[] = [];
  server.ext('onPreStop', async () => {
    for (const url of ['/', '/healthz']) statuses.push((await server.inject(url)).statusCode);
  });
  await server.stop();
  t.deepEqual(statuses, [503, 200]);
});
