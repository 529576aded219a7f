// What pasta is given for a gateway without root, and what is said where none can start. The start
// itself is tested end to end (test/e2e/rootless.test.ts).

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { type Config, parseConfig } from '../../../config/index.ts';
import {
  isDefaultRouteIn,
  nameServersIn,
  pastaOptions,
  rootlessErrors,
  rootlessWarnings,
  type RootlessHost,
} from '../../../lib/start/serve-rootless.ts';

/** A database on a server needs one. */
const KEY = Buffer.alloc(32, 1).toString('base64');

function configOf(environment: Record<string, string>): Config {
  const { config } = parseConfig({ DATABASE_ENCRYPTION_KEY: KEY, ...environment }, () => '');
  if (config === null) throw new Error('the settings have errors');
  return config;
}

/** A host on which a gateway can start. */
const GOOD: RootlessHost = {
  isRoot: false,
  makesNamespaces: () => true,
  tunError: () => null,
  bindError: () => Promise.resolve(null),
  pastaVersion: () => 'pasta 0.0~git20261002.cba3570-1',
  sysctl: () => null,
  nameServers: () => ['192.0.2.53'],
  hasDefaultRoute: () => true,
};

const options: [settings: Record<string, string>, words: string][] = [
  [{}, '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns none --udp-ns none'],
  [
    { HTTP_HOST: '0.0.0.0', HTTP_PORT: '8443', WIREGUARD_PORT: '51821' },
    '--tcp-ports 8443 --udp-ports 51821 --tcp-ns none --udp-ns none',
  ],
  [{ HTTP_HOST: '::' }, '--tcp-ports 13000 --udp-ports 51820 --tcp-ns none --udp-ns none'],
  [
    { HTTP_HOST: 'localhost' },
    '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns none --udp-ns none',
  ],
  [{ HTTP_HOST: '::1' }, '--tcp-ports ::1/13000 --udp-ports 51820 --tcp-ns none --udp-ns none'],
  [
    { DATABASE_URL: 'mysql://u:p@127.0.0.1/postern' },
    '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns 3306 --udp-ns none',
  ],
  [
    { DATABASE_URL: 'mysql://u:p@[::1]:3307/postern' },
    '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns 3307 --udp-ns none',
  ],
  [
    { DATABASE_URL: 'mysql://u:p@db.example.com:3307/postern' },
    '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns none --udp-ns none',
  ],
  [
    { DATABASE_HOST: 'localhost', DATABASE_PORT: '3308' },
    '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns 3308 --udp-ns none',
  ],
  [
    { SMTP_URL: 'smtp://localhost', MAIL_FROM: 'vpn@example.com' },
    '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns 587 --udp-ns none',
  ],
  [
    {
      DATABASE_URL: 'mysql://u:p@127.0.0.1/postern',
      SMTP_URL: 'smtps://127.0.0.1',
      MAIL_FROM: 'vpn@example.com',
      FLOW_LOG: 'ipfix://[::1]:4739',
    },
    '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns 3306,465 --udp-ns 4739',
  ],
  [
    {
      SMTP_URL: 'smtp://mail.example.com:25',
      MAIL_FROM: 'vpn@example.com',
      FLOW_LOG: 'ipfix://192.0.2.9:4739',
    },
    '--tcp-ports 127.0.0.1/13000 --udp-ports 51820 --tcp-ns none --udp-ns none',
  ],
];

for (const [settings, words] of options)
  test(`${JSON.stringify(settings)}: ${words}`, async (t) => {
    t.is(pastaOptions(configOf(settings), false, GOOD).join(' '), words);
    const withSockets = words.replace(/--udp-ports \d+/, '--udp-ports none');
    t.is(pastaOptions(configOf(settings), true, GOOD).join(' '), withSockets);
    t.deepEqual(await rootlessErrors(configOf(settings), GOOD), []);
  });

const sysctls =
  (values: Record<string, number>): RootlessHost['sysctl'] =>
  (name) =>
    values[name] ?? null;

/** That of Ubuntu 24.04. */
const OLD_PASTA = { pastaVersion: () => 'pasta 0.0~git20240220.1e6f92b-1' };

const errors: [settings: Record<string, string>, host: Partial<RootlessHost>, said: RegExp][] = [
  [{}, { isRoot: true }, /run npm start/],
  [{}, { ...OLD_PASTA, hasDefaultRoute: () => false }, /^this host has no default route/],
  [
    { HTTP_HOST: '::1' },
    { ...OLD_PASTA, hasDefaultRoute: (family) => family === 4 },
    /^HTTP_HOST=::1 needs a default route of IPv6.*set an IPv4 address/,
  ],
  [
    { HTTP_HOST: 'localhost' },
    { ...OLD_PASTA, hasDefaultRoute: (family) => family === 6 },
    /^HTTP_HOST=localhost needs a default route of IPv4.*set an IPv6 address/,
  ],
  [{}, { pastaVersion: () => null }, /pasta is not installed.*passt/],
  [{}, { makesNamespaces: () => null }, /unshare is not installed.*util-linux/],
  [
    {},
    { makesNamespaces: () => false, sysctl: sysctls({ 'user/max_user_namespaces': 0 }) },
    /user\.max_user_namespaces=/,
  ],
  [
    {},
    { makesNamespaces: () => false, sysctl: sysctls({ 'kernel/unprivileged_userns_clone': 0 }) },
    /kernel\.unprivileged_userns_clone=1/,
  ],
  [
    {},
    {
      makesNamespaces: () => false,
      sysctl: sysctls({ 'kernel/apparmor_restrict_unprivileged_userns': 1 }),
    },
    /kernel\.apparmor_restrict_unprivileged_userns=0/,
  ],
  [{}, { makesNamespaces: () => false }, /outside of the container/],
  [{ WIREGUARD_TUN: 'sockets' }, {}, /^WIREGUARD_TUN=sockets needs no pasta; run npm start/],
  [{}, { tunError: () => 'ENOENT' }, /modprobe tun/],
  [{}, { tunError: () => 'EACCES' }, /\(EACCES\).*chmod 0666/],
  [
    {},
    { bindError: (kind) => Promise.resolve(kind === 'udp6' ? 'EADDRINUSE' : null) },
    /^UDP port 51820 is taken.*WIREGUARD_PORT/,
  ],
  [
    { HTTP_HOST: '0.0.0.0' },
    {
      bindError: (kind, _, address) =>
        Promise.resolve(kind === 'tcp' && address === null ? 'EADDRINUSE' : null),
    },
    /^TCP port 13000 is taken.*HTTP_PORT/,
  ],
  [
    { HTTP_HOST: '203.0.113.9' },
    { bindError: (kind) => Promise.resolve(kind === 'tcp' ? 'EADDRNOTAVAIL' : null) },
    /^HTTP_HOST=203\.0\.113\.9 is no address of this host; /,
  ],
  // pasta tries IPv6 only where the host has it.
  [
    { HTTP_HOST: 'vpn.example.com' },
    { bindError: (kind) => Promise.resolve(kind === 'udp6' ? 'EADDRNOTAVAIL' : null) },
    /^HTTP_HOST=vpn\.example\.com is a name, which pasta does not take/,
  ],
  [{ HTTP_PORT: '0' }, {}, /^HTTP_PORT=0 .* set one$/],
  [{ HTTP_PORT: '443' }, {}, /^HTTP_PORT=443 .*from 1024 on.*ip_unprivileged_port_start=443/],
  [
    { WIREGUARD_PORT: '500' },
    { sysctl: sysctls({ 'net/ipv4/ip_unprivileged_port_start': 600 }) },
    /^WIREGUARD_PORT=500 .*from 600 on/,
  ],
];

for (const [settings, host, said] of errors)
  test(`${JSON.stringify(settings)} on such a host: ${said.source}`, async (t) => {
    const [first = '', ...others] = await rootlessErrors(configOf(settings), { ...GOOD, ...host });
    t.regex(first, said);
    t.deepEqual(others, []);
  });

test('a host that lets ordinary users have low ports is believed', async (t) => {
  const host = { ...GOOD, sysctl: sysctls({ 'net/ipv4/ip_unprivileged_port_start': 443 }) };
  t.deepEqual(await rootlessErrors(configOf({ HTTP_PORT: '443' }), host), []);
});

test('a pasta that devices can make hang is said, and no other', (t) => {
  const warningsOf = (version: string): string[] =>
    rootlessWarnings({ ...GOOD, pastaVersion: () => version });
  // Debian 12 has the first.
  for (const version of ['pasta unknown version\nCopyright', 'pasta 0.0~git20230309.7c7625d-1'])
    t.regex(
      warningsOf(version).join(),
      /^this pasta \(.*\) can hang .*install a newer one/,
      version,
    );
  for (const version of ['pasta 0.0~git20261002.cba3570-1', 'pasta 2', ''])
    t.deepEqual(warningsOf(version), []);
});

test.serial('pasta is asked for its version once', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-pasta-'));
  const path = process.env['PATH'];
  t.teardown(() => {
    process.env['PATH'] = path;
    rmSync(folder, { recursive: true });
  });
  const asked = join(folder, 'asked');
  const script = `#!/bin/sh\necho >>${asked}\necho pasta unknown version\n`;
  writeFileSync(join(folder, 'pasta'), script, { mode: 0o755 });
  process.env['PATH'] = `${folder}:${path}`;
  for (let i = 0; i < 2; i += 1) t.regex(rootlessWarnings().join(), /^this pasta/);
  t.is(readFileSync(asked, 'utf8'), '\n');
});

test('a name server on the loopback of the host is reached, or it is said that it is not', (t) => {
  const at = (...servers: string[]) => ({ ...GOOD, nameServers: () => servers });
  for (const one of ['127.0.0.1', '::1']) {
    const words = pastaOptions(configOf({}), true, at(one)).join(' ');
    t.regex(words, /--tcp-ns 53 --udp-ns 53$/);
    t.deepEqual(rootlessWarnings(at(one)), []);
  }
  t.regex(rootlessWarnings(at('127.0.1.1')).join(), /cannot ask the name server 127\.0\.1\.1 /);
  t.deepEqual(rootlessWarnings(at('127.0.1.1', '192.0.2.53')), []);
  t.deepEqual(rootlessWarnings(at()), []);
});

test('name servers are read as the gateway will see them', (t) => {
  const systemd = 'options edns0\nnameserver 127.0.0.53\n';
  t.deepEqual(nameServersIn(systemd, 'nameserver 192.0.2.53\n'), ['192.0.2.53']);
  t.deepEqual(nameServersIn(systemd, null), ['127.0.0.53']);
  t.deepEqual(nameServersIn('# nameserver 1.1.1.1\nnameserver\t::1\nnameserver 9.9.9.9', 'x'), [
    '::1',
    '9.9.9.9',
  ]);
  t.deepEqual(nameServersIn(null, null), []);
});

const IPV4_HEAD =
  'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT';
const NETWORK4 = 'eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0';
const DEFAULT4 = 'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0';
const ZERO = '0'.repeat(32);
const ipv6Route = (destination: string, length: string, flags: string, device: string): string =>
  `${destination} ${length} ${ZERO} 00 ${ZERO} 00000400 00000001 00000000 ${flags} ${device}`;
const NETWORK6 = ipv6Route(`fd${'0'.repeat(30)}`, '40', '00000001', 'eth0');
const NONE6 = ipv6Route(ZERO, '00', '00200200', 'lo');
const DEFAULT6 = ipv6Route(ZERO, '00', '00000003', 'eth0');

test('a host without a default route is no error with a pasta that needs none', async (t) => {
  const host = { ...GOOD, hasDefaultRoute: () => false };
  for (const pastaVersion of ['pasta 0.0~git20250503.587980c-2', 'pasta 2024_11_27.c0fbc7e'])
    for (const settings of [{}, { HTTP_HOST: '::1' }])
      t.deepEqual(
        await rootlessErrors(configOf(settings), { ...host, pastaVersion: () => pastaVersion }),
        [],
        pastaVersion,
      );
});

test('a default route is found in what the kernel lists', (t) => {
  t.true(isDefaultRouteIn([IPV4_HEAD, NETWORK4, DEFAULT4].join('\n'), 4));
  t.false(isDefaultRouteIn([IPV4_HEAD, NETWORK4, ''].join('\n'), 4));
  t.true(isDefaultRouteIn([NETWORK6, DEFAULT6, NONE6].join('\n'), 6));
  t.false(isDefaultRouteIn([NETWORK6, NONE6, ''].join('\n'), 6), 'the last one rejects packets');
  t.false(isDefaultRouteIn(null, 6), 'a host without IPv6');
});
