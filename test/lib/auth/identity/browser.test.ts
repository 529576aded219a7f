// The cookie of a sign-in: it goes along with what other sites post where there is https, and tabs
// share it.

import Hapi from '@hapi/hapi';
import test from 'ava';
import { BrowserBinding } from '../../../../lib/auth/identity/browser.ts';

async function ask(externalUrl: string, cookie?: string) {
  const server = Hapi.server();
  const binding = new BrowserBinding(externalUrl);
  binding.register(server);
  server.route({
    method: 'GET',
    path: '/',
    handler: (request, h) => {
      const before = binding.of(request);
      const response = h.response({ before, begun: binding.begin(request, h) });
      return response;
    },
  });
  const { result, headers } = await server.inject({
    url: '/',
    headers: cookie === undefined ? {} : { cookie },
  });
  const [set = ''] = [headers['set-cookie']].flat();
  return { ...(result as { before: string | null; begun: string }), set: String(set) };
}

test('with https the cookie comes along from other sites, and no other host can set it', async (t) => {
  const { set } = await ask('https://vpn.example/');
  t.regex(set, /^__Host-postern-sign-in=[A-Za-z0-9_-]{43}; /);
  for (const part of ['Secure', 'HttpOnly', 'SameSite=None', 'Path=/', 'Max-Age=600'])
    t.true(set.includes(part), part);
});

test('without https it is Lax: browsers refuse None there', async (t) => {
  const { set, before } = await ask('http://127.0.0.1/');
  t.regex(set, /^postern-sign-in=/);
  t.true(set.includes('SameSite=Lax'));
  t.false(set.includes('Secure'));
  t.is(before, null);
});

test('a browser keeps the cookie that it has, and only its hash is known', async (t) => {
  const first = await ask('http://127.0.0.1/');
  const [cookie = ''] = first.set.split(';');
  const second = await ask('http://127.0.0.1/', cookie);
  t.is(second.before, first.begun);
  t.is(second.begun, first.begun);
  t.false(first.set.includes(first.begun));
});

test('two cookies, or one of another form, are none', async (t) => {
  const { set } = await ask('http://127.0.0.1/');
  const [cookie = ''] = set.split(';');
  for (const bad of [`${cookie}; ${cookie}x`, 'postern-sign-in=short', `${cookie}; ${cookie}`])
    t.is((await ask('http://127.0.0.1/', bad)).before, null, bad);
});
