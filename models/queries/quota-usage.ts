// What users have carried in a month, for their quotas: a row for each gateway, so that none waits
// for another, and the sum is what counts. The rows outlive the devices that made them. Written in
// bulk and without change rows. docs/state.md#quotas.

import { QueryTypes, type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { Binds } from '../storage/binds.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';

/** How many users one statement names. */
const USERS_PER_STATEMENT = 500;

/** A month in UTC as a number: the year and the month, 202611. */
export type Month = number;

/** The month of a time in Unix ms. */
export function monthOf(ms: number): Month {
  const date = new Date(ms);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** What a gateway adds to what a user has carried in a month. */
export interface UsageReport {
  readonly userId: string;
  readonly month: Month;
  readonly bytes: number;
}

/**
 * Adds a gateway's reports, all of them or none; each user is named at most once for a month, and
 * who is gone is skipped.
 */
export async function recordQuotaUsage(
  database: Database,
  gatewayId: string,
  reports: readonly UsageReport[],
): Promise<void> {
  // All gateways lock rows in one order, so they wait for one another but never deadlock.
  const rows = reports
    .toSorted((a, b) => (a.userId < b.userId ? -1 : 1))
    .map(({ userId, month, bytes }) => [userId, month, gatewayId, bytes]);
  const { kind, sequelize } = database;
  const sql = kind === 'sqlite' ? SQLITE_UPSERT : MYSQL_UPSERT;
  const add = async (transaction: Transaction | null): Promise<void> => {
    for (let start = 0; start < rows.length; start += USERS_PER_STATEMENT) {
      const replacements = { rows: rows.slice(start, start + USERS_PER_STATEMENT) };
      await sequelize.query(sql, { replacements, type: QueryTypes.INSERT, transaction });
    }
  };
  await rerunOnConflict(database, () =>
    rows.length > USERS_PER_STATEMENT ? sequelize.transaction(add) : add(null),
  );
}

/**
 * Reads what users have carried in a month, over all gateways; one without a row is left out. For
 * more users than one statement names, everybody is read.
 */
export async function readQuotaUsage(
  database: Database,
  month: Month,
  userIds: readonly string[],
  transaction?: Transaction,
): Promise<ReadonlyMap<string, number>> {
  if (userIds.length === 0) return new Map();
  const binds = new Binds();
  const ofMonth = `month = ${binds.one(month)}`;
  const ofUsers =
    userIds.length > USERS_PER_STATEMENT ? '' : `AND user_id IN (${binds.list(userIds)})`;
  const rows = await database.sequelize.query<{ user_id: string; bytes: number | string }>(
    `SELECT user_id, SUM(bytes) AS bytes FROM quota_usage
     WHERE ${ofMonth} ${ofUsers} GROUP BY user_id`,
    { ...plainSelect(transaction), bind: binds.values },
  );
  // MySQL gives sums as texts.
  return new Map(rows.map(({ user_id, bytes }) => [user_id, Number(bytes)]));
}

/** Reads the quotas of users with one of their own, by user, and the quota of the others. */
export async function readQuotas({
  sequelize,
}: Database): Promise<{ own: ReadonlyMap<string, number>; byDefault: number | null }> {
  const rows = await sequelize.query<{ id: string; quota: number }>(
    'SELECT id, quota FROM users WHERE quota IS NOT NULL',
    plainSelect(),
  );
  const [settings] = await sequelize.query<{ quota: number | null }>(
    'SELECT default_quota AS quota FROM configurations',
    plainSelect(),
  );
  return {
    own: new Map(rows.map(({ id, quota }) => [id, Number(quota)])),
    byDefault: settings?.quota == null ? null : Number(settings.quota),
  };
}

/** Deletes the rows of months before one. Returns how many there were. */
export function forgetQuotaUsage(database: Database, before: Month): Promise<number> {
  return rerunOnConflict(database, () =>
    database.sequelize.query('DELETE FROM quota_usage WHERE month < :before', {
      replacements: { before },
      type: QueryTypes.BULKDELETE,
    }),
  );
}

const COLUMNS = 'user_id, month, gateway_id, bytes';

// Users who are gone are left out by the WHERE, under the write lock.
const SQLITE_UPSERT = `
  WITH report (${COLUMNS}) AS (VALUES :rows)
  INSERT INTO quota_usage (${COLUMNS})
  SELECT * FROM report WHERE EXISTS (SELECT 1 FROM users WHERE id = report.user_id)
  ON CONFLICT (user_id, month, gateway_id) DO UPDATE SET
    bytes = quota_usage.bytes + excluded.bytes`;

// IGNORE makes the foreign key skip users who are gone.
const MYSQL_UPSERT = `
  INSERT IGNORE INTO quota_usage (${COLUMNS}) VALUES :rows
  ON DUPLICATE KEY UPDATE bytes = bytes + VALUES(bytes)`;
