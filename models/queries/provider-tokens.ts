// Keeps the tokens of OpenID providers, and gives those that are due to one gateway at a time.
// docs/api.md#sign-in.

import { Op, type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { notToCome } from '../storage/stored-time.ts';
import type { ProviderTokens, IdentityTokens } from '../tables/identity-tokens.ts';

/**
 * Keeps what a sign-in brought, within its transaction. A refresh token that is there stays where
 * the sign-in brought none: many providers give one at the first consent only.
 */
export async function keepTokens(
  { models: { IdentityTokens: table } }: Database,
  identityId: string,
  { tokens, refreshAt, now }: { tokens: ProviderTokens; refreshAt: Date; now: Date },
  transaction: Transaction,
): Promise<void> {
  const row = await table.findByPk(identityId, { transaction, lock: true });
  const kept = { ...row?.tokens, ...tokens };
  const values = {
    tokens: kept,
    refresh_at: kept.refreshToken === undefined ? null : refreshAt,
    claimed_by: null,
    claimed_until: null,
    refreshed_at: now,
    error: null,
  };
  if (row === null)
    await table.create({ identity_id: identityId, ...values, version: 1 }, { transaction });
  else await row.update({ ...values, version: row.version + 1 }, { transaction });
}

/** Who claims rows, until when, and how many at most. */
export interface Claim {
  owner: string;
  now: Date;
  until: Date;
  limit: number;
  /** How far ahead the next turn of an account is at most. */
  longestMs: number;
}

/** Claims rows that are due, the most overdue first; others claim other rows meanwhile. */
export async function claimDueTokens(database: Database, claim: Claim): Promise<IdentityTokens[]> {
  const { IdentityTokens: table } = database.models;
  const { owner, now, until, limit, longestMs } = claim;
  const claimMs = until.getTime() - now.getTime();
  const isFree = {
    refresh_at: notToCome(longestMs, now),
    [Op.or]: [{ claimed_until: null }, { claimed_until: notToCome(claimMs, now) }],
  };
  const due = await table.findAll({ where: isFree, order: [['refresh_at', 'ASC']], limit });
  const claimed: IdentityTokens[] = [];
  for (const row of due) {
    const where = { identity_id: row.identity_id, version: row.version, ...isFree };
    const values = { claimed_by: owner, claimed_until: until };
    const [count] = await rerunOnConflict(database, () => table.update(values, { where }));
    if (count > 0) claimed.push(row);
  }
  return claimed;
}

/** Whether the turn of any account comes, now or later. */
export async function awaitsTurns({ models }: Database): Promise<boolean> {
  const where = { refresh_at: { [Op.ne]: null } };
  const row = await models.IdentityTokens.findOne({ attributes: ['identity_id'], where });
  return row !== null;
}

/** What an attempt came to; the claim ends with it. */
export interface Settlement {
  /** Left out: the tokens stay. */
  tokens?: ProviderTokens;
  /** Null: never again. */
  refreshAt: Date | null;
  /** Set when it went well. */
  refreshedAt?: Date;
  error: string | null;
}

/**
 * Ends a claim; false when the row is not the claimed one any more, because of a sign-in or a claim
 * that ran out and went to another gateway. In one transaction with what follows from it.
 */
export async function settleTokens(
  { models: { IdentityTokens: table } }: Database,
  claimed: Pick<IdentityTokens, 'identity_id' | 'version'>,
  owner: string,
  { tokens, refreshAt, refreshedAt, error }: Settlement,
  transaction: Transaction,
): Promise<boolean> {
  const { identity_id, version } = claimed;
  const where = { identity_id, version, claimed_by: owner };
  const row = await table.findOne({ where, transaction, lock: true });
  if (row === null) return false;
  await row.update(
    {
      ...(tokens === undefined ? {} : { tokens }),
      ...(refreshedAt === undefined ? {} : { refreshed_at: refreshedAt }),
      version: version + 1,
      refresh_at: refreshAt,
      error,
      claimed_by: null,
      claimed_until: null,
    },
    { transaction },
  );
  return true;
}

/** Gives a turn to the rows that were given up with one of these errors. */
export async function wakeTokens(
  database: Database,
  errors: readonly string[],
  now: Date,
): Promise<void> {
  const { IdentityTokens: table } = database.models;
  const where = { refresh_at: null, error: [...errors] };
  await rerunOnConflict(database, () => table.update({ refresh_at: now }, { where }));
}
