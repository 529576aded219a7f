// Devices that ask through the tunnel: who is one, and when they are admitted.

import test from 'ava';
import { isInNetwork } from '../../../../dataplane/wire/network.ts';
import type { Peer } from '../../../../lib/kit/http/door.ts';
import { admitsDevices, deviceTest } from '../../../../lib/kit/http/through-tunnel.ts';
import { configOf, openServer } from '../../../support/api/server.ts';

const none = () => false;
const proxyAt = (...addresses: string[]) => ({
  trustsPeer: ({ remoteAddress = '' }: Peer) => addresses.includes(remoteAddress),
});

test('an address of the tunnel networks is a device, unless it is the gateway or a proxy', (t) => {
  const isDevice = deviceTest(configOf(), proxyAt('100.64.0.80'), none);
  for (const device of ['100.64.0.2', '::ffff:100.64.0.2', '100.127.255.254', 'fd00::2'])
    t.true(isDevice({ remoteAddress: device }), device);
  for (const other of ['100.64.0.1', 'fd00::1', '100.64.0.80', '127.0.0.1', '::1', '192.0.2.1', ''])
    t.false(isDevice({ remoteAddress: other }), other);
});

test('a family that is switched off has no devices', (t) => {
  const isDevice = deviceTest(configOf({ WIREGUARD_IPV6_ENABLED: 'false' }), proxyAt(), none);
  t.true(isDevice({ remoteAddress: '100.64.0.2' }));
  t.false(isDevice({ remoteAddress: 'fd00::2' }));
});

test('who is in a network behind a device is refused as the device is', (t) => {
  let routes = [
    { network: Uint8Array.from([10, 77, 0, 0]), prefixBits: 24 },
    {
      network: Uint8Array.from([0x20, 1, 0xd, 0xb8, ...Array<number>(12).fill(0)]),
      prefixBits: 32,
    },
  ];
  const isBehind = (address: Uint8Array) => routes.some((range) => isInNetwork(address, range));
  const isDevice = deviceTest(configOf(), proxyAt('10.77.0.9'), isBehind);
  for (const one of ['10.77.0.2', '::ffff:10.77.0.2', '2001:db8::9'])
    t.true(isDevice({ remoteAddress: one }), one);
  for (const one of ['10.77.1.2', '10.77.0.9', '2001:db9::9', '127.0.0.1'])
    t.false(isDevice({ remoteAddress: one }), one);
  routes = [];
  t.false(isDevice({ remoteAddress: '10.77.0.2' }), 'the network is gone');
});

test('devices are admitted over HTTPS, or where an administrator says so', (t) => {
  const table: [choice: 'auto' | 'on' | 'off', cert: string | null, admitted: boolean][] = [
    ['auto', null, false],
    ['auto', 'tls.crt', true],
    ['on', null, true],
    ['off', 'tls.crt', false],
  ];
  for (const [httpThroughTunnel, httpTlsCert, admitted] of table) {
    const config = { httpThroughTunnel, httpTlsCert };
    t.is(admitsDevices(config), admitted, JSON.stringify(config));
  }
});

test('a device is refused before its token is looked at, in its own form, and counted', async (t) => {
  const { server, services } = await openServer(t, 'sqlite', { WIREGUARD_TUN: 'auto' });
  const ask = (remoteAddress: string, accept = '*/*') =>
    server.inject({ url: '/v0/users', remoteAddress, headers: { accept } });
  const refused = await ask('100.64.0.9');
  t.is(refused.statusCode, 403);
  t.deepEqual(JSON.parse(refused.payload), { error: 'forbidden' });
  const page = await server.inject({
    url: '/',
    remoteAddress: '100.64.0.9',
    headers: { accept: 'text/html' },
  });
  t.is(page.statusCode, 403);
  t.regex(page.payload, /HTTP_THROUGH_TUNNEL=on/);
  t.is(services.counters.of('requests_refused', 'through_tunnel'), 2);
  t.is((await ask('192.0.2.9')).statusCode, 401);
});
