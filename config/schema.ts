// Every setting that the outside may give: its name, its unit, its default and one sentence.
// The table is the single source: config/index.ts parses by it, docs/reference/settings.md is
// generated from it, and `check-config` prints it. It reads no environment itself.

import Joi from 'joi';
import type { Config } from './config.ts';
import {
  base64Key,
  choice,
  databaseUrl,
  email,
  externalUrl,
  flag,
  hostsAndNetworks,
  interfaceName,
  ipv4,
  ipv4Network,
  ipv6,
  ipv6Network,
  password,
  port,
  text,
  token,
} from './forms.ts';
import { mailSettings } from './mail.ts';
import { observationSettings } from './observation-settings.ts';

/** One row of the settings table. */
export interface Setting {
  /** Name of the environment variable; the field of Config is its camelCase form. */
  name: string;
  /** Other spellings that are read where the name itself is not given. */
  aliases?: readonly string[];
  /** Validates and converts the text. */
  schema: Joi.Schema;
  /** Value when nothing is given; null means "none". */
  fallback: string | number | boolean | null;
  /** Value when nothing is given, where other settings decide; `fallback` goes with theirs. */
  derive?: (config: Config) => string;
  /** A good value, quoted in errors. */
  example: string;
  /** What it does, in one sentence. */
  sentence: string;
  /** True: an error says when to set it, and docs/reference/settings.md leaves it out. */
  isForErrors?: boolean;
  /** True: also read from NAME_FILE, never printed. */
  secret?: boolean;
}

/** The settings, in the order in which docs/reference/settings.md and `check-config` list them. */
export const settings = [
  {
    name: 'EXTERNAL_URL',
    schema: externalUrl,
    fallback: 'http://127.0.0.1:13000/',
    // Port 0 is a free one, known once the server listens.
    derive: ({ httpPort, httpTlsCert }) =>
      new URL(`${httpTlsCert === null ? 'http' : 'https'}://127.0.0.1:${httpPort || 13000}/`).href,
    example: 'https://vpn.example.com/',
    sentence:
      'Public address of the API and the web pages; a path must end in `/`, and need not be taken off by the proxy. Its host is the endpoint of devices, its default has the port of `HTTP_PORT`.',
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
    name: 'HTTP_TLS_CERT',
    schema: text,
    fallback: null,
    example: '/etc/postern/tls.crt',
    sentence:
      'PEM file with a certificate and its chain, beside `HTTP_TLS_KEY`: HTTPS without a proxy. Both are read again when they change.',
  },
  {
    name: 'HTTP_TLS_KEY',
    schema: text,
    fallback: null,
    example: '/etc/postern/tls.key',
    sentence: 'PEM file with the key of that certificate.',
  },
  {
    name: 'HTTP_THROUGH_TUNNEL',
    schema: choice('auto', 'on', 'off'),
    fallback: 'auto',
    example: 'on',
    sentence:
      'Whether devices reach the API and the console through the tunnel, where `HTTP_HOST` includes its addresses: `auto` only over HTTPS (`HTTP_TLS_CERT`), `on` also without TLS, `off` never.',
  },
  {
    name: 'TRUSTED_PROXIES',
    aliases: ['PHOENIX_EXTERNAL_TRUSTED_PROXIES'],
    schema: hostsAndNetworks,
    fallback: null,
    example: '10.0.0.0/8,192.0.2.7',
    sentence:
      'Proxies (addresses, CIDRs or host names, with commas between) whose `X-Forwarded-For` is believed. Without it all people behind a proxy count as one address. A CIDR does not make devices of the tunnel proxies; only their exact addresses do. A host name (for example a service of Docker Compose) is looked up again each minute; use one only where nobody else can answer for it.',
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
    name: 'DATABASE_TLS',
    schema: choice('off', 'required', 'verify'),
    fallback: 'off',
    example: 'verify',
    sentence:
      'TLS to the MySQL or MariaDB server: `required` encrypts and trusts any certificate, `verify` also needs one that is valid for the host name; `off` sends passwords and rows in the clear.',
  },
  {
    name: 'DATABASE_TLS_CA',
    schema: text,
    fallback: null,
    example: '/etc/postern/database-ca.crt',
    sentence:
      'PEM file with the certificates that `DATABASE_TLS=verify` trusts; none: those of public authorities.',
  },
  {
    name: 'DATABASE_TLS_CERT',
    schema: text,
    fallback: null,
    example: '/etc/postern/database-client.crt',
    sentence:
      'PEM file with the certificate of this client, beside `DATABASE_TLS_KEY`, for database users that must have one (`REQUIRE X509`).',
  },
  {
    name: 'DATABASE_TLS_KEY',
    schema: text,
    fallback: null,
    example: '/etc/postern/database-client.key',
    sentence: 'PEM file with the key of that certificate.',
  },
  {
    name: 'DATABASE_AWAY_LIMIT',
    schema: Joi.number().integer().min(10).max(31_536_000),
    fallback: null,
    example: '3600',
    sentence:
      'Seconds after which no device passes while the database cannot be read (10 or more), because a user may have been disabled elsewhere; none: devices pass for as long as it lasts.',
  },
  {
    name: 'MIGRATE_BESIDE_OLDER',
    schema: flag,
    fallback: false,
    example: 'true',
    sentence:
      'Migrates the database also while gateways of 1.0.0 run on it, which take [rules for some as rules for everybody](../guides/several-gateways.md#upgrading) until they are upgraded; false: a start waits 60 s for them to stop, then ends, and commands end at once.',
  },
  {
    name: 'DATABASE_ENCRYPTION_KEY',
    schema: base64Key,
    fallback: null,
    example: '9vnb3VdLFCa/RO5fZmrw3NaWvxRmTrqjKsBEYcG2wwk=',
    sentence:
      'The key (32 bytes, base64) that encrypts preshared keys and the server key. With SQLite the gateway makes one in `DATA_DIR`; with MySQL it is required.',
    secret: true,
  },
  {
    name: 'DATABASE_ENCRYPTION_KEY_OLD',
    schema: base64Key,
    fallback: null,
    example: 'q2nGd0vXQm0y5mJm3v6cFqg2kVnYw1YbXr3s7uTt5kA=',
    sentence:
      'Another key that opens secrets, while `keys rotate` moves them or a backup made with it is restored.',
    secret: true,
  },
  {
    name: 'DEFAULT_ADMIN_EMAIL',
    schema: email,
    fallback: null,
    example: 'admin@example.com',
    sentence: 'Administrator made at start when no user exists.',
  },
  {
    name: 'DEFAULT_ADMIN_PASSWORD',
    schema: password,
    fallback: null,
    example: 'correct horse battery staple',
    sentence: 'Password of that administrator, 12 to 64 characters and at most 72 bytes in UTF-8.',
    secret: true,
  },
  {
    name: 'BOOTSTRAP_API_TOKEN',
    schema: token,
    fallback: null,
    example: 'pst_ and 43 characters of unpadded base64url',
    sentence:
      'Becomes an API token of the first administrator, for containers and tests; valid while a gateway has it set.',
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
      '`auto` answers `wg show` at `/var/run/wireguard/<interface>.sock`, to root alone; nothing can be changed there.',
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
    sentence:
      'Whether IPv4 traffic of devices leaves with the address of the gateway; false needs a TUN.',
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
    sentence:
      'Whether IPv6 traffic of devices leaves with the address of the gateway; false needs a TUN.',
  },
  {
    name: 'WIREGUARD_MTU',
    schema: Joi.number().integer().min(1280).max(65000),
    fallback: 1280,
    example: '1280',
    sentence: 'MTU of the TUN interface in bytes; up to 1500 also the default for devices.',
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
    schema: choice('auto', 'required', 'off', 'sockets'),
    fallback: 'auto',
    example: 'auto',
    sentence:
      'How packets of devices leave the gateway: `required` fails without a TUN interface; `sockets` makes none, and [opens connections itself](../guides/where-it-runs.md); `auto` is a TUN, or `sockets` where the host gives none and no version before 1.1.0 has used the database; `off` serves device-to-device and the gateway address only.',
  },
  {
    name: 'GATEWAY_EGRESS_INTERFACE',
    schema: interfaceName,
    fallback: null,
    example: 'eth0',
    sentence: 'Limits masquerading, or the sockets of the gateway, to this outgoing interface.',
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
    isForErrors: true,
  },
  {
    name: 'DATAPLANE_WORKERS',
    schema: Joi.number()
      .integer()
      .min(1)
      .max(8)
      .allow('auto')
      .messages({ 'number.base': 'must be auto, or a number from 1 to 8' }),
    fallback: 'auto',
    example: 'auto',
    sentence:
      'How many threads carry packets, 1 to 8; `auto` is one less than the cores of the machine. Each device has one of them. The TypeScript engine has one.',
  },
  {
    name: 'ALLOW_CLOUD_METADATA',
    schema: flag,
    fallback: false,
    example: 'true',
    sentence:
      'Whether devices may reach the addresses at which clouds give a machine its identity and credentials, here those of the host of the gateway: `168.63.129.16` (also a DNS server of Azure), `100.100.100.200`, `192.0.0.192`, `fd00:ec2::254`, `fd00:ec2::23`, `fd20:ce::254`. Link-local addresses, `169.254.169.254` among them, are never reached.',
  },
  {
    name: 'MAX_DEVICES_PER_USER',
    schema: Joi.number().integer().min(0).max(100),
    fallback: 10,
    example: '10',
    sentence: 'Devices that one user may have, 0 to 100.',
  },
  {
    name: 'API_RATE_LIMIT',
    schema: Joi.number().integer().min(0).max(1_000_000),
    fallback: 1000,
    example: '1000',
    sentence:
      'Requests per second and token, twice that at once; without a good token 20 per second and address; 0 means no limit for both.',
  },
  {
    name: 'SAML_ENTITY_ID',
    schema: text.max(1024),
    fallback: 'urn:firezone.dev:firezone-app',
    example: 'urn:example.com:vpn',
    sentence: 'The name by which SAML identity providers know this gateway.',
  },
  {
    name: 'SAML_KEYFILE_PATH',
    schema: text,
    fallback: null,
    example: '/etc/postern/saml.key',
    sentence:
      'PEM file with the RSA key that signs SAML requests, beside `SAML_CERTFILE_PATH`; none means one that is made once and kept in the database, encrypted.',
  },
  {
    name: 'SAML_CERTFILE_PATH',
    schema: text,
    fallback: null,
    example: '/etc/postern/saml.crt',
    sentence: 'PEM file with the certificate of that key, which SAML providers get as metadata.',
  },
  {
    name: 'VPN_SESSION_REQUIRE_SIGN_IN',
    schema: flag,
    fallback: false,
    example: 'false',
    sentence:
      'Whether a user who never signed in counts as expired when a session duration is set.',
  },
  ...mailSettings,
  ...observationSettings,
] as const satisfies readonly Setting[];

/** Field of Config that holds a setting: WIREGUARD_PORT -> wireguardPort. */
export function fieldOf(name: string): string {
  return name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
