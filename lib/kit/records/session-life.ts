// How long the session of a browser and an API token are valid, and who may be signed in. This is
// checked when a request comes, and again in the transaction that writes for it.
// docs/api.md#sign-in.

import { isWithin, type Session, type User } from '../../../models/index.ts';
import { ApiError } from '../http/errors.ts';
import { showTime } from './shown.ts';

/** A session that is not used for this time ends. */
export const IDLE_MS = 8 * 3_600_000;
/** How long a sign-in counts as recent. */
export const RECENT_MS = 5 * 60_000;
/** How long it counts for what an administrator changes of others. */
export const RECENT_ADMINISTRATION_MS = 15 * 60_000;
/** How long a session waits for a second factor. */
const SECOND_FACTOR_MS = 10 * 60_000;

/** The columns that say whether a user is disabled, and by whom. */
type DisabledFacts = Pick<User, 'disabled_at' | 'disabled_by' | 'disabled_provider'>;

/** What `isAlive` looks at. */
type AliveFacts = Pick<Session, 'state' | 'method' | 'inserted_at' | 'seen_at'> & {
  user: DisabledFacts;
};

/** True while a session is valid: not idle for too long, not too late, and its user is enabled. */
export function isAlive(session: AliveFacts, nowMs: number): boolean {
  const { user } = session;
  if (session.state === 'second factor')
    return (
      isWithin(session.inserted_at, SECOND_FACTOR_MS, nowMs) && maySignIn(user, session.method)
    );
  return isWithin(session.seen_at, IDLE_MS, nowMs) && user.disabled_at === null;
}

/**
 * Whether a user may sign in this way. A user whom a provider disabled may sign in only through
 * that provider. A user who was disabled by an administrator or for an unknown cause may not.
 */
export function maySignIn(user: DisabledFacts, method: string): boolean {
  if (user.disabled_at === null) return true;
  return user.disabled_by === 'provider' && user.disabled_provider === method;
}

/** True for an API token whose time is over. */
export function isExpired(expiresAt: Date | null, nowMs: number): boolean {
  return expiresAt !== null && expiresAt.getTime() <= nowMs;
}

/** The answer to a token that is not good; `expiresAt` is that of one whose time is over. */
export function badToken(expiresAt: Date | null, reason?: string): ApiError {
  return new ApiError('invalid_token', {
    ...(expiresAt === null ? {} : { sentence: `this token expired at ${showTime(expiresAt)}` }),
    ...(reason === undefined ? {} : { reason }),
  });
}
