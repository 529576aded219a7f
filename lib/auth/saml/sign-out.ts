// The sessions that a SAML provider may end. Each session keeps the account (NameID) and the
// provider's session (SessionIndex) as hashes, so that also accounts whose name changes each time
// can be signed out. SAML core, section 3.7.

import { createHash } from 'node:crypto';
import {
  actAs,
  type Database,
  identityKey,
  noteAction,
  Op,
  type Origin,
  type ProviderAccount,
  type Session,
  type SessionAtProvider,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import { methodOf } from '../identity/method.ts';
import type { LogoutRequest } from './logout.ts';

const ATTRIBUTES = ['id', 'user_id', 'inserted_at'];

/** How a provider names a session that begins. */
export function sessionAtProvider(
  account: ProviderAccount,
  sessionIndex: string | null,
): SessionAtProvider {
  return {
    account_key: identityKey(account),
    provider_session: sessionIndex === null ? null : hashOf(sessionIndex),
  };
}

/** Which sessions of an account a provider names. */
type Named = Pick<LogoutRequest, 'sessionIndexes' | 'meansBefore'>;

/** Ends the sessions that a provider names; without an index, all sessions of the account. */
export async function endSessionsAtProvider(
  database: Database,
  account: ProviderAccount,
  { sessionIndexes, meansBefore }: Named,
  origin: Origin,
): Promise<void> {
  await writeTransaction(database, async (transaction) => {
    actAs(transaction, origin);
    const found = [
      ...(await knownSessions(database, account, sessionIndexes, transaction)),
      ...(await olderSessions(database, account, transaction)),
    ];
    const meant = found.filter((session) => session.inserted_at <= meansBefore);
    if (meant.length === 0) return;
    const where = { id: meant.map(({ id }) => id) };
    await database.models.Session.destroy({ where, transaction });
    for (const recordId of new Set(meant.map(({ user_id }) => user_id)))
      noteAction(transaction, { action: 'sign out', kind: 'user', recordId });
  });
}

function knownSessions(
  { models: { Session: sessions } }: Database,
  account: ProviderAccount,
  sessionIndexes: readonly string[],
  transaction: Transaction,
): Promise<Session[]> {
  const ofAccount = { account_key: identityKey(account) };
  // A session for which the provider sent no index may be any of those that are named.
  const named = { [Op.or]: [{ [Op.in]: sessionIndexes.map(hashOf) }, null] };
  const where = sessionIndexes.length === 0 ? ofAccount : { ...ofAccount, provider_session: named };
  return sessions.findAll({ attributes: ATTRIBUTES, where, transaction });
}

/** Sessions that keep no account, because they are older: all that the person began this way. */
async function olderSessions(
  { models: { Identity: identities, Session: sessions } }: Database,
  account: ProviderAccount,
  transaction: Transaction,
): Promise<Session[]> {
  const bound = await identities.findOne({
    attributes: ['user_id'],
    where: { account_key: identityKey(account) },
    transaction,
  });
  if (bound === null) return [];
  const method = methodOf('saml', account.provider_id);
  const where = { user_id: bound.user_id, method, account_key: null };
  return sessions.findAll({ attributes: ATTRIBUTES, where, transaction });
}

function hashOf(sessionIndex: string): string {
  return createHash('sha256').update(sessionIndex).digest('hex');
}
