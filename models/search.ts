// Records by what people type into a search field: ids of one page of those whose texts hold it, in
// the order of the table that people see. Whole rows are then read by their ids. A scan, because a
// text may stand anywhere in another; it is for people, who ask one page at a time.

import type { Transaction } from 'sequelize';
import type { Database } from './storage/database.ts';
import { plainSelect } from './storage/select.ts';
import { sqlTime } from './storage/time.ts';

/** What can be searched. */
export type Searchable = 'users' | 'devices' | 'rules' | 'api_tokens';

/** Which records. */
export interface SearchWish {
  /** Any of the texts holds this, in any case; empty: all records. */
  readonly text: string;
  /** Of this owner alone. Not for users. */
  readonly userId?: string;
  readonly offset: number;
  readonly limit: number;
}

interface Place {
  readonly join: string;
  /** Columns that are searched. */
  readonly columns: readonly string[];
  readonly order: string;
}

const OWNER = 'JOIN users ON users.id =';
const PLACES: Readonly<Record<Searchable, Place>> = {
  users: { join: '', columns: ['users.email', 'users.role'], order: 'users.email_key' },
  devices: {
    join: `${OWNER} devices.user_id LEFT JOIN device_statuses ON device_id = devices.id`,
    columns: [
      ...['name', 'description', 'public_key', 'ipv4', 'ipv6'].map((name) => `devices.${name}`),
      'device_statuses.remote_ip',
      'users.email',
    ],
    order: 'devices.inserted_at DESC, devices.id DESC',
  },
  rules: {
    join: `LEFT ${OWNER} rules.user_id`,
    columns: ['rules.destination', 'rules.action', 'rules.port_type', 'users.email'],
    order: 'rules.inserted_at, rules.id',
  },
  api_tokens: {
    join: `${OWNER} api_tokens.user_id`,
    columns: ['api_tokens.name', 'users.email'],
    order: 'api_tokens.inserted_at DESC, api_tokens.id DESC',
  },
};

/** Finds the ids of a page, in the order in which they are shown. */
export async function searchIds(
  database: Database,
  table: Searchable,
  { text, userId, offset, limit }: SearchWish,
): Promise<string[]> {
  const { join, columns, order } = PLACES[table];
  const conditions = [
    ...(text === '' ? [] : [`(${columns.map(holdsText).join(' OR ')})`]),
    ...(userId === undefined ? [] : [`${table}.user_id = :userId`]),
  ];
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT ${table}.id FROM ${table} ${text === '' ? '' : join}
     ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
     ORDER BY ${order} LIMIT :limit OFFSET :offset`,
    {
      ...plainSelect(),
      replacements: { text, lower: text.toLowerCase(), userId, limit, offset },
    },
  );
  return rows.map(({ id }) => id);
}

/** Counts the devices of each of these users; those without any are left out. */
export async function countDevices(
  database: Database,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (userIds.length === 0) return new Map();
  const rows = await database.sequelize.query<{ user_id: string; count: number }>(
    'SELECT user_id, COUNT(*) AS count FROM devices WHERE user_id IN (:userIds) GROUP BY user_id',
    { ...plainSelect(), replacements: { userIds: [...userIds] } },
  );
  return new Map(rows.map(({ user_id, count }) => [user_id, count]));
}

/** Counts all devices. */
export async function countAllDevices(
  database: Database,
  transaction: Transaction,
): Promise<number> {
  const [row] = await database.sequelize.query<{ count: number }>(
    'SELECT COUNT(*) AS count FROM devices',
    plainSelect(transaction),
  );
  return Number(row?.count ?? 0);
}

/** What all devices together were seen to do. */
export interface FleetStatus {
  readonly devices: number;
  /** Those that shook hands since a time. */
  readonly online: number;
  readonly rxBytes: number;
  readonly txBytes: number;
}

/** Sums the devices up; `since` is the earliest handshake of one that is online. */
export async function readFleetStatus(database: Database, since: Date): Promise<FleetStatus> {
  const [row] = await database.sequelize.query<Record<keyof FleetStatus, number | string | null>>(
    `SELECT (SELECT COUNT(*) FROM devices) AS devices,
            SUM(CASE WHEN latest_handshake >= :since THEN 1 ELSE 0 END) AS online,
            SUM(rx_bytes) AS rxBytes, SUM(tx_bytes) AS txBytes FROM device_statuses`,
    { ...plainSelect(), replacements: { since: sqlTime(database.kind, since) } },
  );
  const numberOf = (name: keyof FleetStatus): number => Number(row?.[name] ?? 0);
  return {
    devices: numberOf('devices'),
    online: numberOf('online'),
    rxBytes: numberOf('rxBytes'),
    txBytes: numberOf('txBytes'),
  };
}

/** The ids of the devices that shook hands last, the latest first. */
export async function readLatestHandshakes(database: Database, limit: number): Promise<string[]> {
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT device_id AS id FROM device_statuses WHERE latest_handshake IS NOT NULL
     ORDER BY latest_handshake DESC, device_id LIMIT :limit`,
    { ...plainSelect(), replacements: { limit } },
  );
  return rows.map(({ id }) => id);
}

/** Without LIKE: what is typed has no wild cards. SQLite lowers only the letters of ASCII. */
function holdsText(column: string): string {
  return `INSTR(${column}, :text) > 0 OR INSTR(LOWER(${column}), :lower) > 0`;
}
