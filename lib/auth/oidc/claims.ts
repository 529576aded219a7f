// The claims that an entry needs: the one with the e-mail address, and one that a person must have
// to be admitted. A claim is read in the ID token, else in userinfo. Providers differ: Entra sends
// no e-mail address for accounts without a mailbox, Google names the organisation in `hd`.
// docs/api.md#sign-in.

import {
  type GroupsSaid,
  type OpenidConnectProvider,
  openidProviderFields,
} from '../../../models/index.ts';
import { isSameAddress } from '../email.ts';
import { readNames } from '../identity/groups.ts';
import { ProviderRefusal } from '../identity/refusal.ts';

/** The claims that may hold the e-mail address; the first one is the default. */
export const EMAIL_CLAIMS = openidProviderFields.email_claim.api.words;

/** The claim of OpenID with the name of a person, of the scope `profile`. */
const NAME_CLAIM = 'name';

/** Claims of one source: the ID token, or userinfo. */
export type Claims = Readonly<Record<string, unknown>>;

type Asking = Pick<OpenidConnectProvider, 'email_claim' | 'required_claim' | 'groups_claim'>;

/** The names of the claims that an entry needs. */
export function claimsAsked({ email_claim, required_claim }: Asking): string[] {
  return [
    email_claim ?? EMAIL_CLAIMS[0],
    ...(required_claim === undefined ? [] : [required_claim.name]),
  ];
}

/** The e-mail address of a person, of the source that tells the claim. */
export function emailOf(
  { email_claim: name = EMAIL_CLAIMS[0] }: Asking,
  sources: readonly Claims[],
): { email: string | null; isEmailVerified: boolean | null } {
  const source = tellerOf(sources, name) ?? {};
  const value = source[name];
  return {
    email: typeof value === 'string' ? value : null,
    // `email_verified` is about the claim `email` only; no provider verifies the others.
    isEmailVerified: name === EMAIL_CLAIMS[0] ? verdictOf(source['email_verified']) : null,
  };
}

/** What the provider calls the person; nothing where it does not say it. */
export function nameIn(sources: readonly Claims[]): { name?: unknown } {
  const name = tellerOf(sources, NAME_CLAIM)?.[NAME_CLAIM];
  return name === undefined ? {} : { name };
}

/**
 * Whether userinfo says that an e-mail address of the ID token is verified. Null where it says
 * nothing, or speaks of another address.
 */
export function verdictOnEmail(email: string, userinfo: Claims): boolean | null {
  const { email: other, email_verified: verified } = userinfo;
  return typeof other === 'string' && isSameAddress(other, email) ? verdictOf(verified) : null;
}

/** Throws ProviderRefusal for a person without the claim that an entry requires. */
export function checkRequiredClaim(
  { required_claim: required }: Asking,
  sources: readonly Claims[],
): void {
  if (required === undefined) return;
  const { name, value } = required;
  const source = tellerOf(sources, name);
  if (source === undefined) throw new ProviderRefusal('claim_required', `no claim ${name}`);
  const found = namesAt(source, name);
  const values: unknown[] = Array.isArray(found) ? found : [found];
  const isThere = values.some((one) => isPlain(one) && String(one) === value);
  if (!isThere) throw new ProviderRefusal('claim_required', `another ${name}`);
}

/**
 * Throws ProviderRefusal if the claim that an entry requires has another value. An account without
 * the claim passes, because providers may leave claims out between sign-ins.
 */
export function checkRequiredClaimIfSent(asking: Asking, sources: readonly Claims[]): void {
  const { required_claim: required } = asking;
  if (required === undefined) return;
  if (tellerOf(sources, required.name) !== undefined) checkRequiredClaim(asking, sources);
}

/** True for claims that hold those of these names, and the one that names groups. */
export function holdsClaims(
  { groups_claim: path }: Asking,
  names: readonly string[],
  claims: Claims,
): boolean {
  const asked = path === undefined ? names : [...names, path];
  return asked.every((name) => isFilled(claimAt(claims, name)));
}

/**
 * What the source that tells the claim says of groups; no groups where none has it. Undefined
 * where the entry does not ask. Entra leaves the claim out of a token that it would make too long,
 * and names it in `_claim_names` instead.
 */
export function groupsOf(
  { groups_claim: path }: Asking,
  sources: readonly Claims[],
): GroupsSaid | undefined {
  if (path === undefined) return undefined;
  const source = tellerOf(sources, path);
  if (source !== undefined) return readNames(namesAt(source, path));
  const isElsewhere = sources.some((claims) => claimAt(claims['_claim_names'], path) !== undefined);
  return isElsewhere ? { problem: 'overage' } : { names: [] };
}

/**
 * The source that tells a claim: the first in which it is filled, else the first that has it. A
 * null or an empty text in the ID token does not hide what userinfo says; an empty list does.
 */
function tellerOf(sources: readonly Claims[], path: string): Claims | undefined {
  return (
    sources.find((claims) => isFilled(claimAt(claims, path))) ??
    sources.find((claims) => claimAt(claims, path) !== undefined)
  );
}

function isFilled(claim: unknown): boolean {
  return claim !== undefined && claim !== null && claim !== '';
}

/** A claim by its name, which may have dots itself, else by the way that the dots lead. */
function claimAt(claims: unknown, path: string): unknown {
  const member = (of: unknown, name: string): unknown =>
    isObject(of) && Object.hasOwn(of, name) ? of[name] : undefined;
  return member(claims, path) ?? path.split('.').reduce<unknown>(member, claims);
}

/** A claim that names something. Zitadel writes roles as an object whose keys are the names. */
function namesAt(claims: Claims, path: string): unknown {
  const found = claimAt(claims, path);
  return isObject(found) && Object.values(found).every(isObject) ? Object.keys(found) : found;
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlain(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** Some providers write booleans as text; anything that cannot be read counts as false. */
function verdictOf(verified: unknown): boolean | null {
  if (verified === undefined || verified === null) return null;
  return verified === true || verified === 'true';
}
