// Records by what people type into a search field and choose beside it: ids of one page of those
// whose texts hold it, of a state, in the order that was chosen, and how many there are. Whole rows
// are then read by their ids. A scan, because a text may stand anywhere in another; it is for
// people, who ask one page at a time.

import type { Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { plainSelect, shortSelect } from '../storage/select.ts';
import { latestStored } from '../storage/stored-time.ts';
import { sqlTime } from '../storage/time.ts';
import { monthOf } from './quota-usage.ts';

/** What can be searched. */
export type Searchable =
  'users' | 'user_groups' | 'invitations' | 'devices' | 'rules' | 'api_tokens';

/** Devices without a handshake for so long are found as `quiet`, unless a search says how long. */
const QUIET_MS = 90 * 86_400_000;
/** Ids that are read together. */
const IDS_AT_ONCE = 2_000;

/** What decides, beside the records, which state they are in. */
export interface StateFacts {
  /** For devices. */
  readonly service?: ServiceRules;
  /** For users who have no quota of their own, in bytes a month; null: none. */
  readonly defaultQuota?: number | null;
  /** For devices: the ids of those whose client's file is out of date. */
  readonly oldFiles?: readonly string[];
}

/** Which records. */
export interface SearchWish extends StateFacts {
  /** Any of the texts holds this, in any case; empty: all records. */
  readonly text: string;
  /** Only texts by which people know a record, so no key of a device. */
  readonly byName?: boolean;
  /** Records of this owner alone. Not for users. */
  readonly userId?: string;
  /** Of this group alone: users and devices of its members, rules for it. */
  readonly groupId?: string;
  /** Among these alone. */
  readonly ids?: readonly string[];
  /** One of `searchStates`; left out: of any. Devices need `service` with it. */
  readonly state?: string;
  /** How long devices of the state `quiet` made no handshake. */
  readonly quietMs?: number;
  /** One of `searchOrders`; left out: the order that the table has by itself. */
  readonly order?: string;
  readonly isDescending?: boolean;
  readonly offset: number;
  readonly limit: number;
}

/** What decides, beside its own switches, whether a device is served, and whether it is online. */
export interface ServiceRules {
  readonly now: Date;
  /** The earliest handshake of a device that is online. */
  readonly onlineSince: Date;
  /** Whoever signed in after this has a VPN session; null: sessions do not end. */
  readonly sessionsSince: Date | null;
  /** Whoever never signed in has none. */
  readonly requireSignIn: boolean;
}

interface Place {
  /** The table, where it has another name; then `join` decides which of its records are meant. */
  readonly from?: string;
  readonly join: string;
  /** Columns that are searched by name, and those that are searched besides. */
  readonly names: readonly string[];
  readonly others?: readonly string[];
  readonly order: string;
  /** Whether a record is of a group. */
  readonly ofGroup?: string;
  /** Conditions, by state. */
  readonly states: Readonly<Record<string, string>>;
  /** Expressions, by the name of what people sort by. */
  readonly orders: Readonly<Record<string, string>>;
}

const OWNER = 'JOIN users ON users.id =';
const IS_ON = `devices.disabled_at IS NULL
  AND (devices.expires_at IS NULL OR devices.expires_at > :now)`;
const IN_SESSION = `(:sessionsSince IS NULL OR CASE WHEN users.last_signed_in_at IS NULL
  THEN :requireSignIn = 0 ELSE users.last_signed_in_at > :sessionsSince
    AND users.last_signed_in_at <= :latestSignIn END)`;
const IS_SERVED = `${IS_ON} AND users.disabled_at IS NULL AND ${IN_SESSION}`;
const SEEN = 'device_statuses.latest_handshake';
const IS_ONLINE = `(${SEEN} >= :onlineSince AND ${SEEN} <= :latest)`;
const NUMBER_OF_DEVICES = '(SELECT COUNT(*) FROM devices WHERE devices.user_id = users.id)';
/** A link may be over by now: a user who did not use theirs is not in yet. */
const hasUnusedLink = (further: string): string =>
  `EXISTS (SELECT 1 FROM one_time_links WHERE one_time_links.user_id = users.id
    AND one_time_links.purpose = 'enrolment' AND one_time_links.used_at IS NULL ${further})`;
const IS_UNUSED = 'one_time_links.used_at IS NULL';
const MEMBERS = `SELECT 1 FROM group_memberships
  WHERE group_memberships.group_id = user_groups.id`;
const IN_GROUP = 'IN (SELECT user_id FROM group_memberships WHERE group_id = :groupId)';
const CARRIED = `(SELECT SUM(bytes) FROM quota_usage
  WHERE quota_usage.user_id = users.id AND quota_usage.month = :month)`;
/** Rules in the order in which the packet filter asks them (docs/packets.md#the-packet-filter). */
const AS_ASKED = `CASE WHEN rules.user_id IS NOT NULL THEN 0
  WHEN rules.group_id IS NOT NULL THEN 1 ELSE 2 END, rules.user_id,
  CASE WHEN rules.port_type IS NULL AND rules.protocol IS NULL THEN 2 ELSE 0 END, rules.action,
  rules.inserted_at, rules.id`;
const PLACES: Readonly<Record<Searchable, Place>> = {
  users: {
    join: '',
    names: ['users.email', 'users.name'],
    others: ['users.role'],
    order: 'users.email_key',
    ofGroup: `users.id ${IN_GROUP}`,
    states: {
      enabled: 'users.disabled_at IS NULL',
      disabled: 'users.disabled_at IS NOT NULL',
      administrators: "users.role = 'admin'",
      invited: hasUnusedLink(''),
      unsent: hasUnusedLink('AND one_time_links.mail_fault IS NOT NULL'),
      over_quota: `${CARRIED} >= COALESCE(users.quota, :defaultQuota)`,
    },
    orders: {
      email: 'users.email_key',
      role: 'users.role',
      devices: NUMBER_OF_DEVICES,
      signed_in: 'users.last_signed_in_at',
    },
  },
  user_groups: {
    join: '',
    names: ['user_groups.name', 'user_groups.description'],
    order: 'user_groups.name, user_groups.id',
    states: {
      by_provider: `EXISTS (${MEMBERS} AND source <> 'manual')`,
      manual: `NOT EXISTS (${MEMBERS} AND source <> 'manual')`,
      empty: `NOT EXISTS (${MEMBERS})`,
    },
    orders: { name: 'user_groups.name' },
  },
  // By their people, who have one each at most.
  invitations: {
    from: 'users',
    join: `JOIN one_time_links ON one_time_links.user_id = users.id
      AND one_time_links.purpose = 'enrolment'`,
    names: ['users.email'],
    order: 'one_time_links.inserted_at DESC, users.id DESC',
    ofGroup: `users.id ${IN_GROUP}`,
    states: {
      open: `${IS_UNUSED} AND one_time_links.expires_at > :now`,
      unsent: `${IS_UNUSED} AND one_time_links.mail_fault IS NOT NULL`,
      over: `${IS_UNUSED} AND one_time_links.expires_at <= :now`,
      used: `NOT (${IS_UNUSED})`,
    },
    orders: {
      email: 'users.email_key',
      made: 'one_time_links.inserted_at',
      until: 'one_time_links.expires_at',
    },
  },
  devices: {
    join: `${OWNER} devices.user_id LEFT JOIN device_statuses ON device_id = devices.id`,
    names: [
      ...['name', 'description', 'ipv4', 'ipv6'].map((name) => `devices.${name}`),
      'users.email',
      'users.name',
    ],
    others: ['devices.public_key', 'device_statuses.remote_ip'],
    order: 'devices.inserted_at DESC, devices.id DESC',
    ofGroup: `devices.user_id ${IN_GROUP}`,
    states: {
      online: `${IS_SERVED} AND ${IS_ONLINE}`,
      offline: `${IS_SERVED} AND NOT ${IS_ONLINE}`,
      never_seen: `${IS_SERVED} AND ${SEEN} IS NULL`,
      session_ended: `${IS_ON} AND users.disabled_at IS NULL AND NOT ${IN_SESSION}`,
      owner_disabled: `${IS_ON} AND users.disabled_at IS NOT NULL`,
      ended: 'devices.disabled_at IS NULL AND devices.expires_at <= :now',
      off: 'devices.disabled_at IS NOT NULL',
      quiet: `COALESCE(${SEEN}, devices.inserted_at) <= :quietSince`,
      old_file: 'devices.id IN (:oldFiles)',
    },
    orders: {
      name: 'devices.name',
      owner: 'users.email_key',
      address: 'devices.ipv4_key',
      handshake: SEEN,
      traffic: 'COALESCE(device_statuses.rx_bytes, 0) + COALESCE(device_statuses.tx_bytes, 0)',
    },
  },
  rules: {
    join: `LEFT ${OWNER} rules.user_id LEFT JOIN user_groups ON user_groups.id = rules.group_id`,
    names: [
      'rules.destination',
      'rules.description',
      'users.email',
      'users.name',
      'user_groups.name',
    ],
    others: ['rules.action', 'rules.port_type'],
    order: AS_ASKED,
    ofGroup: 'rules.group_id = :groupId',
    states: {
      accept: "rules.action = 'accept'",
      drop: "rules.action = 'drop'",
      disabled: 'rules.enabled = 0',
      waiting: 'rules.enabled = 1 AND rules.starts_at > :now',
      over: 'rules.enabled = 1 AND rules.ends_at <= :now',
      staged: 'rules.enabled = 1 AND rules.enforced = 0',
      everyone: 'rules.user_id IS NULL AND rules.group_id IS NULL',
      one_user: 'rules.user_id IS NOT NULL',
      one_group: 'rules.group_id IS NOT NULL',
    },
    orders: {
      destination: 'rules.destination',
      action: 'rules.action',
      traffic: 'rules.port_type',
      owner: 'users.email_key',
    },
  },
  api_tokens: {
    join: `${OWNER} api_tokens.user_id`,
    names: ['api_tokens.name', 'users.email', 'users.name'],
    order: 'api_tokens.inserted_at DESC, api_tokens.id DESC',
    states: {
      live: 'api_tokens.expires_at IS NULL OR api_tokens.expires_at > :now',
      over: 'api_tokens.expires_at <= :now',
      never_used: 'api_tokens.last_used_at IS NULL',
    },
    orders: {
      name: 'api_tokens.name',
      owner: 'users.email_key',
      until: 'api_tokens.expires_at',
      used: 'api_tokens.last_used_at',
    },
  },
};

/** The states by which records can be found. */
export function searchStates(table: Searchable): string[] {
  return Object.keys(PLACES[table].states);
}

/** What records can be ordered by. */
export function searchOrders(table: Searchable): string[] {
  return Object.keys(PLACES[table].orders);
}

/** Finds the ids of a page, in the order in which they are shown. */
export async function searchIds(
  database: Database,
  table: Searchable,
  wish: SearchWish,
): Promise<string[]> {
  const { from = table, order, orders } = PLACES[table];
  const chosen = wish.order === undefined ? undefined : orders[wish.order];
  const direction = wish.isDescending === true ? 'DESC' : 'ASC';
  // What never happened is the least, whichever database sorts; the id makes the order one.
  const by = chosen === undefined ? order : `${chosen} ${direction}, ${from}.id ${direction}`;
  const { limit, offset } = wish;
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT ${from}.id ${foundBy(table, wish)} ORDER BY ${by} LIMIT :limit OFFSET :offset`,
    { ...plainSelect(), replacements: { ...valuesOf(database, wish), limit, offset } },
  );
  return rows.map(({ id }) => id);
}

/**
 * Finds the ids of all records, at most `limit`. They come in the order of their ids, so that none
 * comes twice and none is left out while others write.
 */
export async function searchEveryId(
  database: Database,
  table: Searchable,
  wish: Omit<SearchWish, 'offset' | 'limit'>,
  limit: number,
): Promise<string[]> {
  const { from = table } = PLACES[table];
  const found: string[] = [];
  for (let after = ''; found.length < limit;) {
    const count = Math.min(IDS_AT_ONCE, limit - found.length);
    const rows = await database.sequelize.query<{ id: string }>(
      `SELECT ${from}.id ${foundBy(table, wish, `${from}.id > :after`)}
       ORDER BY ${from}.id LIMIT :count`,
      { ...plainSelect(), replacements: { ...valuesOf(database, wish), after, count } },
    );
    for (const { id } of rows) found.push(id);
    if (rows.length < count) break;
    after = found.at(-1) ?? '';
  }
  return found;
}

/** Counts all records that a search finds. */
export async function countFound(
  database: Database,
  table: Searchable,
  wish: Omit<SearchWish, 'offset' | 'limit'>,
): Promise<number> {
  const [row] = await database.sequelize.query<{ count: number }>(
    `SELECT COUNT(*) AS count ${foundBy(table, wish)}`,
    { ...plainSelect(), replacements: valuesOf(database, wish) },
  );
  return Number(row?.count ?? 0);
}

type Wished = Omit<SearchWish, 'offset' | 'limit'>;

function foundBy(
  table: Searchable,
  { text, byName = false, userId, groupId, ids, state, order }: Wished,
  further?: string,
): string {
  const { from = table, join, names, others = [], ofGroup, states } = PLACES[table];
  const columns = byName ? names : [...names, ...others];
  const condition = state === undefined ? undefined : states[state];
  const conditions = [
    ...(text === '' ? [] : [`(${columns.map(holdsText).join(' OR ')})`]),
    ...(userId === undefined ? [] : [`${from}.user_id = :userId`]),
    ...(groupId === undefined || ofGroup === undefined ? [] : [ofGroup]),
    ...(ids === undefined ? [] : [`${from}.id IN (:ids)`]),
    ...(further === undefined ? [] : [further]),
    ...(condition === undefined ? [] : [`(${condition})`]),
  ];
  const needsJoin = from !== table || text !== '' || condition !== undefined || order !== undefined;
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return `FROM ${from} ${needsJoin ? join : ''} ${where}`;
}

function valuesOf({ kind }: Database, wish: Wished): Record<string, unknown> {
  const { text, userId, groupId, ids, quietMs = QUIET_MS } = wish;
  const { service, defaultQuota = null, oldFiles = [] } = wish;
  const now = new Date();
  const values = {
    text,
    lower: text.toLowerCase(),
    userId,
    groupId,
    ids: ids?.length === 0 ? [''] : ids,
    oldFiles: oldFiles.length === 0 ? [''] : oldFiles,
    now: sqlTime(kind, now),
    quietSince: sqlTime(kind, new Date(now.getTime() - quietMs)),
    month: monthOf(now.getTime()),
    defaultQuota,
  };
  return service === undefined ? values : { ...values, ...serviceValues(kind, service) };
}

function serviceValues(
  kind: Database['kind'],
  { now, onlineSince, sessionsSince, requireSignIn }: ServiceRules,
): Record<string, unknown> {
  const sessionMs = sessionsSince === null ? 0 : now.getTime() - sessionsSince.getTime();
  return {
    now: sqlTime(kind, now),
    latest: sqlTime(kind, latestStored(now)),
    latestSignIn: sqlTime(kind, latestStored(now, sessionMs)),
    onlineSince: sqlTime(kind, onlineSince),
    sessionsSince: sessionsSince === null ? null : sqlTime(kind, sessionsSince),
    requireSignIn: requireSignIn ? 1 : 0,
  };
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

/** How many devices a user has, and how many of them are online. */
export interface DeviceCounts {
  readonly devices: number;
  readonly online: number;
}

/** Counts the devices of each of these users; those without any are left out. */
export async function countOwnedDevices(
  database: Database,
  userIds: readonly string[],
  service: ServiceRules,
): Promise<ReadonlyMap<string, DeviceCounts>> {
  if (userIds.length === 0) return new Map();
  const { join, states } = PLACES.devices;
  const rows = await database.sequelize.query<{ user_id: string } & DeviceCounts>(
    `SELECT devices.user_id AS user_id, COUNT(*) AS devices,
            SUM(CASE WHEN ${states['online'] ?? ''} THEN 1 ELSE 0 END) AS online
     FROM devices ${join} WHERE devices.user_id IN (:userIds) GROUP BY devices.user_id`,
    {
      ...plainSelect(),
      replacements: { ...serviceValues(database.kind, service), userIds: [...userIds] },
    },
  );
  return new Map(
    rows.map(({ user_id, devices, online }) => [
      user_id,
      { devices: Number(devices), online: Number(online) },
    ]),
  );
}

/** Whether there is more than one user. */
export async function hasSeveralUsers(database: Database): Promise<boolean> {
  const rows = await database.sequelize.query('SELECT id FROM users LIMIT 2', shortSelect());
  return rows.length > 1;
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
  /** Devices that are served and made a handshake lately. */
  readonly online: number;
  readonly rxBytes: number;
  readonly txBytes: number;
}

/** Sums the devices up. CROSS: SQLite begins with the few that made a handshake lately. */
export async function readFleetStatus(
  database: Database,
  service: ServiceRules,
): Promise<FleetStatus> {
  const [row] = await database.sequelize.query<Record<keyof FleetStatus, number | string | null>>(
    `SELECT (SELECT COUNT(*) FROM devices) AS devices,
            (SELECT COUNT(*) FROM device_statuses
               CROSS JOIN devices ON devices.id = device_id
               CROSS JOIN users ON users.id = devices.user_id
             WHERE ${PLACES.devices.states['online'] ?? ''}) AS online,
            SUM(rx_bytes) AS rxBytes, SUM(tx_bytes) AS txBytes FROM device_statuses`,
    { ...plainSelect(), replacements: serviceValues(database.kind, service) },
  );
  const numberOf = (name: keyof FleetStatus): number => Number(row?.[name] ?? 0);
  return {
    devices: numberOf('devices'),
    online: numberOf('online'),
    rxBytes: numberOf('rxBytes'),
    txBytes: numberOf('txBytes'),
  };
}

/** The ids of the devices that made a handshake last, the latest first. */
export async function readLatestHandshakes(database: Database, limit: number): Promise<string[]> {
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT device_id AS id FROM device_statuses WHERE latest_handshake IS NOT NULL
     ORDER BY latest_handshake DESC, device_id LIMIT :limit`,
    { ...plainSelect(), replacements: { limit } },
  );
  return rows.map(({ id }) => id);
}

/** Without LIKE: what is typed has no wild cards. SQLite lowers only the letters of ASCII. */
export function holdsText(column: string): string {
  return `INSTR(${column}, :text) > 0 OR INSTR(LOWER(${column}), :lower) > 0`;
}
