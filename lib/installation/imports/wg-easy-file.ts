// Reads what wg-easy keeps: `wg0.json` (version 14) or the tables of its SQLite file (version 15).
// Both get one form here; wg-easy.ts says what it means to Postern. The clients' private keys are
// not read.

import type { ForeignRow, ForeignTables } from '../../../models/index.ts';
import { isObject } from '../../kit/validation/validate.ts';
import { timeOf } from './firezone-dump.ts';

/** A client of wg-easy, with its values as the file has them. */
export interface WgEasyClient {
  /** Where in the file. */
  readonly place: string;
  readonly name: unknown;
  readonly publicKey: unknown;
  readonly presharedKey: unknown;
  /** Without prefixes. */
  readonly addresses: readonly string[];
  readonly isEnabled: boolean;
  /** As it is written; null: it does not end. */
  readonly expiresAt: unknown;
  readonly insertedAt: Date | null;
  /** Networks in the client's file; null: those of all clients. */
  readonly allowedIps: readonly unknown[] | null;
  /** Networks behind the client. */
  readonly serverAllowedIps: readonly unknown[];
  /** Settings of the client's file that differ from those of all clients, by the API's names. */
  readonly own: Readonly<Record<string, unknown>>;
  /** What is not taken over, with the reason. */
  readonly left: readonly string[];
}

/** What wg-easy keeps. */
export interface WgEasy {
  readonly privateKey: string;
  /** What the private key is called in the file. */
  readonly keyPlace: string;
  /** Null where the file does not say. */
  readonly port: string | null;
  readonly mtu: string | null;
  /** The addresses of the server, with their prefixes. */
  readonly addresses: readonly string[];
  readonly clients: readonly WgEasyClient[];
  readonly errors: readonly string[];
  readonly notes: readonly string[];
}

/** The tables of version 15 that are read. */
export const WG_EASY_TABLES = ['clients_table', 'interfaces_table', 'user_configs_table'];

/** Reads `wg0.json`; throws with a sentence when it is none. */
export function parseWgEasyJson(text: string): WgEasy {
  const content = parse(text);
  const server = recordOf(content['server']);
  const clients = content['clients'];
  if (server === null || !isObject(clients))
    throw new Error('wg0.json of wg-easy is one JSON object with server and clients');
  const errors: string[] = [];
  const address = trimmedText(server['address']);
  if (address === '') errors.push('server.address is missing');
  return {
    privateKey: trimmedText(server['privateKey']),
    keyPlace: 'privateKey of server',
    port: server['port'] === undefined ? null : trimmedText(server['port']),
    mtu: null,
    addresses: address === '' ? [] : [address.includes('/') ? address : `${address}/24`],
    clients: Object.entries(clients).flatMap(([id, client]: [string, unknown]) => {
      const record = recordOf(client);
      if (record !== null) return [clientOfJson(id, record)];
      errors.push(`clients.${id} is no object`);
      return [];
    }),
    errors,
    notes: [
      'wg0.json holds no port and no MTU: if WG_PORT of wg-easy was not 51820, set WIREGUARD_PORT to it',
    ],
  };
}

function clientOfJson(id: string, client: ForeignRow): WgEasyClient {
  return {
    place: clientPlace(id, client['name']),
    name: client['name'],
    publicKey: client['publicKey'],
    presharedKey: client['preSharedKey'],
    addresses: [client['address']].map(trimmedText).filter((text) => text !== ''),
    isEnabled: client['enabled'] !== false,
    expiresAt: client['expiredAt'] ?? client['expireAt'] ?? null,
    insertedAt: timeOf(client['createdAt']),
    allowedIps: listOf(client['allowedIps'] ?? client['allowedIPs']),
    serverAllowedIps: listOf(client['serverAllowedIps'] ?? client['serverAllowedIPs']) ?? [],
    own: {},
    left: [],
  };
}

/** Reads the tables of version 15; throws with a sentence when they are none. */
export function readWgEasyTables({ tables, lacksLog }: ForeignTables): WgEasy {
  const clients = tables.get('clients_table');
  const interfaces = tables.get('interfaces_table');
  if (clients === undefined || interfaces === undefined)
    throw new Error(
      'the database has no clients_table and interfaces_table: it is none of wg-easy 15',
    );
  const [server = {}] = interfaces;
  const defaults = tables.get('user_configs_table')?.[0] ?? {};
  const errors =
    interfaces.length === 1
      ? []
      : [`interfaces_table has ${interfaces.length} rows; the gateway has one interface`];
  return {
    privateKey: trimmedText(server['private_key']),
    keyPlace: 'private_key of interfaces_table',
    port: trimmedText(server['port']),
    mtu: trimmedText(server['mtu']),
    addresses: ['ipv4_cidr', 'ipv6_cidr']
      .map((name) => trimmedText(server[name]))
      .filter((text) => text !== ''),
    clients: clients.map((row) => clientOfRow(row, defaults)),
    errors,
    notes: [...logNotes(lacksLog), ...defaultNotes(defaults)],
  };
}

function logNotes(lacksLog: boolean): string[] {
  return lacksLog
    ? [
        'there is no -wal file beside the database: if wg-easy ran while it was copied, copy both, or its latest changes are missing',
      ]
    : [];
}

function defaultNotes(defaults: ForeignRow): string[] {
  const host = trimmedText(defaults['host']);
  const allowed = listOf(defaults['default_allowed_ips'])?.join(', ') ?? '';
  return [
    ...(host === ''
      ? []
      : [`the clients look for the server at ${host}:${trimmedText(defaults['port'])}`]),
    ...(allowed === '' || allowed === '0.0.0.0/0, ::/0'
      ? []
      : [
          `wg-easy gives all clients the allowed IPs ${allowed}: set default_client_allowed_ips to them`,
        ]),
  ];
}

function clientOfRow(row: ForeignRow, defaults: ForeignRow): WgEasyClient {
  const dns = listOf(row['dns']);
  const own: Record<string, unknown> = dns === null ? {} : { dns };
  for (const name of ['mtu', 'persistent_keepalive']) {
    const value = row[name] ?? null;
    if (value !== null && value !== defaults[`default_${name}`]) own[name] = value;
  }
  const hooks = ['pre_up', 'post_up', 'pre_down', 'post_down'].filter(
    (name) => trimmedText(row[name]) !== '',
  );
  return {
    place: clientPlace(trimmedText(row['id']), row['name']),
    name: row['name'],
    publicKey: row['public_key'],
    presharedKey: row['pre_shared_key'],
    addresses: [row['ipv4_address'], row['ipv6_address']]
      .map(trimmedText)
      .filter((text) => text !== ''),
    isEnabled: Number(row['enabled']) !== 0,
    expiresAt: row['expires_at'] ?? null,
    insertedAt: timeOf(row['created_at']),
    allowedIps: listOf(row['allowed_ips']),
    serverAllowedIps: listOf(row['server_allowed_ips']) ?? [],
    own,
    left: [
      ...hooks.map((name) => `${name} is not taken over; it is in the file of the client`),
      ...((listOf(row['firewall_ips']) ?? []).length === 0
        ? []
        : ['firewall_ips is not taken over; make rules for its owner']),
    ],
  };
}

function clientPlace(id: string, name: unknown): string {
  return `client ${id} (${trimmedText(name)})`;
}

function parse(text: string): ForeignRow {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new Error(`the file is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  return recordOf(content) ?? {};
}

function recordOf(value: unknown): ForeignRow | null {
  return isObject(value) ? (value as ForeignRow) : null;
}

function trimmedText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
}

/** A list, or JSON of one, or text with commas between; null where there is none. */
function listOf(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value as unknown[];
  if (typeof value !== 'string' || value.trim() === '' || value.trim() === 'null') return null;
  try {
    const parsed: unknown = JSON.parse(value);
    if (Array.isArray(parsed)) return parsed as unknown[];
  } catch {
    // It is no JSON, so it is a list as people write it.
  }
  return value.split(',').map((one) => one.trim());
}
