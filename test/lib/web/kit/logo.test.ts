// The logo: ours is served here, one elsewhere is allowed by the page's policy, and by nothing more.

import test from 'ava';
import { openServer } from '../../../support/api/server.ts';
import { Visitor } from '../../../support/web/visitor.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('an uploaded image is served with its type', async (t) => {
  const server = await openServer(t, 'sqlite');
  t.is((await new Visitor(server).get('/logo')).status, 404);
  const logo = { data: PNG, type: 'image/png' };
  await server.send('PATCH', '/v0/configuration', { body: { configuration: { logo } } });
  const page = await new Visitor(server).get('/');
  t.regex(page.text, /<img class="logo" src="\/logo"/);
  const { status, headers } = await new Visitor(server).get('/logo');
  t.is(status, 200);
  t.is(headers['content-type'], 'image/png');
  t.is(headers['x-content-type-options'], 'nosniff');
});

test('an image elsewhere may be loaded from there', async (t) => {
  const server = await openServer(t, 'sqlite');
  const logo = { url: 'https://images.example.com/logo.png?a=1&b=2' };
  await server.send('PATCH', '/v0/configuration', { body: { configuration: { logo } } });
  const page = await new Visitor(server).get('/');
  t.true(page.text.includes('src="https://images.example.com/logo.png?a=1&amp;b=2"'));
  const policy = String(page.headers['content-security-policy']);
  t.regex(policy, /img-src 'self' data: https:\/\/images\.example\.com;/);
});
