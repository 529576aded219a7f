// The token or the session that admitted a request, and its user, read again in the transaction
// that writes for the request. The rows are locked, so that a transaction that revokes one or
// disables the user has either committed before, and is seen here, or waits for this transaction.

import type { Transaction } from 'sequelize';
import type { ApiToken } from '../tables/api-token.ts';
import type { Session } from '../tables/session.ts';
import type { Database } from '../database/database.ts';
import type { User } from '../tables/user.ts';

/** A token with its owner, as they are at the moment. */
export type OwnedApiToken = ApiToken & { user: User };
/** A session with its user, as they are at the moment. */
export type UserSession = Session & { user: User };

const USER = {
  association: 'user',
  attributes: ['id', 'role', 'disabled_at', 'disabled_by', 'disabled_provider'],
  required: true,
};

/** Reads and locks tokens by their ids; those that are gone are left out. */
export async function lockTokens(
  { models }: Database,
  ids: readonly string[],
  transaction: Transaction,
): Promise<OwnedApiToken[]> {
  if (ids.length === 0) return [];
  const found = await models.ApiToken.findAll({
    attributes: ['id', 'expires_at'],
    where: { id: [...ids] },
    include: [USER],
    transaction,
    // Shared: two gateways may write for one administrator at the same time.
    lock: transaction.LOCK.SHARE,
  });
  return found as OwnedApiToken[];
}

/** Reads and locks sessions by their ids; those that are gone are left out. */
export async function lockSessions(
  { models }: Database,
  ids: readonly string[],
  transaction: Transaction,
): Promise<UserSession[]> {
  if (ids.length === 0) return [];
  const found = await models.Session.findAll({
    attributes: ['id', 'state', 'method', 'inserted_at', 'seen_at'],
    where: { id: [...ids] },
    include: [USER],
    transaction,
    lock: transaction.LOCK.SHARE,
  });
  return found as UserSession[];
}
