// The cookies: their names and attributes, and which values are read.

import Hapi from '@hapi/hapi';
import test from 'ava';
import {
  BrowserCookies,
  formToken,
  hashSecret,
  newSecret,
} from '../../../lib/auth/browser-cookies.ts';

const plain = new BrowserCookies({ externalUrl: 'http://127.0.0.1:13000/' });
const secure = new BrowserCookies({ externalUrl: 'https://vpn.example.com/' });

async function setCookies(cookies: BrowserCookies): Promise<string[]> {
  const server = Hapi.server();
  cookies.register(server);
  server.route({
    method: 'GET',
    path: '/',
    handler: (_request, h) => {
      cookies.set(h, 'session', newSecret());
      cookies.clear(h, 'visitor');
      return '';
    },
  });
  const { headers } = await server.inject('/');
  return headers['set-cookie'] as string[];
}

test('under https a cookie is bound to this very host, and never sent in the clear', async (t) => {
  const [session, visitor] = await setCookies(secure);
  t.regex(
    session ?? '',
    /^__Host-postern-session=[\w-]{43}; Secure; HttpOnly; SameSite=Lax; Path=\/$/,
  );
  t.regex(visitor ?? '', /^__Host-postern-visitor=; Max-Age=0; .*Secure; HttpOnly/);
});

test('under http there is no prefix that browsers would refuse', async (t) => {
  const [session] = await setCookies(plain);
  t.regex(session ?? '', /^postern-session=[\w-]{43}; HttpOnly; SameSite=Lax; Path=\/$/);
});

test('a secret is read where there is exactly one of its form', (t) => {
  const secret = newSecret();
  const read = (cookie: string) => plain.secretOf({ headers: { cookie } } as never, 'session');
  t.is(read(`a=b; postern-session=${secret}; c=d`), secret);
  for (const cookie of [
    '',
    'postern-session=',
    'postern-session=short',
    `postern-session=${secret}x`,
    `postern-session=${secret}; postern-session=${secret}`,
    `xpostern-session=${secret}`,
    `__Host-postern-session=${secret}`,
  ])
    t.is(read(cookie), null, cookie);
  t.is(plain.secretOf({ headers: {} } as never, 'session'), null);
});

test('neither the hash nor the token of forms tells the secret, and each has its own', (t) => {
  const [one, other] = [newSecret(), newSecret()];
  t.not(one, other);
  t.not(formToken(one), formToken(other));
  t.not(hashSecret(one), hashSecret(other));
  for (const made of [formToken(one), hashSecret(one)]) t.false(made.includes(one));
});
