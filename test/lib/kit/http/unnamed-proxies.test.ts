// Peers that forward requests and that nobody named: log and dashboard tell of them.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { UnnamedProxies } from '../../../../lib/kit/http/unnamed-proxies.ts';
import { type LogLine, logInto } from '../../../../lib/testing/log.ts';
import { openConsole } from '../../../support/web/console.ts';
import { openServer } from '../../../support/api/server.ts';

const MINUTE_MS = 60_000;

test('each is logged once, with its address and the setting, and ten at most', (t) => {
  const log: LogLine[] = [];
  const unnamed = new UnnamedProxies(logInto(log));
  for (let i = 0; i < 20; i += 1) unnamed.note(`192.0.2.${i % 12}`, 0);
  t.is(log.length, 10);
  t.like(log[0], { level: 'warn', fields: { peer: '192.0.2.0' } });
  t.regex(String(log[0]?.message), /TRUSTED_PROXIES=192\.0\.2\.0/);
});

test('the last one is shown for ten minutes', (t) => {
  const unnamed = new UnnamedProxies(logInto([]));
  t.is(unnamed.recent(0), null);
  unnamed.note('192.0.2.1', 0);
  unnamed.note('192.0.2.2', MINUTE_MS);
  t.is(unnamed.recent(11 * MINUTE_MS), '192.0.2.2');
  t.is(unnamed.recent(12 * MINUTE_MS), null);
});

for (const [header, settings, isLogged] of [
  [{ 'x-forwarded-for': '203.0.113.5' }, {}, true],
  [{ forwarded: 'for=203.0.113.5' }, {}, true],
  [{ 'x-real-ip': '203.0.113.5' }, {}, true],
  [{ 'x-forwarded-for': '203.0.113.5' }, { TRUSTED_PROXIES: '10.0.0.1' }, true],
  [{ 'x-forwarded-for': '203.0.113.5' }, { TRUSTED_PROXIES: '127.0.0.1' }, false],
  [{}, {}, false],
] as const)
  test(`${JSON.stringify([header, settings])} is ${isLogged ? '' : 'not '}logged`, async (t) => {
    const { send, log } = await openServer(t, 'sqlite', settings);
    for (const _ of [1, 2]) await send('GET', '/v0/users', { headers: header });
    const lines = log.filter(({ message }) => message.includes('TRUSTED_PROXIES'));
    t.is(lines.length, isLogged ? 1 : 0);
    if (isLogged) t.like(lines[0]?.fields, { peer: '127.0.0.1' });
  });

test('the dashboard names the peer and the setting', async (t) => {
  const { admin } = await openConsole(t, 'sqlite');
  t.notRegex((await admin.get('/dashboard')).text, /TRUSTED_PROXIES=127/);
  admin.headers['x-forwarded-for'] = '203.0.113.5';
  // The dashboard keeps what it read for half a second.
  await sleep(600);
  t.regex((await admin.get('/dashboard')).text, /TRUSTED_PROXIES=127\.0\.0\.1/);
});
