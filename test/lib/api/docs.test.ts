// The pages of the document: whole from here, under a strict policy, for everyone.

import test from 'ava';
import { document } from '../../support/api/openapi.ts';
import { openServer } from '../../support/api/server.ts';

const anonymous = { token: null };

test('the page and its files come from here and hold no script or style', async (t) => {
  const { send } = await openServer(t, 'sqlite over a socket');
  const page = await send('GET', '/docs', anonymous);
  t.is(page.status, 200);
  t.is(page.headers['content-type'], 'text/html; charset=utf-8');
  const addresses = [...page.text.matchAll(/(?:src|href|data-url)="([^"]*)"/g)].map(
    ([, to]) => to!,
  );
  t.deepEqual(addresses.toSorted(), [
    '/docs/start.js',
    '/docs/swagger-ui-bundle.js',
    '/docs/swagger-ui.css',
    '/v0/openapi.json',
    'data:,',
  ]);
  t.notRegex(page.text, /<style|style=|\son\w+=|<script(?![^>]* src=)|<script[^>]*>[^<]/i);
  for (const address of addresses.filter((to) => to.startsWith('/'))) {
    const file = await send('GET', address, anonymous);
    t.is(file.status, 200, address);
    if (address.endsWith('.js'))
      t.is(file.headers['content-type'], 'text/javascript; charset=utf-8');
    if (address.endsWith('.css')) {
      t.is(file.headers['content-type'], 'text/css; charset=utf-8');
      t.notRegex(file.text, /@import|url\(["']?(?!["']?data:)[^)]*:/, 'nothing from elsewhere');
    }
    if (address.endsWith('openapi.json')) t.deepEqual(file.body, document);
    else t.true(file.text.length > 100);
  }
});

test('the policy allows nothing inline and nobody else', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  for (const path of ['/docs', '/docs/', '/docs/start.js', '/docs/swagger-ui-bundle.js']) {
    const { headers, status } = await send('GET', path, anonymous);
    t.is(status, 200, path);
    const policy = String(headers['content-security-policy']);
    t.regex(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    t.notRegex(policy, /unsafe|https?:|\*/);
    t.is(headers['x-content-type-options'], 'nosniff');
    t.is(headers['cache-control'], 'no-cache');
  }
});

test('a file is sent once to those who keep it', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  const first = await send('GET', '/docs/swagger-ui.css', anonymous);
  const headers = { 'if-none-match': String(first.headers['etag']) };
  const again = await send('GET', '/docs/swagger-ui.css', { ...anonymous, headers });
  t.is(again.status, 304);
  t.is(again.text, '');
});

test('no other file of the package is served', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  for (const name of ['package.json', 'swagger-ui.js.map', '..%2fpackage.json', 'index.html'])
    t.is((await send('GET', `/docs/${name}`, anonymous)).status, 404, name);
});

test('where EXTERNAL_URL has a path, the addresses begin with it', async (t) => {
  const { send } = await openServer(t, 'sqlite', { EXTERNAL_URL: 'https://vpn.example.com/gate/' });
  const { text } = await send('GET', '/docs', anonymous);
  t.true(text.includes('src="/gate/docs/start.js"'));
  t.true(text.includes('data-url="/gate/v0/openapi.json"'));
});
