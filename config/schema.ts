// Every setting that the outside may give: its name, its unit, its default and one sentence.
// The table is the single source: config/index.ts parses by it, config/README.md is generated
// from it, and `check-config` prints it. It reads no environment itself.

import Joi from 'joi';

/** The settings, parsed; frozen at start and handed to the rooms that need them. */
export interface Config {
  externalUrl: string;
  httpHost: string;
  httpPort: number;
  dataDir: string;
  databaseUrl: string | null;
  databaseHost: string | null;
  databasePort: number;
  databaseName: string;
  databaseUser: string;
  databasePassword: string | null;
  databasePoolSize: number;
  databaseEncryptionKey: string | null;
  defaultAdminEmail: string | null;
  defaultAdminPassword: string | null;
  bootstrapApiToken: string | null;
  wireguardPort: number;
  wireguardInterface: string;
  wireguardUapi: 'auto' | 'off';
  wireguardIpv4Enabled: boolean;
  wireguardIpv4Network: string;
  wireguardIpv4Address: string;
  wireguardIpv4Masquerade: boolean;
  wireguardIpv6Enabled: boolean;
  wireguardIpv6Network: string;
  wireguardIpv6Address: string;
  wireguardIpv6Masquerade: boolean;
  wireguardMtu: number;
  wireguardPrivateKey: string | null;
  wireguardTun: 'auto' | 'required' | 'off';
  gatewayEgressInterface: string | null;
  gatewayForwarding: 'auto' | 'off';
  dataplaneEngine: 'auto' | 'native' | 'typescript';
  dataplaneX25519: 'openssl' | 'tweetnacl';
  defaultAction: 'accept' | 'drop';
  maxDevicesPerUser: number;
  vpnSessionRequireSignIn: boolean;
  logFormat: 'text' | 'json' | null;
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error';
}

/** One row of the settings table. */
export interface Setting {
  /** Name of the environment variable; the field of Config is its camelCase form. */
  name: string;
  /** Other spellings that are read where the name itself is not given. */
  aliases?: readonly string[];
  /** Judges and converts the text. */
  schema: Joi.Schema;
  /** Value when nothing is given; null means "none". */
  fallback: string | number | boolean | null;
  /** A good value, quoted in complaints. */
  example: string;
  /** What it does, in one sentence. */
  sentence: string;
  /** True: also read from NAME_FILE, never printed. */
  secret?: boolean;
}

/** 32 bytes as standard base64: WireGuard keys and the database encryption key. */
const base64Key = Joi.string()
  .pattern(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/)
  .messages({ 'string.pattern.base': 'must be 32 bytes in base64 (44 characters)' });

const text = Joi.string().min(1);
const port = Joi.number().integer().min(1).max(65535);
const flag = Joi.boolean().truthy('1', 'yes', 'on').falsy('0', 'no', 'off');
const choice = (...values: string[]): Joi.Schema => Joi.string().valid(...values);
const ipv4 = Joi.string().ip({ version: 'ipv4', cidr: 'forbidden' });
const ipv6 = Joi.string().ip({ version: 'ipv6', cidr: 'forbidden' });
const ipv4Network = Joi.string().ip({ version: 'ipv4', cidr: 'required' });
const ipv6Network = Joi.string().ip({ version: 'ipv6', cidr: 'required' });
const interfaceName = Joi.string()
  .pattern(/^[A-Za-z0-9_=+.-]{1,15}$/)
  .messages({ 'string.pattern.base': 'must be 1 to 15 characters of A-Z a-z 0-9 _ = + . -' });

const token = Joi.string()
  .pattern(/^pst_[A-Za-z0-9_-]{43}$/)
  .messages({ 'string.pattern.base': 'must be pst_ and 43 characters of unpadded base64url' });

/** The public address; its path, if any, must end in a slash so that paths can be appended. */
const externalUrl = Joi.string().custom((value: string, helpers) => {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return helpers.message({ custom: 'must be an absolute URL' });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return helpers.message({ custom: 'must begin with http:// or https://' });
  if (url.search !== '' || url.hash !== '' || url.username !== '')
    return helpers.message({ custom: 'must not hold a query, a fragment or a user' });
  if (!url.pathname.endsWith('/')) return helpers.message({ custom: 'must end in /' });
  return url.href;
});

const databaseUrl = Joi.string()
  .pattern(/^(mysql|mariadb):\/\/.+\/.+|^sqlite:.+/)
  .messages({
    'string.pattern.base': 'must begin with mysql://, mariadb:// or sqlite: and name a database',
  });

/** The settings, in the order in which the README and `check-config` list them. */
export const settings = [
  {
    name: 'EXTERNAL_URL',
    schema: externalUrl,
    fallback: 'http://127.0.0.1:13000/',
    example: 'https://vpn.example.com/',
    sentence: 'Public address of the API and the web pages; a path must end in `/`.',
  },
  {
    name: 'HTTP_HOST',
    aliases: ['PHOENIX_LISTEN_ADDRESS'],
    schema: text,
    fallback: '127.0.0.1',
    example: '127.0.0.1',
    sentence: 'Address that the HTTP server listens on.',
  },
  {
    name: 'HTTP_PORT',
    aliases: ['PHOENIX_HTTP_PORT'],
    schema: Joi.number().integer().min(0).max(65535),
    fallback: 13000,
    example: '13000',
    sentence: 'TCP port of the HTTP server; 0 takes a free one.',
  },
  {
    name: 'DATA_DIR',
    schema: text,
    fallback: './data',
    example: '/var/lib/postern',
    sentence: 'Folder of the SQLite file and the keys (mode 0700).',
  },
  {
    name: 'DATABASE_URL',
    schema: databaseUrl,
    fallback: null,
    example: 'mysql://postern:secret@127.0.0.1:3306/postern',
    sentence: 'Database; none means SQLite at `DATA_DIR/postern.sqlite`.',
    secret: true,
  },
  {
    name: 'DATABASE_HOST',
    schema: text,
    fallback: null,
    example: '127.0.0.1',
    sentence: 'Host of the MySQL or MariaDB server, instead of `DATABASE_URL`.',
  },
  {
    name: 'DATABASE_PORT',
    schema: port,
    fallback: 3306,
    example: '3306',
    sentence: 'TCP port of the database server.',
  },
  {
    name: 'DATABASE_NAME',
    schema: text,
    fallback: 'postern',
    example: 'postern',
    sentence: 'Name of the database.',
  },
  {
    name: 'DATABASE_USER',
    schema: text,
    fallback: 'postern',
    example: 'postern',
    sentence: 'User at the database server.',
  },
  {
    name: 'DATABASE_PASSWORD',
    schema: text,
    fallback: null,
    example: 'secret',
    sentence: 'Password at the database server.',
    secret: true,
  },
  {
    name: 'DATABASE_POOL_SIZE',
    aliases: ['DATABASE_POOL'],
    schema: Joi.number().integer().min(2).max(1000),
    fallback: 10,
    example: '10',
    sentence: 'Connections kept to a MySQL or MariaDB server.',
  },
  {
    name: 'DATABASE_ENCRYPTION_KEY',
    schema: base64Key,
    fallback: null,
    example: '9vnb3VdLFCa/RO5fZmrw3NaWvxRmTrqjKsBEYcG2wwk=',
    sentence:
      'Encrypts preshared keys and the server key (32 bytes, base64); with SQLite made once in `DATA_DIR`, with MySQL required.',
    secret: true,
  },
  {
    name: 'DEFAULT_ADMIN_EMAIL',
    schema: Joi.string()
      .trim()
      .max(255)
      .pattern(/^[^@\s]+@[^@\s]+$/)
      .messages({ 'string.pattern.base': 'must be an e-mail address' }),
    fallback: null,
    example: 'admin@example.com',
    sentence: 'Administrator made at start when no user exists.',
  },
  {
    name: 'DEFAULT_ADMIN_PASSWORD',
    schema: Joi.string().min(12).max(64),
    fallback: null,
    example: 'correct horse battery staple',
    sentence: 'Password of that administrator, 12 to 64 characters.',
    secret: true,
  },
  {
    name: 'BOOTSTRAP_API_TOKEN',
    schema: token,
    fallback: null,
    example: 'pst_ and 43 characters of unpadded base64url',
    sentence:
      'Becomes an API token of the first administrator, for containers and tests; valid while it is set.',
    secret: true,
  },
  {
    name: 'WIREGUARD_PORT',
    schema: port,
    fallback: 51820,
    example: '51820',
    sentence: 'UDP port of WireGuard, both families.',
  },
  {
    name: 'WIREGUARD_INTERFACE',
    aliases: ['WIREGUARD_INTERFACE_NAME'],
    schema: interfaceName,
    fallback: 'wg-postern',
    example: 'wg-postern',
    sentence: 'Name of the TUN interface.',
  },
  {
    name: 'WIREGUARD_UAPI',
    schema: choice('auto', 'off'),
    fallback: 'auto',
    example: 'off',
    sentence:
      '`auto` answers `wg show` at /var/run/wireguard/<interface>.sock, to root alone; nothing can be changed there.',
  },
  {
    name: 'WIREGUARD_IPV4_ENABLED',
    schema: flag,
    fallback: true,
    example: 'true',
    sentence: 'Whether devices have IPv4 addresses inside the tunnel.',
  },
  {
    name: 'WIREGUARD_IPV4_NETWORK',
    schema: ipv4Network,
    fallback: '100.64.0.0/10',
    example: '100.64.0.0/10',
    sentence: 'IPv4 network of the devices.',
  },
  {
    name: 'WIREGUARD_IPV4_ADDRESS',
    schema: ipv4,
    fallback: '100.64.0.1',
    example: '100.64.0.1',
    sentence: 'IPv4 address of the gateway inside that network.',
  },
  {
    name: 'WIREGUARD_IPV4_MASQUERADE',
    schema: flag,
    fallback: true,
    example: 'true',
    sentence: 'Whether IPv4 traffic of devices leaves with the address of the gateway.',
  },
  {
    name: 'WIREGUARD_IPV6_ENABLED',
    schema: flag,
    fallback: true,
    example: 'true',
    sentence: 'Whether devices have IPv6 addresses inside the tunnel.',
  },
  {
    name: 'WIREGUARD_IPV6_NETWORK',
    schema: ipv6Network,
    fallback: 'fd00::/106',
    example: 'fd00::/106',
    sentence: 'IPv6 network of the devices.',
  },
  {
    name: 'WIREGUARD_IPV6_ADDRESS',
    schema: ipv6,
    fallback: 'fd00::1',
    example: 'fd00::1',
    sentence: 'IPv6 address of the gateway inside that network.',
  },
  {
    name: 'WIREGUARD_IPV6_MASQUERADE',
    schema: flag,
    fallback: true,
    example: 'true',
    sentence: 'Whether IPv6 traffic of devices leaves with the address of the gateway.',
  },
  {
    name: 'WIREGUARD_MTU',
    schema: Joi.number().integer().min(1280).max(65000),
    fallback: 1280,
    example: '1280',
    sentence: 'MTU of the TUN interface in bytes; also the default for devices.',
  },
  {
    name: 'WIREGUARD_PRIVATE_KEY',
    schema: base64Key,
    fallback: null,
    example: 'yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=',
    sentence: 'Private key of the gateway; none means made once and kept in the database.',
    secret: true,
  },
  {
    name: 'WIREGUARD_TUN',
    schema: choice('auto', 'required', 'off'),
    fallback: 'auto',
    example: 'auto',
    sentence:
      '`required` fails without a TUN; `off` serves device-to-device and the gateway address only; `auto` falls back to `off` with a warning.',
  },
  {
    name: 'GATEWAY_EGRESS_INTERFACE',
    schema: interfaceName,
    fallback: null,
    example: 'eth0',
    sentence: 'Limits masquerading to this outgoing interface.',
  },
  {
    name: 'GATEWAY_FORWARDING',
    schema: choice('auto', 'off'),
    fallback: 'auto',
    example: 'auto',
    sentence: '`auto` switches IP forwarding on where it is off; `off` leaves it alone.',
  },
  {
    name: 'DATAPLANE_ENGINE',
    schema: choice('auto', 'native', 'typescript'),
    fallback: 'auto',
    example: 'auto',
    sentence: 'Which engine moves the packets; `auto` is native where the addon was built.',
  },
  {
    name: 'DATAPLANE_X25519',
    schema: choice('openssl', 'tweetnacl'),
    fallback: 'openssl',
    example: 'openssl',
    sentence: 'Which implementation computes the handshakes of the native engine.',
  },
  {
    name: 'DEFAULT_ACTION',
    schema: choice('accept', 'drop'),
    fallback: 'accept',
    example: 'accept',
    sentence: 'What happens to a packet that no rule matches.',
  },
  {
    name: 'MAX_DEVICES_PER_USER',
    schema: Joi.number().integer().min(0).max(100),
    fallback: 10,
    example: '10',
    sentence: 'Devices that one user may have, 0 to 100.',
  },
  {
    name: 'VPN_SESSION_REQUIRE_SIGN_IN',
    schema: flag,
    fallback: false,
    example: 'false',
    sentence:
      'Whether a user who never signed in counts as expired when a session duration is set.',
  },
  {
    name: 'LOG_FORMAT',
    schema: choice('text', 'json'),
    fallback: null,
    example: 'json',
    sentence: 'Form of log lines; none means text on a terminal, JSON elsewhere.',
  },
  {
    name: 'LOG_LEVEL',
    schema: choice('trace', 'debug', 'info', 'warn', 'error'),
    fallback: 'info',
    example: 'info',
    sentence: 'Lowest level that is logged.',
  },
] as const satisfies readonly Setting[];

/** Field of Config that holds a setting: WIREGUARD_PORT -> wireguardPort. */
export function fieldOf(name: string): string {
  return name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
