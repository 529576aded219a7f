// The history of traffic: sums of steps of time, by device, by rule, by reason of refusals, and of
// each gateway as a whole. Gateways add to the shortest step; roll-up.ts makes longer ones of it as
// it ages. So each count is in exactly one row, and what is read are sums of rows. Written in bulk
// and without change rows. docs/state.md#history.

import { QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';

/** What has a history. */
export type HistoryKind = 'device' | 'rule' | 'gateway' | 'refusal';

/** Seconds of the steps in which sums are kept, the shortest first. */
export const STEPS = [600, 3_600, 86_400] as const;

/** The length of a step in seconds. */
export type Step = (typeof STEPS)[number];

/** For how many seconds sums stay in steps of ten minutes and of an hour. */
export const KEPT_S: Readonly<Record<Exclude<Step, 86_400>, number>> = {
  600: 48 * 3_600,
  3600: 14 * 86_400,
};

/** How the sums of one kind are kept. */
export interface Series {
  readonly table: string;
  /** The column that names the record of a sum; null: the sum is of the gateway as a whole. */
  readonly subject: string | null;
  /** The table of these records, with which their sums are deleted; null: they are no records. */
  readonly owners: string | null;
  readonly counts: readonly string[];
}

/** How the sums of each kind are kept. */
export const SERIES: Readonly<Record<HistoryKind, Series>> = {
  device: {
    table: 'device_traffic',
    subject: 'device_id',
    owners: 'devices',
    counts: ['rx_bytes', 'tx_bytes'],
  },
  rule: {
    table: 'rule_traffic',
    subject: 'rule_id',
    owners: 'rules',
    counts: ['packets', 'bytes'],
  },
  gateway: {
    table: 'gateway_traffic',
    subject: null,
    owners: null,
    counts: ['rx_bytes', 'tx_bytes'],
  },
  refusal: { table: 'refused_traffic', subject: 'reason', owners: null, counts: ['packets'] },
};

/** What is to be added to one sum of ten minutes. */
export interface HistoryReport {
  /** Id of the device or the rule, or the reason; '' of a gateway. */
  readonly subject: string;
  /** When the ten minutes begin, Unix time in seconds. */
  readonly start: number;
  /** In the order of the counts of the kind. */
  readonly counts: readonly number[];
}

/**
 * Adds reports of a gateway in one statement; each sum is named at most once. Reports of devices
 * and rules that are gone are skipped.
 */
export async function recordHistory(
  database: Database,
  gatewayId: string,
  kind: HistoryKind,
  reports: readonly HistoryReport[],
): Promise<void> {
  if (reports.length === 0) return;
  const { subject, owners, counts } = SERIES[kind];
  const present =
    owners === null
      ? null
      : await readPresent(
          database,
          owners,
          reports.map((report) => report.subject),
        );
  // All gateways lock rows in one order, so they wait for one another but never deadlock.
  const rows = reports
    .filter((report) => present === null || present.has(report.subject))
    .toSorted((a, b) => (a.subject < b.subject ? -1 : 1))
    .map((report) => [
      ...(subject === null ? [] : [report.subject]),
      STEPS[0],
      report.start,
      gatewayId,
      ...report.counts.slice(0, counts.length),
    ]);
  if (rows.length === 0) return;
  const { sequelize } = database;
  await rerunOnConflict(database, () =>
    database.kind === 'sqlite'
      ? // One text for any number of rows stays prepared.
        sequelize.query(onSqlite(SERIES[kind]), {
          bind: { rows: JSON.stringify(rows) },
          type: QueryTypes.INSERT,
        })
      : sequelize.query(onMysql(SERIES[kind]), { replacements: { rows }, type: QueryTypes.INSERT }),
  );
}

/**
 * Which of some ids a table has; null on SQLite, where the statement that writes looks for them.
 * Without locks: what is written of a record that is removed meanwhile is read by nobody, and
 * removed-history.ts deletes it.
 */
export async function readPresent(
  database: Database,
  table: string,
  ids: readonly string[],
): Promise<ReadonlySet<string> | null> {
  if (database.kind === 'sqlite') return null;
  const rows = await database.sequelize.query<{ id: string }>(
    `SELECT id FROM ${table} WHERE id IN (:ids)`,
    { ...plainSelect(), replacements: { ids } },
  );
  return new Set(rows.map(({ id }) => id));
}

/** Adds what was read of a series to what is there; the text goes behind a SELECT. */
export function addingTo(database: Pick<Database, 'kind'>, series: Series): string {
  const { table, counts } = series;
  if (database.kind === 'mysql')
    return `ON DUPLICATE KEY UPDATE ${counts
      .map((count) => `${count} = ${table}.${count} + VALUES(${count})`)
      .join(', ')}`;
  return `ON CONFLICT (${keyOf(series)}) DO UPDATE SET ${counts
    .map((count) => `${count} = ${table}.${count} + excluded.${count}`)
    .join(', ')}`;
}

/** All columns of a series, in the order in which rows are written. */
export function columnsOf({ subject, counts }: Series): string {
  const of = subject === null ? [] : [subject];
  return [...of, 'step', 'start', 'gateway_id', ...counts].join(', ');
}

function keyOf({ subject }: Series): string {
  return [...(subject === null ? [] : [subject]), 'step', 'start', 'gateway_id'].join(', ');
}

function onSqlite(series: Series): string {
  const { table, owners } = series;
  const columns = columnsOf(series);
  const values = columns.split(', ').map((_column, i) => `value ->> ${i}`);
  const exists =
    owners === null ? 'true' : `EXISTS (SELECT 1 FROM ${owners} WHERE id = value ->> 0)`;
  return `INSERT INTO ${table} (${columns}) SELECT ${values.join(', ')} FROM json_each($rows)
    WHERE ${exists} ${addingTo({ kind: 'sqlite' }, series)}`;
}

function onMysql(series: Series): string {
  return `INSERT INTO ${series.table} (${columnsOf(series)})
    VALUES :rows ${addingTo({ kind: 'mysql' }, series)}`;
}

/** Which history is read, and for which time: Unix time in seconds, `from` included, `to` not. */
export interface HistoryWish {
  readonly kind: HistoryKind;
  /** Only of this device, this rule, this reason. */
  readonly subject?: string;
  /** Only of the devices of this user. */
  readonly userId?: string;
  /** Only of the devices of the members of this group. */
  readonly groupId?: string;
  readonly from: number;
  readonly to: number;
  readonly step: Step;
}

/**
 * Reads sums over all gateways: by the beginning of their step, in the order of the counts of the
 * kind. Steps without a sum are left out.
 */
export async function readHistory(
  database: Database,
  wish: HistoryWish,
): Promise<Map<number, readonly number[]>> {
  const { table, counts } = SERIES[wish.kind];
  const sums = counts.map((count, i) => `SUM(${count}) AS c${i}`).join(', ');
  const rows = await database.sequelize.query<Record<string, number | string>>(
    `SELECT start - start % ${wish.step} AS began, ${sums} FROM ${table} ${whereOf(wish)}
     GROUP BY start - start % ${wish.step}`,
    { ...plainSelect(), replacements: { ...wish } },
  );
  // MySQL gives sums as texts.
  return new Map(
    rows.map((row) => [Number(row['began']), counts.map((_count, i) => Number(row[`c${i}`]))]),
  );
}

/** Reads how many packets each reason refused, over all gateways; none are left out. */
export async function readRefusals(
  database: Database,
  wish: Pick<HistoryWish, 'from' | 'to'>,
): Promise<Map<string, number>> {
  const { table } = SERIES.refusal;
  const rows = await database.sequelize.query<{ reason: string; packets: number | string }>(
    `SELECT reason, SUM(packets) AS packets FROM ${table} ${whereOf({ kind: 'refusal', ...wish })}
     GROUP BY reason ORDER BY reason`,
    { ...plainSelect(), replacements: { ...wish } },
  );
  return new Map(rows.map(({ reason, packets }) => [reason, Number(packets)]));
}

/** Reads the ids of the devices whose history is that of a user or a group. */
export async function readDevicesOfHistory(
  database: Database,
  of: { readonly userId: string } | { readonly groupId: string },
): Promise<string[]> {
  const devices = 'userId' in of ? DEVICES_OF_USER : DEVICES_OF_GROUP;
  const rows = await database.sequelize.query<{ id: string }>(devices, {
    ...plainSelect(),
    replacements: of,
  });
  return rows.map(({ id }) => id);
}

const DEVICES_OF_USER = 'SELECT id FROM devices WHERE user_id = :userId';
const DEVICES_OF_GROUP = `SELECT devices.id FROM devices JOIN group_memberships
  ON group_memberships.user_id = devices.user_id WHERE group_memberships.group_id = :groupId`;

function whereOf({ kind, subject, userId, groupId }: Omit<HistoryWish, 'step'>): string {
  const { subject: column, owners } = SERIES[kind];
  // What a removed record left is nobody's.
  const isThere = owners === null ? [] : [`EXISTS (SELECT 1 FROM ${owners} WHERE id = :subject)`];
  const conditions = [
    ...(subject === undefined ? [] : [`${column} = :subject`, ...isThere]),
    ...(userId === undefined ? [] : [`${column} IN (${DEVICES_OF_USER})`]),
    ...(groupId === undefined ? [] : [`${column} IN (${DEVICES_OF_GROUP})`]),
    // All there are: so the key leads to the times.
    `step IN (${STEPS.join(', ')})`,
    'start >= :from AND start < :to',
  ];
  return `WHERE ${conditions.join(' AND ')}`;
}
