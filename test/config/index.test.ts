// Settings: what is accepted, what is refused, and that all errors are reported at once.

import test from 'ava';
import { describeConfig, errorsOfSettings, parseConfig } from '../../config/index.ts';

const KEY = '9vnb3VdLFCa/RO5fZmrw3NaWvxRmTrqjKsBEYcG2wwk=';
const TOKEN = `pst_${'a'.repeat(43)}`;

/** Parses an environment with some files beside it. */
function parse(
  environment: Record<string, string>,
  files: Record<string, string> = {},
): ReturnType<typeof parseConfig> {
  return parseConfig(environment, (path) => {
    const text = files[path];
    if (text === undefined) throw new Error('no such file');
    return text;
  });
}

test('without variables all settings have their defaults', (t) => {
  const { config, errors, warnings } = parse({});
  t.deepEqual({ errors, warnings }, { errors: [], warnings: [] });
  t.is(config?.httpPort, 13000);
  t.is(config?.wireguardIpv4Network, '100.64.0.0/10');
  t.is(config?.wireguardTun, 'auto');
  t.is(config?.databaseUrl, null);
  t.true(Object.isFrozen(config));
});

const good: [title: string, environment: Record<string, string>, field: string, value: unknown][] =
  [
    ['a number', { HTTP_PORT: '8080' }, 'httpPort', 8080],
    ['a flag as a word', { WIREGUARD_IPV6_ENABLED: 'false' }, 'wireguardIpv6Enabled', false],
    ['a flag as a digit', { WIREGUARD_IPV6_MASQUERADE: '0' }, 'wireguardIpv6Masquerade', false],
    ['an empty text as nothing', { HTTP_PORT: '' }, 'httpPort', 13000],
    ['an alias of Firezone', { PHOENIX_HTTP_PORT: '81' }, 'httpPort', 81],
    ['the name before its alias', { HTTP_PORT: '80', PHOENIX_HTTP_PORT: '81' }, 'httpPort', 80],
    [
      'an address with a path',
      { EXTERNAL_URL: 'https://a.test/vpn/' },
      'externalUrl',
      'https://a.test/vpn/',
    ],
    [
      'an address without one',
      { EXTERNAL_URL: 'https://a.test' },
      'externalUrl',
      'https://a.test/',
    ],
    ['a bootstrap token', { BOOTSTRAP_API_TOKEN: TOKEN }, 'bootstrapApiToken', TOKEN],
    ['the most devices', { MAX_DEVICES_PER_USER: '100' }, 'maxDevicesPerUser', 100],
    ['no devices', { MAX_DEVICES_PER_USER: '0' }, 'maxDevicesPerUser', 0],
    [
      'trusted proxies',
      { TRUSTED_PROXIES: '10.0.0.0/8, ::1' },
      'trustedProxies',
      '10.0.0.0/8, ::1',
    ],
    ['a proxy by name', { TRUSTED_PROXIES: 'caddy,10.0.0.1' }, 'trustedProxies', 'caddy,10.0.0.1'],
    ['a year of the audit trail', {}, 'auditRetentionDays', 365],
    ['a year of history and more', {}, 'historyRetention', 400],
    ['a day of history', { HISTORY_RETENTION: '1' }, 'historyRetention', 1],
    ['no flow log', {}, 'flowLog', 'off'],
    ['a flow log in the log', { FLOW_LOG: 'log' }, 'flowLog', 'log'],
    ...[
      'ipfix://collector.example.com:4739',
      'ipfix://192.0.2.7:1',
      'ipfix://[2001:db8::7]:65535',
    ].map((text): [string, Record<string, string>, string, unknown] => [
      `a collector of flows, ${text},`,
      { FLOW_LOG: text },
      'flowLog',
      text,
    ]),
    ['no history', { HISTORY_RETENTION: 'off' }, 'historyRetention', 'off'],
    [
      'a database with port and escapes',
      { DATABASE_URL: 'mysql://a:b%23c@[fd00::9]:3307/d', DATABASE_ENCRYPTION_KEY: KEY },
      'databaseUrl',
      'mysql://a:b%23c@[fd00::9]:3307/d',
    ],
    ['a database file', { DATABASE_URL: 'sqlite:/a#b' }, 'databaseUrl', 'sqlite:/a#b'],
    [
      'a password of 72 bytes when composed',
      { DEFAULT_ADMIN_EMAIL: 'a@b.test', DEFAULT_ADMIN_PASSWORD: 'u\u0308'.repeat(32) },
      'defaultAdminPassword',
      'u\u0308'.repeat(32),
    ],
    ['a large MTU', { WIREGUARD_MTU: '1420' }, 'wireguardMtu', 1420],
  ];
for (const [title, environment, field, value] of good)
  test(`${title} is accepted`, (t) => {
    const { config, errors } = parse(environment);
    t.deepEqual(errors, []);
    t.is((config as unknown as Record<string, unknown>)[field], value);
  });

const bad: [title: string, environment: Record<string, string>, error: RegExp][] = [
  [
    'a port that is text',
    { HTTP_PORT: 'http' },
    /^HTTP_PORT must be a number; got "http"; for example HTTP_PORT=13000$/,
  ],
  [
    'a port out of range',
    { WIREGUARD_PORT: '65536' },
    /^WIREGUARD_PORT must be less than or equal to 65535/,
  ],
  [
    'port 0 for WireGuard',
    { WIREGUARD_PORT: '0' },
    /^WIREGUARD_PORT must be greater than or equal to 1/,
  ],
  ...[
    'on',
    'ipfix',
    'ipfix://collector',
    'ipfix://collector:0',
    'ipfix://collector:65536',
    'ipfix://2001:db8::7:4739',
    'ipfix://[192.0.2.7]:4739',
    'ipfix://192.0.2:4739',
    'ipfix://a b:4739',
    'ipfix://collector:4739/',
    'IPFIX://collector:4739',
    'udp://collector:4739',
  ].map((text): [string, Record<string, string>, RegExp] => [
    `${text} as a flow log`,
    { FLOW_LOG: text },
    /^FLOW_LOG must be off, log, or ipfix:\/\/HOST:PORT .*for example FLOW_LOG=ipfix:\/\/collector/,
  ]),
  ['a path without its slash', { EXTERNAL_URL: 'http://a.test/b' }, /^EXTERNAL_URL must end in \//],
  [
    'an address without a scheme',
    { EXTERNAL_URL: 'a.test' },
    /^EXTERNAL_URL must be an absolute URL/,
  ],
  ['another scheme', { EXTERNAL_URL: 'ftp://a.test/' }, /^EXTERNAL_URL must begin with http/],
  [
    'a short key',
    { WIREGUARD_PRIVATE_KEY: 'abc' },
    /^WIREGUARD_PRIVATE_KEY must be 32 bytes in base64/,
  ],
  [
    'a key in the URL alphabet',
    { WIREGUARD_PRIVATE_KEY: KEY.replace('/', '_') },
    /^WIREGUARD_PRIVATE_KEY/,
  ],
  [
    'an unknown choice',
    { WIREGUARD_TUN: 'maybe' },
    /^WIREGUARD_TUN must be one of \[auto, required, off, sockets\]/,
  ],
  ['a network without prefix', { WIREGUARD_IPV4_NETWORK: '10.0.0.0' }, /^WIREGUARD_IPV4_NETWORK/],
  [
    'a network of the other family',
    { WIREGUARD_IPV4_NETWORK: 'fd00::/64' },
    /^WIREGUARD_IPV4_NETWORK/,
  ],
  [
    'a gateway outside its network',
    { WIREGUARD_IPV4_ADDRESS: '10.0.0.1' },
    /^WIREGUARD_IPV4_ADDRESS 10.0.0.1 is not inside/,
  ],
  ['a network without room', { WIREGUARD_IPV4_NETWORK: '100.64.0.1/31' }, /no room for devices/],
  [
    'both families off',
    { WIREGUARD_IPV4_ENABLED: 'false', WIREGUARD_IPV6_ENABLED: 'false' },
    /both false/,
  ],
  ['an administrator without password', { DEFAULT_ADMIN_EMAIL: 'a@b.test' }, /come together/],
  [
    'a short password',
    { DEFAULT_ADMIN_EMAIL: 'a@b.test', DEFAULT_ADMIN_PASSWORD: 'short' },
    /at least 12 characters/,
  ],
  [
    'a server without its key',
    { DATABASE_URL: 'mysql://a:b@c/d' },
    /^DATABASE_ENCRYPTION_KEY is required/,
  ],
  [
    'a database of another kind',
    { DATABASE_URL: 'postgres://a:b@c/d' },
    /^DATABASE_URL must begin with/,
  ],
  [
    'two databases',
    { DATABASE_URL: 'sqlite:a', DATABASE_HOST: 'b', DATABASE_ENCRYPTION_KEY: KEY },
    /set one of them/,
  ],
  [
    'an interface name that is too long',
    { WIREGUARD_INTERFACE: 'a'.repeat(16) },
    /^WIREGUARD_INTERFACE/,
  ],
  [
    'an interface name that the kernel keeps for itself',
    { WIREGUARD_INTERFACE: 'all' },
    /^WIREGUARD_INTERFACE has a meaning of its own for the kernel; give another name; got "all"/,
  ],
  [
    'a number of workers that is none',
    { DATAPLANE_WORKERS: 'x' },
    /^DATAPLANE_WORKERS must be auto, or a number from 1 to 8; got "x"/,
  ],
  [
    'a token of another form',
    { BOOTSTRAP_API_TOKEN: 'secret' },
    /^BOOTSTRAP_API_TOKEN must be pst_.*`postern token make-bootstrap` makes one/,
  ],
  [
    'a port that no server has',
    { DATABASE_URL: 'mysql://a:b@c:99999/d', DATABASE_ENCRYPTION_KEY: KEY },
    /^DATABASE_URL has port 99999; ports go from 1 to 65535.*; got the given value \(hidden\)/,
  ],
  [
    'port 0 of a server',
    { DATABASE_URL: 'mysql://a:b@c:0/d', DATABASE_ENCRYPTION_KEY: KEY },
    /^DATABASE_URL has port 0; ports go from 1 to 65535/,
  ],
  [
    'a password that breaks its URL',
    { DATABASE_URL: 'mysql://a:b#1@c/d', DATABASE_ENCRYPTION_KEY: KEY },
    /^DATABASE_URL cannot be read as a URL; in user and password write # as %23/,
  ],
  [
    'a broken escape',
    { DATABASE_URL: 'mysql://a:100%@c/d', DATABASE_ENCRYPTION_KEY: KEY },
    /^DATABASE_URL cannot be read as a URL; .* % as %25/,
  ],
  [
    'a server without a name',
    { DATABASE_URL: 'mysql:///a/b', DATABASE_ENCRYPTION_KEY: KEY },
    /^DATABASE_URL must name a host and a database/,
  ],
  [
    'a parameter of another client',
    { DATABASE_URL: 'mariadb://a:b@c/d?ssl=1&x=hidden', DATABASE_ENCRYPTION_KEY: KEY },
    /^DATABASE_URL takes no parameters; remove what follows the question mark \(ssl, x\)/,
  ],
  [
    'a fragment',
    { DATABASE_URL: 'mariadb://a:b@c/d#x', DATABASE_ENCRYPTION_KEY: KEY },
    /^DATABASE_URL takes no fragment; remove what follows the #/,
  ],
  [
    'a password that bcrypt would cut',
    { DEFAULT_ADMIN_EMAIL: 'a@b.test', DEFAULT_ADMIN_PASSWORD: 'ü'.repeat(37) },
    /^DEFAULT_ADMIN_PASSWORD must be at most 72 bytes in UTF-8; take a shorter one/,
  ],
  ['an MTU too small for IPv6', { WIREGUARD_MTU: '1279' }, /^WIREGUARD_MTU/],
];
for (const [title, environment, error] of bad)
  test(`${title} is refused`, (t) => {
    const { config, errors } = parse(environment);
    t.is(config, null);
    t.is(errors.length, 1, errors.join('\n'));
    t.regex(errors[0]!, error);
  });

test('all errors are reported at once', (t) => {
  const { errors } = parse({ HTTP_PORT: 'x', WIREGUARD_PORT: 'y', EXTERNAL_URL: 'z' });
  t.is(errors.length, 3);
});

test('errors between settings are reported beside those of single ones', (t) => {
  const { config, errors } = parse({
    WIREGUARD_PORT: '0',
    DEFAULT_ADMIN_EMAIL: 'a@b.test',
    DATABASE_HOST: 'db.test',
    WIREGUARD_IPV4_ADDRESS: '10.0.0.1',
    WIREGUARD_IPV6_NETWORK: 'fd00::/127',
  });
  t.is(config, null);
  const expected = [
    /^WIREGUARD_PORT/,
    /come together/,
    /^WIREGUARD_IPV4_ADDRESS .* is not inside/,
    /^WIREGUARD_IPV6_NETWORK .* has no room/,
    /^DATABASE_ENCRYPTION_KEY is required/,
  ];
  t.is(errors.length, expected.length, errors.join('\n'));
  for (const [i, pattern] of expected.entries()) t.regex(errors[i]!, pattern);
});

const skipped: [title: string, environment: Record<string, string>][] = [
  ['an address', { WIREGUARD_IPV4_ADDRESS: 'here', WIREGUARD_IPV4_NETWORK: '10.0.0.0/31' }],
  ['a key', { DATABASE_HOST: 'db.test', DATABASE_ENCRYPTION_KEY: 'short' }],
  ['a key file', { DATABASE_HOST: 'db.test', DATABASE_ENCRYPTION_KEY_FILE: '/nowhere' }],
  ['the settings file', { DATABASE_HOST: 'db.test', POSTERN_CONFIG: '/nowhere' }],
  ['a flag', { WIREGUARD_IPV4_ENABLED: 'perhaps', WIREGUARD_IPV6_ENABLED: 'false' }],
];
for (const [title, environment] of skipped)
  test(`if ${title} cannot be read, settings that depend on it cause no error`, (t) => {
    const { errors } = parse(environment);
    t.is(errors.length, 1, errors.join('\n'));
  });

test('an error never repeats a secret', (t) => {
  const { errors } = parse({ DATABASE_ENCRYPTION_KEY: 'hunter2hunter2' });
  t.false(errors.join().includes('hunter2'));
});

test('a secret may be in a file; the last line break is no part of it', (t) => {
  const { config } = parse({ WIREGUARD_PRIVATE_KEY_FILE: '/key' }, { '/key': `${KEY}\n` });
  t.is(config?.wireguardPrivateKey, KEY);
});

test('a secret file that cannot be read is an error that names it', (t) => {
  const { errors } = parse({ WIREGUARD_PRIVATE_KEY_FILE: '/nowhere' });
  t.regex(
    errors[0]!,
    /^WIREGUARD_PRIVATE_KEY_FILE names \/nowhere, which cannot be read: .*; restore the file, or correct WIREGUARD_PRIVATE_KEY_FILE$/,
  );
});

test('only secrets are read from files', (t) => {
  t.is(parse({ HTTP_PORT_FILE: '/port' }, { '/port': '80' }).config?.httpPort, 13000);
});

test('settings may be in a JSON file; the environment goes first', (t) => {
  const files = { '/c.json': '{"HTTP_PORT": 80, "WIREGUARD_PORT": "51821", "DATA_DIR": null}' };
  const { config } = parse({ POSTERN_CONFIG: '/c.json', HTTP_PORT: '81' }, files);
  t.is(config?.httpPort, 81);
  t.is(config?.wireguardPort, 51821);
  t.is(config?.dataDir, './data');
});

for (const text of ['[]', 'nonsense', '3'])
  test(`a settings file that holds ${text} is an error`, (t) => {
    const { errors } = parse({ POSTERN_CONFIG: '/c.json' }, { '/c.json': text });
    t.regex(errors[0]!, /^POSTERN_CONFIG names \/c.json, which cannot be used/);
  });

test('an unknown POSTERN_ name is a warning', (t) => {
  const { config, warnings } = parse({ POSTERN_COLOUR: 'blue' });
  t.not(config, null);
  t.deepEqual(warnings, ['POSTERN_COLOUR is not a setting of Postern and is ignored']);
});

test('variables of the configuration are passed on as texts, wherever they come from', (t) => {
  const { config, configurationTexts } = parse(
    {
      POSTERN_CONFIG: '/c.json',
      VPN_SESSION_DURATION: '60',
      LOGO: '',
      OPENID_CONNECT_PROVIDERS_FILE: '/providers',
    },
    { '/c.json': '{"VPN_SESSION_DURATION": 5, "DEFAULT_CLIENT_DNS": []}', '/providers': '[1]\n' },
  );
  t.deepEqual(configurationTexts, {
    VPN_SESSION_DURATION: '60',
    DEFAULT_CLIENT_DNS: '[]',
    OPENID_CONNECT_PROVIDERS: '[1]',
  });
  t.deepEqual(config?.configurationTexts, configurationTexts);
  const lines = describeConfig(config!);
  t.true(lines.includes('VPN_SESSION_DURATION=60'));
  t.true(lines.includes('OPENID_CONNECT_PROVIDERS=(hidden)'));
  t.false(lines.some((line) => line.startsWith('LOCAL_AUTH_ENABLED=')));
});

test('they are passed on beside errors of other settings, so that all are reported together', (t) => {
  const { config, configurationTexts } = parse({ HTTP_PORT: 'x', LOCAL_AUTH_ENABLED: 'perhaps' });
  t.is(config, null);
  t.deepEqual(configurationTexts, { LOCAL_AUTH_ENABLED: 'perhaps' });
});

for (const [environment, expected] of [
  [{ HTTP_PORT: '14000' }, 'http://127.0.0.1:14000/'],
  [{ PHOENIX_HTTP_PORT: '80' }, 'http://127.0.0.1/'],
  [{ HTTP_PORT: '14000', EXTERNAL_URL: 'http://127.0.0.1:13000/' }, 'http://127.0.0.1:13000/'],
  [{ HTTP_TLS_CERT: '/c', HTTP_TLS_KEY: '/k' }, 'https://127.0.0.1:13000/'],
] as const)
  test(`the public address with ${JSON.stringify(environment)} is ${expected}`, (t) => {
    t.is(parse(environment).config?.externalUrl, expected);
  });

for (const [environment, expected] of [
  [{}, 'loopback'],
  [{ HTTP_PORT: '0' }, 'loopback'],
  [{ EXTERNAL_URL: 'http://vpn.example.com:13000/' }, 'loopback'],
  [{ EXTERNAL_URL: 'https://vpn.example.com/', HTTP_PORT: '443' }, 'loopback'],
  [{ EXTERNAL_URL: 'https://vpn.example.com/' }, 'token'],
  [{ EXTERNAL_URL: 'http://vpn.example.com/' }, 'token'],
  [{ EXTERNAL_URL: 'https://vpn.example.com/', METRICS_ACCESS: 'loopback' }, 'loopback'],
  [{ METRICS_ACCESS: 'off' }, 'off'],
] as const)
  test(`the metrics with ${JSON.stringify(environment)} are open to: ${expected}`, (t) => {
    t.is(parse(environment).config?.metricsAccess, expected);
  });

for (const [token, isGood] of [
  ['sixteen-or-more-', true],
  ['fifteen--------', false],
  ['with a space in between', false],
  [`pst_${'a'.repeat(43)}`, false],
  ['ü'.repeat(20), false],
] as const)
  test(`METRICS_TOKEN=${token} is ${isGood ? '' : 'not '}accepted, and never shown`, (t) => {
    const { config, errors } = parse({ METRICS_TOKEN: token });
    t.is(config?.metricsToken ?? null, isGood ? token : null);
    t.is(errors.length, isGood ? 0 : 1);
    t.false(errors.join().includes(token));
    if (config !== null) t.true(describeConfig(config).includes('METRICS_TOKEN=(hidden)'));
  });

test('a certificate needs its key, and a key its certificate', (t) => {
  t.regex(parse({ HTTP_TLS_KEY: '/k' }).errors[0] ?? '', /^HTTP_TLS_CERT and HTTP_TLS_KEY/);
});

const HTTPS = 'https://vpn.example.com/';
for (const [environment, isAdvised] of [
  [{}, false],
  [{ HTTP_HOST: '::1' }, false],
  [{ HTTP_HOST: '0.0.0.0' }, true],
  [{ HTTP_HOST: '192.0.2.1' }, true],
  [{ HTTP_HOST: '::', TRUSTED_PROXIES: '192.0.2.2' }, false],
  [
    { HTTP_HOST: '::', TRUSTED_PROXIES: '192.0.2.2', EXTERNAL_URL: 'http://vpn.example.com/' },
    true,
  ],
  [{ HTTP_HOST: '0.0.0.0', HTTP_TLS_CERT: '/c', HTTP_TLS_KEY: '/k' }, false],
] as const)
  test(`${JSON.stringify(environment)} is ${isAdvised ? '' : 'not '}warned of HTTP without encryption`, (t) => {
    const { advice } = parse({ EXTERNAL_URL: HTTPS, ...environment });
    t.is(advice.filter((sentence) => /in the clear/.test(sentence)).length, isAdvised ? 1 : 0);
  });

for (const [url, isAdvised] of [
  [null, true],
  ['http://localhost:8080/', true],
  ['http://127.9.9.9/', true],
  ['http://[::1]/', true],
  ['https://vpn.example.com/', false],
  ['https://localhost.example.com/', false],
  ['http://10.0.0.1/', false],
] as const)
  test(`${url ?? 'the default'} is ${isAdvised ? '' : 'not '}reported as a host that no client can reach`, (t) => {
    const { advice } = parse({
      WIREGUARD_PORT: '51',
      ...(url === null ? {} : { EXTERNAL_URL: url }),
    });
    t.is(advice.filter((one) => /devices will look/.test(one)).length, isAdvised ? 1 : 0);
    if (isAdvised)
      t.regex(
        advice[0]!,
        /^EXTERNAL_URL is http.*: devices will look for the gateway at .*:51, which is this host itself; set EXTERNAL_URL, or default_client_endpoint/,
      );
  });

test('if devices use another endpoint, the host of EXTERNAL_URL may be this machine', (t) => {
  const { advice } = parse({ DEFAULT_CLIENT_ENDPOINT: 'vpn.example.com' });
  t.deepEqual(
    advice.filter((one) => /devices will look/.test(one)),
    [],
  );
});

for (const [environment, isAdvised] of [
  [{}, true],
  [{ HTTP_HOST: '0.0.0.0', HTTP_TLS_CERT: '/c', HTTP_TLS_KEY: '/k' }, true],
  [{ HTTP_HOST: '0.0.0.0', HTTP_TLS_CERT: '/c', HTTP_TLS_KEY: '/k', HTTP_PORT: '443' }, false],
  [{ HTTP_HOST: '0.0.0.0', EXTERNAL_URL: 'http://vpn.example.com:13000/' }, false],
  [{ HTTP_HOST: '0.0.0.0', EXTERNAL_URL: 'https://vpn.example.com:13000/' }, true],
  [{ EXTERNAL_URL: 'http://vpn.example.com:13000/' }, true],
  [{ EXTERNAL_URL: 'http://localhost:8080/' }, false],
  [{ TRUSTED_PROXIES: '127.0.0.1' }, false],
] as const)
  test(`${JSON.stringify(environment)} is ${isAdvised ? '' : 'not '}asked for its proxy`, (t) => {
    const { advice } = parse({ EXTERNAL_URL: HTTPS, ...environment });
    const asked = advice.filter((one) => /set TRUSTED_PROXIES to the proxy’s address/.test(one));
    t.is(asked.length, isAdvised ? 1 : 0);
  });

test('there is no advice if there are errors', (t) => {
  t.deepEqual(parse({ EXTERNAL_URL: 'x' }).advice, []);
});

test('the description hides secrets and shows the rest', (t) => {
  const { config } = parse({ WIREGUARD_PRIVATE_KEY: KEY, HTTP_PORT: '80' });
  const lines = describeConfig(config!);
  t.true(lines.includes('WIREGUARD_PRIVATE_KEY=(hidden)'));
  t.true(lines.includes('HTTP_PORT=80'));
  t.true(lines.includes('DATABASE_URL=(none)'));
  t.false(lines.join().includes(KEY));
});

test('settings can be checked beside the others before anybody sets them', (t) => {
  const { config } = parseConfig({}, () => '');
  if (config === null) throw new Error('no config');
  const network = { WIREGUARD_IPV4_NETWORK: '10.8.0.0/24' };
  t.deepEqual(errorsOfSettings(config, { ...network, WIREGUARD_IPV4_ADDRESS: '10.8.0.1' }), []);
  t.regex(
    errorsOfSettings(config, network).join(),
    /^WIREGUARD_IPV4_ADDRESS 100\.64\.0\.1 is not inside/,
  );
  t.regex(errorsOfSettings(config, { WIREGUARD_PORT: '0' }).join(), /^WIREGUARD_PORT must be/);
  t.is(config.wireguardIpv4Network, '100.64.0.0/10');
});
