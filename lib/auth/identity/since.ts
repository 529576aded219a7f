// The time from which a sign-in through a provider counts. Anybody who finds a browser that is
// signed in at the provider can sign out and in again here. The provider then asks for nothing, so
// that proves nothing. lib/web/kit/recent.ts says what needs a recent sign-in.

import { RECENT_ADMINISTRATION_MS } from '../../kit/records/session-life.ts';

/**
 * When the person proved who they are; undefined: just now. `said` is what the provider says of it,
 * `isAsked` whether it was asked to have them prove it again. Where it says nothing it is believed
 * only if it was asked; else the sign-in is no recent one from its beginning.
 */
export function provenSince(
  said: Date | null,
  isAsked: boolean,
  now: Date = new Date(),
): Date | undefined {
  // A clock that is ahead makes nothing more recent.
  if (said !== null) return said <= now ? said : undefined;
  return isAsked ? undefined : new Date(now.getTime() - RECENT_ADMINISTRATION_MS);
}
