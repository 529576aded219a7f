// The beginning and the end of a sign-in through a provider, OpenID or SAML. A row is written when
// it begins; the same browser takes the row, once, when it ends.

import { createHash, timingSafeEqual } from 'node:crypto';
import {
  beginSignInRequest,
  type Database,
  forgetSignInRequests,
  type NewSignInRequest,
  type SignInRequest,
  type SignInSource,
  takeSignInRequest,
} from '../../../models/index.ts';
import { TunnelAddresses, type TunnelSettings } from '../../kit/http/tunnel-addresses.ts';
import type { Chore } from '../../kit/process/hourly.ts';
import type { Shared } from '../../kit/process/shared.ts';
import { newSecret } from '../browser-cookies.ts';
import { SIGN_IN_MS } from './browser.ts';
import { ProviderRefusal } from './refusal.ts';

/** The source of a sign-in whose address is not known. */
const UNKNOWN: SignInSource = { network: null, scope: null };
/** Longest state that is looked up; ours have 43 characters. */
const STATE_CHARACTERS_MAX = 100;

/** Who begins a sign-in, and where. */
export interface Beginner {
  /** SHA-256 of the browser's cookie. */
  readonly browserSha256: string;
  /** The user who is signed in already; null if nobody is. */
  readonly userId: string | null;
  /** Left out if the address is not known. */
  readonly source?: SignInSource;
  /** The page that was asked for before; a path of this gateway. */
  readonly returnTo?: string | null;
  /** The one-time link that led here. */
  readonly linkId?: string | null;
  /** The session of the administrator who begins a test, which signs nobody in. */
  readonly testBy?: string;
}

/** A text that nobody can guess: 32 random bytes. */
export function newState(): string {
  return newSecret();
}

/** The source of a sign-in, as hashes, because sources are only counted. */
export function sourceOf(config: TunnelSettings, address: string): SignInSource {
  const tunnel = new TunnelAddresses(config);
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  return { network: sha256(tunnel.networkOf(address)), scope: sha256(tunnel.scopeOf(address)) };
}

/** A sign-in that begins. */
type KeptRequest = Omit<NewSignInRequest, 'now' | 'expiresAt' | keyof Beginner> & Beginner;

/** Keeps a sign-in that begins, for ten minutes. */
export async function keepRequest(
  database: Database,
  { returnTo = null, linkId = null, source = UNKNOWN, testBy, secrets, ...request }: KeptRequest,
): Promise<void> {
  const now = new Date();
  const expiresAt = new Date(now.getTime() + SIGN_IN_MS);
  const kept = {
    ...secrets,
    ...(returnTo === null ? {} : { returnTo }),
    ...(linkId === null ? {} : { linkId }),
    ...(testBy === undefined ? {} : { testBy }),
  };
  await beginSignInRequest(database, { ...request, source, secrets: kept, now, expiresAt });
}

/** What forgetting needs; only tests set `maxSignIns`. */
interface Keeper extends Pick<Shared, 'database' | 'log' | 'counters'> {
  readonly maxSignIns?: number;
}

/** Forgets sign-ins that expired, and the earliest of the networks that have too many. */
export async function makeRoom(keeper: Keeper): Promise<void> {
  const { database, log, counters, maxSignIns } = keeper;
  const forgotten = await forgetSignInRequests(database, new Date(), maxSignIns);
  if (forgotten === 0) return;
  counters.add('sign_ins', 'forgotten_for_others', forgotten);
  log.warn(
    { forgotten },
    'too many sign-ins through identity providers are under way; the earliest of the networks that have most were forgotten',
  );
}

/** The chore that forgets sign-ins that expired or are too many. */
export function forgetRequests(keeper: Keeper): Chore {
  return {
    failure: 'sign-ins that came to nothing were not forgotten',
    run: () => makeRoom(keeper),
  };
}

/** What must agree for a sign-in to end. */
export interface Ending {
  readonly state: string | null;
  readonly kind: SignInRequest['kind'];
  readonly providerId: string;
  /** Left out if it is not known yet which browser sent the answer. */
  readonly browserSha256?: string | null;
}

/** Takes the sign-in of an answer. It is used up even if something in the answer is wrong. */
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
