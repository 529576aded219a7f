// Plain rows, read past the tables' classes where many are wanted at once: by the reconciler (all
// rows, or those that a change names) and by the API's lists (page by page). README.md has the
// figures, and those of instances of the classes beside them.

import type { Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { deviceFields, type DeviceRow } from '../fields/device.ts';
import type { ColumnValues, Field, Fields, RowOf } from '../fields/field.ts';
import { policyTestFields, type PolicyTestRow } from '../fields/policy-test.ts';
import { ruleFields, type RuleRow } from '../fields/rule.ts';
import { userFields, type UserRow } from '../fields/user.ts';
import { type ColumnKind, plainSelect, type RowSource, selectRows } from '../storage/select.ts';
import { sqlTime } from '../storage/time.ts';
import type { Configuration } from '../tables/configuration.ts';

/** How many ids one statement names; longer lists are read in parts. */
const IDS_PER_STATEMENT = 500;

/** What is read in another way than as it comes. */
const READ_AS: Readonly<Partial<Record<keyof ColumnValues, ColumnKind>>> = {
  time: 'time',
  timestamp: 'time',
  flag: 'flag',
  texts: 'json',
  json: 'json',
};

/** Which rows to read: all of them, oldest first, where nothing here filters them. */
export interface Selection {
  /** These alone; ids that do not exist are left out. The order is not kept. */
  ids?: readonly string[];
  /** Rows of this owner; null: rules that are everyone's. Not for users and groups. */
  userId?: string | null;
  /** Rows of these owners; only for devices. */
  userIds?: readonly string[];
  /** Rows of this group; only for rules. */
  groupId?: string;
  /** Rows with this `emailKey`; only for users. */
  emailKey?: string;
  /** Beyond this row, in the order of lists (`inserted_at`, then `id`). */
  after?: { inserted_at: Date; id: string };
  /** At most so many. */
  limit?: number;
  /** Where the rows must fit others that are read with them. */
  transaction?: Transaction;
}

/** Reads all rows in the order of lists, so many at a time; the last page is not full. */
export async function* inPages<Row extends NonNullable<Selection['after']>>(
  limit: number,
  read: (page: Pick<Selection, 'after' | 'limit'>) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let after: Row | undefined; ;) {
    const page = await read({ limit, ...(after && { after }) });
    yield page;
    if (page.length < limit) return;
    after = page.at(-1);
  }
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

/** Of a device: where it is in the networks, whose it is, and what ends its access. */
export type DevicePlace = Pick<
  DeviceRow,
  | 'id'
  | 'user_id'
  | 'name'
  | 'ipv4'
  | 'ipv6'
  | 'routes'
  | 'disabled_at'
  | 'expires_at'
  | 'inserted_at'
>;

/** Reads where devices are; no key is read. */
export function readDevicePlaces(
  database: Database,
  selection: Selection = {},
): Promise<DevicePlace[]> {
  return read(database, DEVICE_PLACES, selection);
}

/** What of a user ends access. */
export type UserEnd = Pick<UserRow, 'id' | 'disabled_at' | 'last_signed_in_at' | 'inserted_at'>;

/** What of a device ends access: when it ends, and all by which it is that device. */
export type DeviceEnd = Pick<
  DeviceRow,
  | 'id'
  | 'user_id'
  | 'public_key'
  | 'preshared_key'
  | 'ipv4'
  | 'ipv6'
  | 'disabled_at'
  | 'expires_at'
  | 'inserted_at'
>;

/** Reads of users what ends access, also on a later schema: these columns are those of 1.0.0. */
export function readUserEnds(database: Database, selection: Selection = {}): Promise<UserEnd[]> {
  return read(database, USER_ENDS, selection);
}

/** Reads of devices what ends access, also on a later schema; preshared keys in the clear. */
export async function readDeviceEnds(
  database: Database,
  selection: Selection = {},
): Promise<DeviceEnd[]> {
  const devices = await read(database, DEVICE_ENDS, selection);
  for (const device of devices) openPresharedKey(database, device);
  return devices;
}

/** Reads how long VPN sessions last, in seconds, also on a later schema; null: nothing says it. */
export async function readSessionDuration(
  database: Database,
  transaction: Transaction,
): Promise<number | null> {
  const [row] = await database.sequelize.query<{ seconds: number }>(
    'SELECT vpn_session_duration AS seconds FROM configurations',
    plainSelect(transaction),
  );
  return row?.seconds ?? null;
}

/** Reads rules. */
export function readRules(database: Database, selection: Selection = {}): Promise<RuleRow[]> {
  return read(database, RULES, selection);
}

/** Reads policy tests. */
export function readPolicyTests(
  database: Database,
  selection: Selection = {},
): Promise<PolicyTestRow[]> {
  return read(database, POLICY_TESTS, selection);
}

/** Reads the one configuration; null before `readOrCreateConfiguration` made it. */
export function readConfiguration(
  database: Database,
  transaction?: Transaction,
): Promise<Configuration | null> {
  return database.models.Configuration.findOne({ transaction: transaction ?? null });
}

const USERS: RowSource<UserRow> = { table: 'users', columns: kindsOf(userFields) };

const DEVICES: RowSource<DeviceRow> = {
  table: 'devices',
  join: 'LEFT JOIN device_statuses ON device_statuses.device_id = devices.id',
  columns: kindsOf(deviceFields),
};

const DEVICE_PLACES: RowSource<DevicePlace> = {
  table: 'devices',
  columns: {
    id: 'plain',
    user_id: 'plain',
    name: 'plain',
    ipv4: 'plain',
    ipv6: 'plain',
    routes: 'json',
    disabled_at: 'time',
    expires_at: 'time',
    inserted_at: 'time',
  },
};

const USER_ENDS: RowSource<UserEnd> = {
  table: 'users',
  columns: { id: 'plain', disabled_at: 'time', last_signed_in_at: 'time', inserted_at: 'time' },
};

const DEVICE_ENDS: RowSource<DeviceEnd> = {
  table: 'devices',
  columns: {
    id: 'plain',
    user_id: 'plain',
    public_key: 'plain',
    preshared_key: 'plain',
    ipv4: 'plain',
    ipv6: 'plain',
    disabled_at: 'time',
    expires_at: 'time',
    inserted_at: 'time',
  },
};

const RULES: RowSource<RuleRow> = { table: 'rules', columns: kindsOf(ruleFields) };

const POLICY_TESTS: RowSource<PolicyTestRow> = {
  table: 'policy_tests',
  columns: kindsOf(policyTestFields),
};

/** The columns of a row, and how the value of each is read. */
function kindsOf<Table extends Fields>(fields: Table): RowSource<RowOf<Table>>['columns'] {
  const kinds: Record<string, ColumnKind> = {};
  for (const [name, { column, status }] of Object.entries<Field>(fields)) {
    const kept = column ?? status;
    if (kept !== undefined && kept.inRows !== false) kinds[name] = READ_AS[kept.kind] ?? 'plain';
  }
  return kinds as RowSource<RowOf<Table>>['columns'];
}

async function read<Row>(
  database: Database,
  source: RowSource<Row>,
  selection: Selection,
): Promise<Row[]> {
  const named = selection.ids === undefined ? 'userIds' : 'ids';
  const { [named]: ids } = selection;
  if (ids === undefined) return readPart(database, source, selection);
  const rows: Row[] = [];
  for (let start = 0; start < ids.length; start += IDS_PER_STATEMENT) {
    const part = { ...selection, [named]: ids.slice(start, start + IDS_PER_STATEMENT) };
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
  const { ids, userId, userIds, groupId, emailKey, after, limit } = selection;
  const conditions: string[] = [];
  if (ids !== undefined) conditions.push(`${table}.id IN (:ids)`);
  if (userId !== undefined)
    conditions.push(userId === null ? 'user_id IS NULL AND group_id IS NULL' : 'user_id = :userId');
  if (userIds !== undefined) conditions.push('user_id IN (:userIds)');
  if (groupId !== undefined) conditions.push('group_id = :groupId');
  if (emailKey !== undefined) conditions.push('email_key = :emailKey');
  if (after !== undefined) conditions.push(beyond(database, table));
  return selectRows(database, source, {
    paged:
      limit !== undefined &&
      [ids, userId, userIds, groupId, emailKey].every((narrow) => narrow === undefined),
    where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`,
    order: `ORDER BY ${table}.inserted_at, ${table}.id`,
    limit: limit === undefined ? '' : 'LIMIT :limit',
    replacements: {
      ids,
      userId,
      userIds,
      groupId,
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
function openPresharedKey(database: Database, device: DeviceEnd): void {
  const place = { table: 'devices', column: 'preshared_key', id: device.id };
  try {
    device.preshared_key = database.keyring.openOften(String(device.preshared_key), place);
  } catch (error) {
    database.log?.warn({ err: error }, 'a device has a preshared key that does not open');
    device.preshared_key = null;
  }
}
