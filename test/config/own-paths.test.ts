// The path of EXTERNAL_URL: which one the gateway takes off, and what the proxy must do otherwise.

import test from 'ava';
import { parseConfig } from '../../config/index.ts';
import { OWN_WORDS, prefixAdvice, prefixOf } from '../../config/own-paths.ts';
import { openServer, routesOf } from '../support/api/server.ts';

const at = (path: string) => ({ externalUrl: `https://vpn.example.com${path}`, httpPort: 13_000 });

test('the first words are those of the routes', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const words = new Set((await routesOf(server)).map(({ path }) => path.split('/')[1] ?? ''));
  words.delete('');
  t.deepEqual([...OWN_WORDS].toSorted(), [...words].toSorted());
});

test('a path that begins as none of ours is taken off', (t) => {
  for (const [path, prefix] of [
    ['/', ''],
    ['/vpn/', '/vpn'],
    ['/a/b/', '/a/b'],
    ['/userspace/', '/userspace'],
    ['/Users/', '/Users'],
    ['/a/users/', '/a/users'],
    ['/users/', ''],
    ['/v0/', ''],
    ['/docs/vpn/', ''],
    ['/users.csv/', ''],
  ] as const)
    t.is(prefixOf(at(path)), prefix, path);
});

test('where it begins as one of ours, the setting of the proxy is named', (t) => {
  t.is(prefixAdvice(at('/')), null);
  t.is(prefixAdvice(at('/vpn/')), null);
  t.regex(
    prefixAdvice(at('/users/vpn/')) ?? '',
    /^EXTERNAL_URL is https:\/\/vpn\.example\.com\/users\/vpn\/: .*proxy_pass http:\/\/127\.0\.0\.1:13000\/;.*handle_path \/users\/vpn\/\*/,
  );
});

test('the start says it', (t) => {
  const advised = (EXTERNAL_URL: string) =>
    parseConfig({ EXTERNAL_URL }, () => '').advice.filter((text) => text.includes('handle_path'))
      .length;
  t.is(advised('https://vpn.example.com/devices/'), 1);
  t.is(advised('https://vpn.example.com/vpn/'), 0);
});
