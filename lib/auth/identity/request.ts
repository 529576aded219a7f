// The two ends of a sign-in through a provider: the row that is written when it begins, and taken
// once when it ends, by the browser that began it. The same for OpenID and SAML.

import { timingSafeEqual } from 'node:crypto';
import {
  beginSignInRequest,
  type Database,
  forgetSignInRequests,
  type NewSignInRequest,
  type SignInRequest,
  takeSignInRequest,
} from '../../../models/index.ts';
import type { Chore } from '../../hourly.ts';
import { newSecret } from '../browser-cookies.ts';
import { SIGN_IN_MS } from './browser.ts';
import { ProviderRefusal } from './refusal.ts';

/** Longest state that is looked up; ours have 43 characters. */
const STATE_CHARACTERS_MAX = 100;

/** Who begins, and where. */
export interface Beginner {
  /** SHA-256 of the browser's cookie. */
  readonly browserSha256: string;
  /** Who is signed in already and does it again; null otherwise. */
  readonly userId: string | null;
  /** The page that was asked for before; a path of this gateway. */
  readonly returnTo?: string | null;
}

/** Text that nobody guesses: 32 random bytes. */
export function newState(): string {
  return newSecret();
}

/** A sign-in that begins. */
type KeptRequest = Omit<NewSignInRequest, 'now' | 'expiresAt' | keyof Beginner> & Beginner;

/** Keeps a sign-in that begins, for ten minutes. */
export async function keepRequest(
  database: Database,
  { returnTo = null, secrets, ...request }: KeptRequest,
): Promise<void> {
  const now = new Date();
  const expiresAt = new Date(now.getTime() + SIGN_IN_MS);
  const kept = returnTo === null ? secrets : { ...secrets, returnTo };
  await beginSignInRequest(database, { ...request, secrets: kept, now, expiresAt });
}

/** Forgets sign-ins that came to nothing. */
export function forgetRequests(database: Database): Chore {
  return {
    failure: 'sign-ins that came to nothing were not forgotten',
    run: () => forgetSignInRequests(database, new Date()),
  };
}

/** What must agree for a sign-in to end. */
export interface Ending {
  readonly state: string | null;
  readonly kind: SignInRequest['kind'];
  readonly providerId: string;
  /** Left out where the browser cannot be told yet. */
  readonly browserSha256?: string | null;
}

/** Takes the sign-in that an answer belongs to; it is used up even where something disagrees. */
export async function takeRequest(database: Database, ending: Ending): Promise<SignInRequest> {
  const { state, kind, providerId, browserSha256 } = ending;
  if (state === null || state === '' || state.length > STATE_CHARACTERS_MAX)
    throw new ProviderRefusal('request_invalid', 'no state');
  const request = await takeSignInRequest(database, state, new Date());
  if (request === null) throw new ProviderRefusal('request_unknown');
  if (request.kind !== kind || request.provider_id !== providerId)
    throw new ProviderRefusal('request_unknown', 'another provider');
  if (browserSha256 !== undefined && !isSame(browserSha256 ?? '', request.browser_sha256))
    throw new ProviderRefusal('other_browser');
  return request;
}

function isSame(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}
