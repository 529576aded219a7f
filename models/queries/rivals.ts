// Finds rows that prevent others from being made or changed: rows that have the same key, name or
// address already, and rules that overlap. One statement looks for all the rows of one transaction.
// The scope must be locked before (`lockScopes`: the address pool; the user's, or the configuration
// for global rules), or two writers both win. docs/api.md#devices.

import type { Transaction } from 'sequelize';
import type { Device } from '../tables/device.ts';
import { type RuleExtent, timesFrom } from '../tables/rule.ts';
import { Binds } from '../storage/binds.ts';
import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';
import { parseSqlTime, sqlTime } from '../storage/time.ts';

/** A device that may conflict with another. */
export type RivalDevice = Pick<
  Device,
  'id' | 'user_id' | 'name' | 'public_key' | 'ipv4_key' | 'ipv6_key'
>;

/** What devices are looked for by: any of these values. */
export interface RivalWish {
  readonly user_id: readonly string[];
  readonly public_key: readonly string[];
  readonly ipv4_key: readonly string[];
  readonly ipv6_key: readonly string[];
}

/** What exists beside devices that are to be made. */
export interface Rivals {
  readonly devices: RivalDevice[];
  /** The owners who exist. */
  readonly owners: ReadonlySet<string>;
}

const RIVAL_COLUMNS = ['user_id', 'public_key', 'ipv4_key', 'ipv6_key'] as const;

/** Reads the owners with their devices, and those that have one of the keys or addresses. */
export async function readRivalDevices(
  database: Database,
  wish: RivalWish,
  transaction: Transaction,
): Promise<Rivals> {
  const binds = new Binds();
  const conditions = RIVAL_COLUMNS.filter((column) => wish[column].length > 0).map(
    (column) => `${column} IN (${binds.list(wish[column])})`,
  );
  if (conditions.length === 0) return { devices: [], owners: new Set() };
  const owners =
    wish.user_id.length === 0
      ? ''
      : `UNION ALL SELECT NULL, id, NULL, NULL, NULL, NULL FROM users
         WHERE id IN (${binds.list(wish.user_id)})`;
  // One statement, because each may be a trip to a server far away.
  const rows = await database.sequelize.query<RivalDevice | OwnerRow>(
    `SELECT id, user_id, name, public_key, ipv4_key, ipv6_key FROM devices
     WHERE ${conditions.join(' OR ')} ${owners}`,
    { ...plainSelect(transaction), bind: binds.values },
  );
  return {
    devices: rows.filter((row) => row.id !== null),
    owners: new Set(rows.filter(({ id }) => id === null).map((row) => row.user_id)),
  };
}

/** Reads what every device has: for an import, whose devices could meet any of them. */
export function readAllRivalDevices(
  database: Database,
  transaction: Transaction,
): Promise<RivalDevice[]> {
  return database.sequelize.query<RivalDevice>(
    'SELECT id, user_id, name, public_key, ipv4_key, ipv6_key FROM devices',
    plainSelect(transaction),
  );
}

/** An owner, among rows of devices. */
interface OwnerRow {
  readonly id: null;
  readonly user_id: string;
}

/** Tells which of these users exist; locks them against other writers where asked. */
export async function readUserIds(
  database: Database,
  ids: readonly string[],
  { transaction, lock = false }: { transaction: Transaction; lock?: boolean },
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const binds = new Binds();
  // In one order, so that two writers who lock several users cannot wait for each other.
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT id FROM users WHERE id IN (${binds.list(ids)}) ORDER BY id
     ${lock && database.kind === 'mysql' ? 'FOR UPDATE' : ''}`,
    { ...plainSelect(transaction), bind: binds.values },
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Reads the enabled, enforced rules that overlap one of the given ones by scope, action and
 * addresses, and that are not over at `nowMs` (Unix time).
 */
export async function readRivalRules(
  database: Database,
  wanted: readonly RuleExtent[],
  nowMs: number,
  transaction: Transaction,
): Promise<(RuleExtent & { id: string })[]> {
  if (wanted.length === 0) return [];
  const binds = new Binds();
  const now = binds.one(sqlTime(database.kind, new Date(nowMs)));
  const conditions = wanted.flatMap((extent) => {
    const action = binds.one(extent.action);
    const scope = `${scopeOf(extent, binds)} AND action = ${action} AND family = ${binds.one(extent.family)}`;
    const end = binds.one(extent.end);
    // Two conditions of their own, because one with an OR inside would walk the whole scope.
    return [
      `(${scope} AND range_start BETWEEN ${binds.one(extent.start)} AND ${end})`,
      `(${scope} AND range_start IN (${binds.each(enclosingStarts(extent))}) AND range_end >= ${end})`,
    ];
  });
  const rows = await database.sequelize.query<RivalRule>(
    `SELECT id, user_id, group_id, action, family, range_start AS start, range_end AS end,
            protocol, port_type, port_start, port_end, starts_at, ends_at FROM rules
     WHERE enabled = 1 AND enforced = 1 AND (ends_at IS NULL OR ends_at > ${now})
       AND (${conditions.join(' OR ')})`,
    { ...plainSelect(transaction), bind: binds.values },
  );
  return rows.map(({ starts_at, ends_at, ...rule }) => ({
    ...rule,
    ...timesFrom(nowMs, timeOrNull(starts_at), timeOrNull(ends_at)),
  }));
}

/** The rules that are asked together with this one; an index of rules begins with its columns. */
function scopeOf({ user_id, group_id }: RuleExtent, binds: Binds): string {
  if (user_id !== null) return `user_id = ${binds.one(user_id)}`;
  return group_id === null
    ? 'user_id IS NULL AND group_id IS NULL'
    : `group_id = ${binds.one(group_id)}`;
}

type RivalRule = Omit<RuleExtent, 'from' | 'until'> & {
  id: string;
  starts_at: string | Date | null;
  ends_at: string | Date | null;
};

function timeOrNull(time: string | Date | null): Date | null {
  return time === null ? null : parseSqlTime(time);
}

const EVERYONES = '(user_id IS NULL AND group_id IS NULL)';
const OF_GROUPS_OF_USER =
  'group_id IN (SELECT group_id FROM group_memberships WHERE user_id = :user_id)';

/**
 * Reads enabled, enforced rules that match some of the packets that the given one means, at some
 * time from its `from` on, whatever they do with them: also those of the other action, and those
 * that are everyone's beside a user's or a group's, and those of a user's groups. The first ones.
 */
export async function readTouchingRules(
  database: Database,
  extent: RuleExtent,
  limit: number,
): Promise<string[]> {
  const { user_id, group_id, family, start, end, from, until } = extent;
  const { protocol, port_type, port_start, port_end } = extent;
  const timeOf = (ms: number): string => sqlTime(database.kind, new Date(ms));
  const conditions = [
    'enabled = 1 AND enforced = 1 AND family = :family AND range_start <= :end AND range_end >= :start',
    '(ends_at IS NULL OR ends_at > :from)',
    ...(Number.isFinite(until) ? ['(starts_at IS NULL OR starts_at < :until)'] : []),
    ...(user_id === null ? [] : [`(${EVERYONES} OR user_id = :user_id OR ${OF_GROUPS_OF_USER})`]),
    ...(group_id === null ? [] : [`(${EVERYONES} OR group_id = :group_id)`]),
    // A rule without a protocol means all traffic.
    ...(protocol === null ? [] : ['port_type IS NULL']),
    ...(port_type === null
      ? []
      : [
          `((port_type IS NULL AND protocol IS NULL) OR
            (port_type = :port_type AND port_start <= :port_end AND port_end >= :port_start))`,
        ]),
  ];
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT id FROM rules WHERE ${conditions.join(' AND ')} ORDER BY inserted_at, id LIMIT :limit`,
    {
      ...plainSelect(),
      replacements: {
        user_id,
        group_id,
        family,
        start,
        end,
        port_type,
        port_start,
        port_end,
        limit,
        from: timeOf(from),
        ...(Number.isFinite(until) ? { until: timeOf(until) } : {}),
      },
    },
  );
  return rows.map(({ id }) => id);
}

/** Whether the rule `other` decides before the drop rule `rules` wherever and whenever that may. */
const IS_SHADOWED = `rules.enabled = 1 AND other.enabled = 1
  AND rules.enforced = 1 AND other.enforced = 1
  AND (rules.ends_at IS NULL OR (rules.ends_at > :now
    AND (rules.starts_at IS NULL OR rules.starts_at < rules.ends_at)))
  AND (other.ends_at IS NULL OR (other.ends_at > :now AND other.ends_at >= rules.ends_at))
  AND (other.starts_at IS NULL OR other.starts_at <= :now OR other.starts_at <= rules.starts_at)
  AND other.action = 'accept' AND other.family = rules.family
  AND (other.user_id = rules.user_id OR other.group_id = rules.group_id
    OR (other.user_id IS NULL AND other.group_id IS NULL
      AND rules.user_id IS NULL AND rules.group_id IS NULL))
  AND other.range_start <= rules.range_start AND other.range_end >= rules.range_end
  AND (other.protocol = rules.protocol OR (other.protocol IS NULL AND rules.protocol IS NULL))
  AND ((other.port_type IS NULL AND rules.port_type IS NULL)
    OR (other.port_type = rules.port_type AND other.port_start <= rules.port_start
      AND other.port_end >= rules.port_end))`;

/**
 * Of these rules those that can never decide from `nowMs` (Unix time) on (`isShadowedBy`), each
 * with a rule that is why.
 */
export async function readShadows(
  database: Database,
  ids: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await database.sequelize.query<{ id: string; shadow: string }>(
    `SELECT rules.id AS id, MIN(other.id) AS shadow FROM rules JOIN rules other ON ${IS_SHADOWED}
     WHERE rules.action = 'drop' AND rules.id IN (:ids) GROUP BY rules.id`,
    {
      ...plainSelect(),
      replacements: { ids: [...ids], now: sqlTime(database.kind, new Date(nowMs)) },
    },
  );
  return new Map(rows.map(({ id, shadow }) => [id, shadow]));
}

/** The rules that this one lets never decide from `nowMs` (Unix time) on, the oldest first. */
export async function readShadowedBy(
  database: Database,
  id: string,
  nowMs: number,
  transaction?: Transaction,
): Promise<string[]> {
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT rules.id AS id FROM rules other JOIN rules ON ${IS_SHADOWED}
     WHERE rules.action = 'drop' AND other.id = :id
     ORDER BY rules.inserted_at, rules.id`,
    {
      ...plainSelect(transaction),
      replacements: { id, now: sqlTime(database.kind, new Date(nowMs)) },
    },
  );
  return rows.map((row) => row.id);
}

/**
 * First addresses of all networks around a range. Networks either contain one another or are
 * apart, so these few starts (33 or 129) find every enclosing rule through the index, where
 * comparing both ends would walk all rules of the scope.
 */
export function enclosingStarts({ start }: Pick<RuleExtent, 'start'>): string[] {
  const starts = [start];
  let cleared = start;
  for (let place = start.length - 1; place >= 0; place -= 1) {
    const digit = Number.parseInt(cleared.charAt(place), 16);
    for (const mask of [0b1110, 0b1100, 0b1000, 0b0000]) {
      cleared = cleared.slice(0, place) + (digit & mask).toString(16) + cleared.slice(place + 1);
      starts.push(cleared);
    }
  }
  return starts;
}
