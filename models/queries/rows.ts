// Plain rows, read past the tables' classes where many are wanted at once: by the reconciler (all
// rows, or those that a change names) and by the API's lists (page by page). README.md has the
// figures, and those of instances of the classes beside them.

import type { Transaction } from 'sequelize';
import type { Family } from '../tables/columns.ts';
import type { Configuration } from '../tables/configuration.ts';
import type { PortType, RuleAction } from '../tables/rule.ts';
import type { Database } from '../database/database.ts';
import { type RowSource, selectRows } from '../storage/select.ts';
import { sqlTime } from '../storage/time.ts';
import type { DisabledBy, Role } from '../tables/user.ts';

/** How many ids one statement names; longer lists are read in parts. */
const IDS_PER_STATEMENT = 500;

/** Which rows to read: all of them, oldest first, unless something here narrows it. */
export interface Selection {
  /** These alone; ids that are not there are left out. The order is not kept. */
  ids?: readonly string[];
  /** Of this owner; null means rules that are everyone's. Not for users. */
  userId?: string | null;
  /** Of this `emailKey`; only for users. */
  emailKey?: string;
  /** Beyond this row, in the order of lists (`inserted_at`, then `id`). */
  after?: { inserted_at: Date; id: string };
  /** At most so many. */
  limit?: number;
  /** Where the rows must fit others that are read with them. */
  transaction?: Transaction;
}

/** A user, without the password hash. */
export interface UserRow {
  id: string;
  email: string;
  role: Role;
  disabled_at: Date | null;
  disabled_by: DisabledBy | null;
  disabled_provider: string | null;
  last_signed_in_at: Date | null;
  last_signed_in_method: string | null;
  inserted_at: Date;
  updated_at: Date;
}

/** A device with what the gateways saw of it last. */
export interface DeviceRow {
  id: string;
  user_id: string;
  name: string;
  description: string | null;
  public_key: string;
  /** Null when it does not open: such a device must not be served, and blocks no other. */
  preshared_key: string | null;
  ipv4: string | null;
  ipv6: string | null;
  use_default_allowed_ips: boolean;
  use_default_dns: boolean;
  use_default_endpoint: boolean;
  use_default_mtu: boolean;
  use_default_persistent_keepalive: boolean;
  allowed_ips: string[] | null;
  dns: string[] | null;
  endpoint: string | null;
  mtu: number | null;
  persistent_keepalive: number | null;
  /** Null while the device is switched on. */
  disabled_at: Date | null;
  /** From when on it is not served; null: never. */
  expires_at: Date | null;
  inserted_at: Date;
  updated_at: Date;
  /** The gateway of the latest handshake; null, as all that follows, until the device was seen. */
  gateway_id: string | null;
  latest_handshake: Date | null;
  remote_ip: string | null;
  remote_port: number | null;
  rx_bytes: number | null;
  tx_bytes: number | null;
}

/** A rule. */
export interface RuleRow {
  id: string;
  action: RuleAction;
  destination: string;
  family: Family;
  port_type: PortType | null;
  port_start: number | null;
  port_end: number | null;
  user_id: string | null;
  inserted_at: Date;
  updated_at: Date;
}

/** Reads users. */
export function readUsers(database: Database, selection: Selection = {}): Promise<UserRow[]> {
  return read(database, USERS, selection);
}

/** Reads devices with their statuses, preshared keys in the clear. */
export async function readDevices(
  database: Database,
  selection: Selection = {},
): Promise<DeviceRow[]> {
  const devices = await read(database, DEVICES, selection);
  for (const device of devices) openPresharedKey(database, device);
  return devices;
}

/** Reads rules. */
export function readRules(database: Database, selection: Selection = {}): Promise<RuleRow[]> {
  return read(database, RULES, selection);
}

/** Reads the one configuration; null before `readOrCreateConfiguration` made it. */
export function readConfiguration(
  database: Database,
  transaction?: Transaction,
): Promise<Configuration | null> {
  return database.models.Configuration.findOne({ transaction: transaction ?? null });
}

const USERS: RowSource<UserRow> = {
  table: 'users',
  columns: {
    id: 'plain',
    email: 'plain',
    role: 'plain',
    disabled_at: 'time',
    disabled_by: 'plain',
    disabled_provider: 'plain',
    last_signed_in_at: 'time',
    last_signed_in_method: 'plain',
    inserted_at: 'time',
    updated_at: 'time',
  },
};

const DEVICES: RowSource<DeviceRow> = {
  table: 'devices',
  join: 'LEFT JOIN device_statuses ON device_statuses.device_id = devices.id',
  columns: {
    id: 'plain',
    user_id: 'plain',
    name: 'plain',
    description: 'plain',
    public_key: 'plain',
    preshared_key: 'plain',
    ipv4: 'plain',
    ipv6: 'plain',
    use_default_allowed_ips: 'flag',
    use_default_dns: 'flag',
    use_default_endpoint: 'flag',
    use_default_mtu: 'flag',
    use_default_persistent_keepalive: 'flag',
    allowed_ips: 'json',
    dns: 'json',
    endpoint: 'plain',
    mtu: 'plain',
    persistent_keepalive: 'plain',
    disabled_at: 'time',
    expires_at: 'time',
    inserted_at: 'time',
    updated_at: 'time',
    gateway_id: 'plain',
    latest_handshake: 'time',
    remote_ip: 'plain',
    remote_port: 'plain',
    rx_bytes: 'plain',
    tx_bytes: 'plain',
  },
};

const RULES: RowSource<RuleRow> = {
  table: 'rules',
  columns: {
    id: 'plain',
    action: 'plain',
    destination: 'plain',
    family: 'plain',
    port_type: 'plain',
    port_start: 'plain',
    port_end: 'plain',
    user_id: 'plain',
    inserted_at: 'time',
    updated_at: 'time',
  },
};

async function read<Row>(
  database: Database,
  source: RowSource<Row>,
  selection: Selection,
): Promise<Row[]> {
  const { ids } = selection;
  if (ids === undefined) return readPart(database, source, selection);
  const rows: Row[] = [];
  for (let start = 0; start < ids.length; start += IDS_PER_STATEMENT) {
    const part = { ...selection, ids: ids.slice(start, start + IDS_PER_STATEMENT) };
    for (const row of await readPart(database, source, part)) rows.push(row);
  }
  return rows;
}

function readPart<Row>(
  database: Database,
  source: RowSource<Row>,
  selection: Selection,
): Promise<Row[]> {
  const { table } = source;
  const { ids, userId, emailKey, after, limit } = selection;
  const conditions: string[] = [];
  if (ids !== undefined) conditions.push(`${table}.id IN (:ids)`);
  if (userId !== undefined)
    conditions.push(userId === null ? 'user_id IS NULL' : 'user_id = :userId');
  if (emailKey !== undefined) conditions.push('email_key = :emailKey');
  if (after !== undefined) conditions.push(beyond(database, table));
  return selectRows(database, source, {
    paged: limit !== undefined && [ids, userId, emailKey].every((narrow) => narrow === undefined),
    where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`,
    order: `ORDER BY ${table}.inserted_at, ${table}.id`,
    limit: limit === undefined ? '' : 'LIMIT :limit',
    replacements: {
      ids,
      userId,
      emailKey,
      limit,
      afterTime: after && sqlTime(database.kind, after.inserted_at),
      afterId: after?.id,
    },
    transaction: selection.transaction,
  });
}

/**
 * Beyond a place in lists, so that the index of their order finds it at once: an import writes
 * thousands of rows in one millisecond. SQLite looks up a pair as a whole, MySQL two ranges.
 */
function beyond({ kind }: Database, table: string): string {
  return kind === 'sqlite'
    ? `(inserted_at, ${table}.id) > (:afterTime, :afterId)`
    : `(inserted_at > :afterTime OR (inserted_at = :afterTime AND ${table}.id > :afterId))`;
}

/** Opens the key in place; one that does not open becomes null. */
function openPresharedKey(database: Database, device: DeviceRow): void {
  const place = { table: 'devices', column: 'preshared_key', id: device.id };
  try {
    device.preshared_key = database.keyring.openOften(String(device.preshared_key), place);
  } catch (error) {
    database.log?.warn({ err: error }, 'a device has a preshared key that does not open');
    device.preshared_key = null;
  }
}
