// What a gateway lacks, in words for people: on the dashboard, and beside the files that it spoils.

import { setTimeout } from 'node:timers/promises';
import test from 'ava';
import { fileProblems, gatewayProblems } from '../../../lib/web/gateway-problems.ts';
import type { Readiness } from '../../../lib/services.ts';
import { addDevice } from '../../models/fixtures.ts';
import { openConsole } from '../../support/console.ts';
import { configOf } from '../../support/server.ts';

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
  ['vpn.example.com', { ...WELL, masquerade: false }, {}, /does not masquerade/],
  [
    'vpn.example.com',
    { ...WELL, masquerade: false },
    { WIREGUARD_IPV4_MASQUERADE: 'false', WIREGUARD_IPV6_MASQUERADE: 'false' },
    null,
  ],
] as const;

for (const [endpoint, readiness, settings, said] of cases)
  test(`${endpoint}, ${JSON.stringify(readiness)}, ${JSON.stringify(settings)}`, (t) => {
    const config = configOf({ ...GOOD, ...settings });
    const problems = fileProblems({ config, readiness: () => readiness }, endpoint);
    t.is(problems.length, said === null ? 0 : 1, JSON.stringify(problems));
    if (said !== null) t.regex(String(problems[0]?.text), said);
    t.true(problems.every(({ fix }) => fix !== ''));
  });

test('an API without TLS is said, and a proxy with TLS is believed', (t) => {
  const said = (settings: Record<string, string>): string =>
    gatewayProblems({ config: configOf({ ...GOOD, ...settings }), readiness: () => WELL }, null)
      .map(({ text }) => text)
      .join();
  t.is(said({}), '');
  t.regex(said({ HTTP_HOST: '0.0.0.0' }), /without TLS/);
  t.is(said({ HTTP_HOST: '0.0.0.0', TRUSTED_PROXIES: '10.0.0.1' }), '');
});

test('the dashboard says what a gateway lacks, and each file what spoils it', async (t) => {
  const readiness = () => ({ ...WELL, masquerade: false });
  const console = await openConsole(t, 'sqlite', {}, { readiness });
  const { admin, user, database, plainUser } = console;
  const { id } = await addDevice(database, plainUser);
  const board = (await admin.get('/dashboard')).text;
  t.regex(board, /does not masquerade/);
  t.regex(board, /endpoint of devices is 127\.0\.0\.1:51820/);
  const own = (await user.get(`/user_devices/${id}/file`)).text;
  const forAdmin = (await admin.get(`/devices/${id}/file`)).text;
  for (const text of [own, forAdmin]) {
    t.regex(text, /does not masquerade/);
    t.regex(text, /endpoint of devices is 127\.0\.0\.1:51820/);
  }
  t.regex(forAdmin, /Set EXTERNAL_URL/);
  t.notRegex(own, /EXTERNAL_URL/, 'a user cannot set it');
  t.regex(own, /Tell an administrator/);
  const body = { configuration: { default_client_endpoint: 'vpn.example.com' } };
  await console.send('PATCH', '/v0/configuration', { body });
  // A reading of the dashboard serves for half a second.
  await setTimeout(600);
  t.notRegex((await admin.get('/dashboard')).text, /endpoint of devices is/);
  t.notRegex((await user.get(`/user_devices/${id}/file`)).text, /endpoint of devices is/);
});
