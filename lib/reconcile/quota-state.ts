// How much of their quota a user has used this month, by the rows.

import { type Database, monthOf, readQuotaUsage, type User } from '../../models/index.ts';
import { isUsedUp } from './quotas.ts';

/** A quota and what was carried of it, in bytes. */
export interface QuotaState {
  /** Null: there is none. */
  readonly quota: number | null;
  readonly used: number;
  readonly isUsedUp: boolean;
}

/**
 * The state of a user who carried so many bytes; `byDefault` is for users without a quota of their
 * own.
 */
export function quotaStateOf(
  user: Pick<User, 'quota'>,
  byDefault: number | null,
  used: number,
): QuotaState {
  const quota = user.quota ?? byDefault;
  return { quota, used, isUsedUp: isUsedUp(quota, used) };
}

/** Reads the state of a user in the month of `nowMs` (Unix time). */
export async function readQuotaState(
  database: Database,
  user: Pick<User, 'id' | 'quota'>,
  { default_quota }: { readonly default_quota: number | null },
  nowMs: number,
): Promise<QuotaState> {
  const usage = await readQuotaUsage(database, monthOf(nowMs), [user.id]);
  return quotaStateOf(user, default_quota, usage.get(user.id) ?? 0);
}
