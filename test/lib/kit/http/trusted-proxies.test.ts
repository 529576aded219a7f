// Proxies that TRUSTED_PROXIES names: addresses are fixed, names are looked up.

import test from 'ava';
import {
  type LookUp,
  namesOfProxies,
  TrustedProxies,
} from '../../../../lib/kit/http/trusted-proxies.ts';
import { type LogLine, logInto } from '../../../../lib/testing/log.ts';
import { configOf, openServer } from '../../../support/api/server.ts';

const MINUTE_MS = 60_000;
const CADDY = '172.18.0.3';
const STRANGER = '203.0.113.9';

/** A resolver whose answers the test sets, and what it was asked. */
function resolver(answers: Record<string, string[] | string>): { lookUp: LookUp; asked: string[] } {
  const asked: string[] = [];
  const lookUp: LookUp = async (name) => {
    asked.push(name);
    const answer = answers[name] ?? 'ENOTFOUND';
    if (typeof answer === 'string') throw Object.assign(new Error(answer), { code: answer });
    return answer;
  };
  return { lookUp, asked };
}

function open(setting: string | null, answers: Record<string, string[] | string> = {}) {
  const log: LogLine[] = [];
  const { lookUp, asked } = resolver(answers);
  const named: Record<string, string> = setting === null ? {} : { TRUSTED_PROXIES: setting };
  const proxies = new TrustedProxies(configOf(named), logInto(log), lookUp);
  return { proxies, log, asked, answers };
}

test('names are distinguished from addresses', (t) => {
  t.deepEqual(namesOfProxies('10.0.0.0/8, caddy,fd00::1,proxy.example.com '), [
    'caddy',
    'proxy.example.com',
  ]);
  t.deepEqual(namesOfProxies(null), []);
});

test('without a name nothing is looked up', (t) => {
  const { proxies, asked } = open('10.0.0.1');
  t.is(proxies.heed(STRANGER), null);
  t.true(proxies.standsForMany({ remoteAddress: '10.0.0.1' }));
  t.deepEqual(asked, []);
});

test('the first request of a named proxy waits for its name, later ones do not', async (t) => {
  const { proxies, asked } = open('caddy,10.0.0.1', { caddy: [CADDY, 'fe80::3%eth0'] });
  t.is(proxies.heed('10.0.0.1', 0), null, 'an address is known');
  t.false(proxies.standsForMany({ remoteAddress: STRANGER }));
  await proxies.heed(CADDY, 5_000);
  t.true(proxies.standsForMany({ remoteAddress: CADDY }));
  t.true(proxies.standsForMany({ remoteAddress: 'fe80::3' }));
  t.is(proxies.heed(CADDY, 10_000), null);
  t.deepEqual(asked, ['caddy']);
});

test('requests of strangers cause at most one look-up in two seconds', async (t) => {
  const { proxies, asked } = open('caddy', { caddy: [CADDY] });
  await proxies.heed(STRANGER, 0);
  for (let ms = 100; ms <= 2_000; ms += 100) await proxies.heed(STRANGER, ms);
  t.is(asked.length, 1);
  await proxies.heed(STRANGER, 2_100);
  t.is(asked.length, 2);
  t.false(proxies.standsForMany({ remoteAddress: STRANGER }));
});

test('a proxy with a new address is known at its first request, and the old address is forgotten', async (t) => {
  const { proxies, answers } = open('caddy', { caddy: [CADDY] });
  await proxies.heed(CADDY, 0);
  answers['caddy'] = ['172.18.0.7'];
  await proxies.heed('172.18.0.7', 3_000);
  t.true(proxies.standsForMany({ remoteAddress: '172.18.0.7' }));
  t.false(proxies.standsForMany({ remoteAddress: CADDY }));
});

test('after a minute a name is looked up again, without delaying the request', async (t) => {
  const { proxies, answers, asked } = open('caddy', { caddy: [CADDY] });
  await proxies.heed(CADDY, 0);
  answers['caddy'] = ['172.18.0.7'];
  t.is(proxies.heed(CADDY, MINUTE_MS + 1), null, 'nobody waits');
  await proxies.heed('172.18.0.7', MINUTE_MS + 2);
  t.is(asked.length, 2);
  t.false(proxies.standsForMany({ remoteAddress: CADDY }));
});

test('a name that is gone is no longer trusted; a resolver without an answer changes nothing', async (t) => {
  const { proxies, answers, log } = open('caddy', { caddy: [CADDY] });
  await proxies.heed(CADDY, 0);
  answers['caddy'] = 'EAI_AGAIN';
  await proxies.heed(STRANGER, 3_000);
  t.true(proxies.standsForMany({ remoteAddress: CADDY }));
  answers['caddy'] = 'ENOTFOUND';
  await proxies.heed(STRANGER, 6_000);
  t.false(proxies.standsForMany({ remoteAddress: CADDY }));
  t.is(log.length, 1, 'and it is said once');
  t.like(log[0], { level: 'warn', fields: { name: 'caddy' } });
});

test('a request does not wait for a resolver that never answers', async (t) => {
  const config = configOf({ TRUSTED_PROXIES: 'caddy' });
  const proxies = new TrustedProxies(config, logInto([]), () => new Promise(() => undefined));
  const begun = performance.now();
  await proxies.heed(CADDY, 0);
  t.true(performance.now() - begun >= 900);
  t.false(proxies.standsForMany({ remoteAddress: CADDY }));
});

test('a server trusts a proxy that it knows by name', async (t) => {
  // Every machine resolves this name to itself.
  const { server } = await openServer(t, 'sqlite', { TRUSTED_PROXIES: 'localhost' });
  let address: string | undefined;
  server.ext('onPreResponse', (request, h) => {
    ({ address } = request.app);
    return h.continue;
  });
  const headers = { 'x-forwarded-for': '203.0.113.5' };
  await server.inject({ url: '/healthz', remoteAddress: '127.0.0.1', headers });
  t.is(address, '203.0.113.5');
  await server.inject({ url: '/healthz', remoteAddress: '192.0.2.1', headers });
  t.is(address, '192.0.2.1');
});

/** Ranges that hold the networks of the tunnel, and one device by its address. */
const WIDE = { TRUSTED_PROXIES: '100.0.0.0/8,fd00::/8,100.64.0.80', WIREGUARD_TUN: 'auto' };

test('a device in a range of proxies is none: it chooses no address', async (t) => {
  const settings = { ...WIDE, HTTP_THROUGH_TUNNEL: 'on' };
  const { server } = await openServer(t, 'sqlite', settings);
  let address: string | undefined;
  server.ext('onPreResponse', (request, h) => {
    ({ address } = request.app);
    return h.continue;
  });
  for (const [remoteAddress, forwarded, found] of [
    ['100.64.0.9', '203.0.113.5', '100.64.0.9'],
    ['::ffff:100.64.0.9', '203.0.113.5', '100.64.0.9'],
    ['fd00::9', '203.0.113.5', 'fd00::9'],
    ['100.1.0.1', '203.0.113.5', '203.0.113.5'],
    ['100.1.0.1', '203.0.113.5, 100.64.0.9', '100.64.0.9'],
    ['fd01::1', '203.0.113.5', '203.0.113.5'],
    ['100.64.0.1', '203.0.113.5', '203.0.113.5'],
    ['100.64.0.80', '203.0.113.5', '203.0.113.5'],
  ] as const) {
    const headers = { 'x-forwarded-for': forwarded };
    await server.inject({ url: '/healthz', remoteAddress, headers });
    t.is(address, found, `${remoteAddress} for ${forwarded}`);
  }
});

test('a device in a range of proxies gets no further through the tunnel than others', async (t) => {
  const { server } = await openServer(t, 'sqlite', { ...WIDE, HTTP_THROUGH_TUNNEL: 'off' });
  for (const [remoteAddress, status] of [
    ['100.64.0.9', 403],
    ['fd00::9', 403],
    ['100.64.0.80', 401],
    ['100.1.0.1', 401],
  ] as const)
    t.is((await server.inject({ url: '/v0/users', remoteAddress })).statusCode, status);
});
