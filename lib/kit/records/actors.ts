// Whether the callers of a transaction may still write. A request is admitted before its body is
// read, and a body may take seconds to arrive: meanwhile the token may be revoked, the session
// ended, the user disabled or given another role. So the transaction asks again, with locks.

import {
  type Database,
  lockSessions,
  lockTokens,
  type Role,
  type Transaction,
} from '../../../models/index.ts';
import { ApiError } from '../http/errors.ts';
import { PageError } from '../http/page-error.ts';
import type { LetIn } from '../process/caller.ts';
import { badToken, isAlive, isExpired } from './session-life.ts';

/** The name under which a caller who may no longer write is counted. */
const REASON = { reason: 'revoked_meanwhile' } as const;

/** What is known of a token or a session now. */
interface Right {
  readonly role: Role;
  readonly isGood: boolean;
  /** The end of a token whose time is over. */
  readonly expiredAt: Date | null;
}

/** Why each of these callers may no longer write; null for one who may. Locks their rows. */
export async function checkActors(
  database: Database,
  actors: readonly (LetIn | null)[],
  transaction: Transaction,
): Promise<(ApiError | null)[]> {
  const [tokens, sessions] = await Promise.all([
    lockTokens(database, idsOf(actors, 'tokenId'), transaction),
    lockSessions(database, idsOf(actors, 'sessionId'), transaction),
  ]);
  const nowMs = Date.now();
  const rights = new Map<string | null, Right>();
  for (const { id, expires_at: end, user } of tokens)
    rights.set(id, {
      role: user.role,
      isGood: user.disabled_at === null && !isExpired(end, nowMs),
      expiredAt: isExpired(end, nowMs) ? end : null,
    });
  for (const session of sessions)
    rights.set(session.id, {
      role: session.user.role,
      isGood: isAlive(session, nowMs),
      expiredAt: null,
    });
  return actors.map((actor) => {
    if (actor === null) return null;
    const right = rights.get(actor.tokenId ?? actor.sessionId);
    if (right?.isGood !== true)
      return actor.tokenId === null
        ? signedOut()
        : badToken(right?.expiredAt ?? null, REASON.reason);
    return right.role === actor.role ? null : new ApiError('forbidden', REASON);
  });
}

function idsOf(actors: readonly (LetIn | null)[], name: 'tokenId' | 'sessionId'): string[] {
  const ids = actors.map((actor) => actor?.[name] ?? null);
  return [...new Set(ids.filter((id) => id !== null))];
}

function signedOut(): ApiError {
  const title = 'You are signed out';
  const text = 'Your session ended before this form arrived. Nothing is changed. Sign in again.';
  return new PageError('stale_form', { title, text }, REASON);
}
