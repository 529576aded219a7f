// How long the session of a browser lives, and who may be signed in. It is asked when a request
// comes, and again in the transaction that writes for it. docs/api.md#sign-in.

import type { Session, User } from '../../models/index.ts';

/** A session that nobody uses for so long ends. */
export const IDLE_MS = 8 * 3_600_000;
/** How long a second factor is waited for. */
const SECOND_FACTOR_MS = 10 * 60_000;

/** What of a user says whether they are disabled, and by whom. */
type DisabledFacts = Pick<User, 'disabled_at' | 'disabled_by' | 'disabled_provider'>;

/** What `isAlive` looks at. */
type AliveFacts = Pick<Session, 'state' | 'method' | 'inserted_at' | 'seen_at'> & {
  user: DisabledFacts;
};

/** True while a session serves: neither idle nor late, and its user may be signed in. */
export function isAlive(session: AliveFacts, nowMs: number): boolean {
  const { user } = session;
  if (session.state === 'second factor')
    return (
      nowMs - session.inserted_at.getTime() < SECOND_FACTOR_MS && maySignIn(user, session.method)
    );
  return nowMs - session.seen_at.getTime() < IDLE_MS && user.disabled_at === null;
}

/**
 * Whether a user may sign in this way. A provider's error shuts out of everything but signing in
 * through that provider; an administrator's switch, or a cause that is not known, of everything.
 */
export function maySignIn(user: DisabledFacts, method: string): boolean {
  if (user.disabled_at === null) return true;
  return user.disabled_by === 'provider' && user.disabled_provider === method;
}
