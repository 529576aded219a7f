// The headers of pages, and of what is none.

import test from 'ava';
import { isWeb } from '../../../../lib/web/kit/headers.ts';
import { openServer } from '../../../support/api/server.ts';
import { addPerson, Visitor } from '../../../support/web/visitor.ts';

test('every page forbids scripts and styles of others, frames, guesses of types and caches', async (t) => {
  const server = await openServer(t, 'sqlite');
  await addPerson(server.database, 'ann@example.com');
  const visitor = new Visitor(server);
  const shown = [
    await visitor.get('/'),
    await visitor.signIn('ann@example.com', 'wrong password x'),
    await visitor.signIn('ann@example.com'),
    await visitor.get('/user_account'),
    await visitor.get('/nothing'),
  ];
  for (const { headers, status } of shown) {
    const policy = String(headers['content-security-policy']);
    for (const part of [
      "default-src 'self'",
      "script-src 'self'",
      "style-src 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      t.true(policy.split('; ').includes(part), `${status}: ${part}`);
    t.false(/unsafe|\*/.test(policy));
    t.is(headers['x-frame-options'], 'DENY');
    t.is(headers['x-content-type-options'], 'nosniff');
    t.is(headers['referrer-policy'], 'same-origin');
    t.is(headers['cache-control'], 'no-store');
  }
});

test('no page holds a script, a style or a handler of its own', async (t) => {
  const server = await openServer(t, 'sqlite');
  await addPerson(server.database, 'ann@example.com');
  const visitor = new Visitor(server);
  const pages = [await visitor.get('/')];
  await visitor.signIn('ann@example.com');
  pages.push(await visitor.get('/user_account'), await visitor.get('/nothing'));
  for (const { text } of pages) {
    t.notRegex(text, /<script(?![^>]* src=)/);
    t.notRegex(text, /<style|\sstyle=|\son\w+=|javascript:/i);
  }
});

test('the API, its pages and the probes have headers of their own', (t) => {
  for (const path of ['/v0', '/v0/users', '/docs', '/docs/start.js', '/healthz', '/readyz'])
    t.false(isWeb({ path }), path);
  for (const path of ['/', '/v0x', '/documents', '/users', '/nothing'])
    t.true(isWeb({ path }), path);
});

test('other windows are kept apart where browsers take the header, and nowhere else', async (t) => {
  const opener = async (settings: Record<string, string>, host: string) => {
    const visitor = new Visitor(await openServer(t, 'sqlite', settings));
    visitor.headers['host'] = host;
    return (await visitor.get('/')).headers['cross-origin-opener-policy'];
  };
  t.is(await opener({}, 'localhost:13000'), 'same-origin');
  t.is(await opener({}, '192.0.2.7:13000'), undefined);
  t.is(
    await opener({ EXTERNAL_URL: 'https://vpn.example.com/' }, 'vpn.example.com'),
    'same-origin',
  );
});
