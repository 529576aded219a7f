// What a gateway that serves lacks, by what it answers of itself and by its settings.

import test from 'ava';
import {
  endpoint,
  lacks,
  readiness,
  settings,
} from '../../../../lib/installation/doctor/serving.ts';
import type { Readiness } from '../../../../lib/observe/gateway-state.ts';
import { configOf } from '../../../support/api/server.ts';

const WELL: Readiness = { status: 'ready', tun: 'wg-postern', masquerade: true };
const GOOD = { EXTERNAL_URL: 'https://vpn.example.com/', HTTP_HOST: '127.0.0.1' };

const cases = [
  ['vpn.example.com:51820', WELL, {}, null],
  ['192.0.2.1:51820', WELL, {}, null],
  ['[2001:db8::1]:51820', WELL, {}, null],
  ['127.0.0.1:51820', WELL, {}, /endpoint of devices is 127\.0\.0\.1:51820/],
  ['localhost', WELL, {}, /endpoint of devices is localhost/],
  ['[::1]:51820', WELL, {}, /endpoint of devices is \[::1\]:51820/],
  ['vpn.example.com', { ...WELL, tun: null, masquerade: false }, {}, /no TUN/],
  ['vpn.example.com', { ...WELL, tun: null }, { WIREGUARD_TUN: 'off' }, null],
  ['vpn.example.com', { ...WELL, tun: null, egress: 'sockets' }, {}, null],
  [
    'vpn.example.com',
    { ...WELL, tun: null, egress: 'none', egress_reason: 'it is old' },
    {},
    /no TUN interface.*behind the gateway \(it is old\)\./,
  ],
  ['vpn.example.com', { ...WELL, masquerade: false }, {}, /does not masquerade/],
  [
    'vpn.example.com',
    { ...WELL, masquerade: false },
    { WIREGUARD_IPV4_MASQUERADE: 'false', WIREGUARD_IPV6_MASQUERADE: 'false' },
    null,
  ],
] as const;

for (const [address, answer, given, said] of cases)
  test(`${address}, ${JSON.stringify(answer)}, ${JSON.stringify(given)}`, (t) => {
    const found = [endpoint(address), ...lacks(answer, configOf({ ...GOOD, ...given }))];
    const wrong = found.filter(({ level }) => level !== 'ok');
    t.is(wrong.length, said === null ? 0 : 1, JSON.stringify(wrong));
    if (said !== null) t.regex(String(wrong[0]?.message), said);
    t.true(wrong.every(({ fix }) => fix !== null));
  });

test('every state but ready is an error with a fix', (t) => {
  const config = configOf(GOOD);
  t.like(readiness(WELL, config), [{ level: 'ok' }]);
  for (const status of [
    'starting',
    'draining',
    'data_plane_down',
    'database_unavailable',
    'database_away',
    'database_read_only',
    'schema_newer',
    'tun_address_missing',
  ] as const) {
    const [found] = readiness({ ...WELL, status }, config);
    t.is(found?.level, 'failed', status);
    t.not(found?.fix, null, status);
  }
  const reason = 'wg-postern has lost fd00::1: EACCES';
  const [lost] = readiness({ ...WELL, status: 'tun_address_missing', reason }, config);
  t.regex(lost?.message ?? '', /has lost an address.*\(wg-postern has lost fd00::1: EACCES\)/);
});

test('too few open files are said, with the fix', (t) => {
  const [found, ...others] = readiness({ ...WELL, connections_max: 66 }, configOf(GOOD));
  t.deepEqual(others, []);
  t.is(found?.level, 'warning');
  t.regex(
    found?.message ?? '',
    /too few files open: it takes 66 HTTP connections at once, not 2048/,
  );
  t.regex(found?.fix ?? '', /LimitNOFILE=65536/);
});

test('a part whose files are nearly all open is said, with the fix', (t) => {
  const nearly_full = ['sockets', 'relay'] as const;
  const found = readiness({ ...WELL, nearly_full }, configOf(GOOD));
  t.deepEqual(
    found.map(({ level, message }) => `${level}: ${message}`),
    [
      'warning: Nearly all open files for sockets for devices are used.',
      'warning: Nearly all open files for relayed TCP connections of devices are used.',
    ],
  );
  t.regex(found[0]?.fix ?? '', /wg_gateway_files in .*device or a client .*LimitNOFILE=65536/);
});

test('an API without TLS is said, and a proxy with TLS is believed', (t) => {
  const said = (given: Record<string, string>): string =>
    settings(configOf({ ...GOOD, ...given }))
      .map(({ message }) => message)
      .join();
  t.regex(said({}), /if a proxy is between/);
  t.is(said({ TRUSTED_PROXIES: '127.0.0.1' }), '');
  t.regex(said({ HTTP_HOST: '0.0.0.0' }), /without TLS/);
  t.is(said({ HTTP_HOST: '0.0.0.0', TRUSTED_PROXIES: '10.0.0.1' }), '');
  t.regex(said({ TRUSTED_PROXIES: 'fd00::/8' }), /none of them is a proxy by this range/);
});
