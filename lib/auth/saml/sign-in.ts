// A sign-in through a SAML provider, in three steps: `beginSaml` makes the request, `consumeSaml`
// checks the answer that the provider's page posts, `completeSaml` ends the sign-in on a page of
// ours. The answer is posted from another site, without the cookies of this one where there is no
// https; the page after it has them, so that is where browser and session meet.
// docs/api.md#sign-in.

import { createHash, randomBytes } from 'node:crypto';
import {
  type GroupsSaid,
  type ProviderAccount,
  type SamlIdentityProvider,
  type SessionAtProvider,
  type SignInRequest,
  useAssertion,
} from '../../../models/index.ts';
import { readPersonName } from '../identity/person-name.ts';
import type { ProvenAccount } from '../identity/provision.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { type Beginner, keepRequest, newState, takeRequest } from '../identity/request.ts';
import { provenSince } from '../identity/since.ts';
import type { Tested } from '../identity/test-report.ts';
import type { Assertion } from './assertion.ts';
import { metadataOf, type ServedMetadata } from './provider-metadata.ts';
import { endRollover, refreshForUnknownKey, type RefreshContext } from './refresh.ts';
import { BAD_SIGNATURE, type SamlVerdict } from './response.ts';
import { bindingOf, samlOf, type SamlSetup, type ServiceProvider } from './service-provider.ts';
import { sessionAtProvider } from './sign-out.ts';
import { finishSamlTest } from './test-sign-in.ts';
import { verifier } from './verifier.ts';

/** Names of unspecified form need no word for it. */
const UNSPECIFIED = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified';

/** One provider, and what it needs. */
export interface SamlContext extends RefreshContext {
  readonly provider: SamlIdentityProvider;
  readonly ours: ServiceProvider;
}

/** How the browser gets to the provider. */
export type SamlRequest =
  | { readonly kind: 'redirect'; readonly address: string }
  | {
      readonly kind: 'post';
      readonly address: string;
      readonly fields: Readonly<Record<string, string>>;
    };

/** Begins a sign-in; who is signed in already must prove themselves again. */
export async function beginSaml(context: SamlContext, beginner: Beginner): Promise<SamlRequest> {
  const { database, provider, ours } = context;
  const metadata = await metadataOf(database, provider);
  const requestId = `_${randomBytes(20).toString('hex')}`;
  const isForced = beginner.userId !== null;
  const saml = await samlOf({ provider, metadata, ours, requestId, isForced });
  const state = newState();
  const isForm = bindingOf(metadata) === 'post';
  const request: SamlRequest = isForm
    ? {
        kind: 'post',
        address: metadata.signOnUrls.post ?? '',
        fields: textsOf(await saml.getAuthorizeMessageAsync(state, undefined, {})),
      }
    : { kind: 'redirect', address: await saml.getAuthorizeUrlAsync(state, undefined, {}) };
  await keepRequest(database, {
    ...beginner,
    state,
    kind: 'saml',
    providerId: provider.id,
    secrets: { samlRequestId: requestId },
  });
  return request;
}

function textsOf(message: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(message).filter((field): field is [string, string] => {
      return typeof field[1] === 'string';
    }),
  );
}

/** What a provider's page posts. */
export interface PostedResponse {
  readonly samlResponse: string;
  readonly relayState: string | null;
  /** Left out where the browser's cookie cannot come along: without https. */
  readonly browserSha256?: string | null;
}

/** What an answer came to. */
export type Consumed =
  /** The ticket ends the sign-in, once, in the browser that began it. */
  | { readonly kind: 'proven'; readonly ticket: string }
  /** The provider denies the person; `begunBy` was signed in when it was asked. */
  | { readonly kind: 'denied'; readonly status: string; readonly begunBy: string | null }
  | Tested;

/** Checks an answer. An answer must answer a request: only we begin a sign-in. */
export async function consumeSaml(
  context: SamlContext,
  { samlResponse, relayState, ...browser }: PostedResponse,
): Promise<Consumed> {
  const { database, provider, ours } = context;
  const request = await takeRequest(database, {
    state: relayState,
    kind: 'saml',
    providerId: provider.id,
    ...browser,
  });
  const { samlRequestId: requestId } = request.secrets;
  if (requestId === undefined) throw new ProviderRefusal('request_unknown');
  if (request.secrets.testBy !== undefined) {
    const metadata = await metadataOf(database, provider);
    const setup: SamlSetup = { provider, metadata, ours, requestId };
    return finishSamlTest(database, setup, request, samlResponse);
  }
  const now = new Date();
  const verdict = await checkAnswer(context, requestId, samlResponse, now);
  if (verdict.kind === 'denied')
    return { kind: 'denied', status: verdict.status, begunBy: request.user_id };
  const { assertion } = verdict;
  const id = createHash('sha256').update(JSON.stringify([assertion.issuer, assertion.id]));
  const use = { id: id.digest('hex'), expiresAt: assertion.expiresAt };
  if (!(await useAssertion(database, use))) throw new ProviderRefusal('answer_used');
  const ticket = newState();
  await keepRequest(database, {
    state: ticket,
    kind: 'saml',
    providerId: provider.id,
    browserSha256: request.browser_sha256,
    userId: request.user_id,
    source: { network: request.network_sha256, scope: request.scope_sha256 },
    returnTo: request.secrets.returnTo ?? null,
    linkId: request.secrets.linkId ?? null,
    secrets: { proven: provenBy(provider.id, assertion), ...sinceOf(request, assertion, now) },
  });
  return { kind: 'proven', ticket };
}

/** An answer that an unknown key signed is checked once more, if newer metadata can be had. */
async function checkAnswer(
  context: SamlContext,
  requestId: string,
  posted: string,
  now: Date,
): Promise<SamlVerdict> {
  const { database, provider, ours } = context;
  const check = async (metadata: ServedMetadata): Promise<SamlVerdict> => {
    const setup: SamlSetup = { provider, metadata, ours, requestId };
    const verdict = await verifier.verify('response', setup, posted, now);
    if (verdict.kind === 'proven') await checkRollover(context, setup, metadata, posted, now);
    return verdict;
  };
  try {
    return await check(await metadataOf(database, provider));
  } catch (error) {
    const isUnknownKey = error instanceof ProviderRefusal && error.detail === BAD_SIGNATURE;
    if (!isUnknownKey || !(await refreshForUnknownKey(context, provider))) throw error;
    return check(await metadataOf(database, provider));
  }
}

/** A good answer that a new certificate signed ends the former ones. */
async function checkRollover(
  context: SamlContext,
  setup: SamlSetup,
  metadata: ServedMetadata,
  posted: string,
  now: Date,
): Promise<void> {
  const { awaitedCertificates: signingCertificates } = metadata;
  if (signingCertificates.length === 0) return;
  const awaited = { ...setup, metadata: { ...metadata, signingCertificates } };
  try {
    await verifier.verify('response', awaited, posted, now);
  } catch (error) {
    // A former one signed it.
    if (error instanceof ProviderRefusal) return;
    throw error;
  }
  await endRollover(context, setup.provider);
}

/** The account that a provider's name stands for. */
export function accountOf(
  providerId: string,
  issuer: string,
  { nameId, nameIdFormat: format }: Pick<Assertion, 'nameId' | 'nameIdFormat'>,
): ProviderAccount {
  const isNamed = format !== null && format !== UNSPECIFIED;
  // Forms of names are spaces of their own: one may hold what people choose.
  const subject = isNamed ? `${format} ${nameId}` : nameId;
  return { kind: 'saml', provider_id: providerId, issuer, subject };
}

function sinceOf({ user_id }: SignInRequest, { signedInAt }: Assertion, now: Date) {
  const since = provenSince(signedInAt, user_id !== null, now);
  return since === undefined ? {} : { since: since.toISOString() };
}

function provenBy(providerId: string, assertion: Assertion) {
  const { issuer, isTransient, email, personName, sessionIndex, groups } = assertion;
  // Kept with the request until the browser comes back, so it is cut here.
  const name = readPersonName(personName);
  return {
    ...accountOf(providerId, issuer, assertion),
    email,
    isBindable: !isTransient,
    sessionIndex,
    ...(name === null ? {} : { name }),
    ...(groups === undefined ? {} : { groups }),
  };
}

/** A sign-in that a SAML provider proved. */
interface ProvenSaml {
  readonly account: ProvenAccount;
  /** What the provider says of groups; undefined where the entry does not ask. */
  readonly groups: GroupsSaid | undefined;
  readonly atProvider: SessionAtProvider;
  /** When the person signed in at the provider; undefined: just now. */
  readonly since: Date | undefined;
  readonly returnTo: string | null;
  /** The one-time link that led to the provider. */
  readonly linkId: string | null;
}

/** Ends a sign-in in the browser that began it. */
export async function completeSaml(
  { database, provider }: Pick<SamlContext, 'database' | 'provider'>,
  ticket: string | null,
  browserSha256: string | null,
): Promise<ProvenSaml> {
  const ending = { state: ticket, kind: 'saml', providerId: provider.id, browserSha256 } as const;
  const { secrets } = await takeRequest(database, ending);
  if (secrets.proven === undefined) throw new ProviderRefusal('request_unknown');
  const { sessionIndex, groups, ...proven } = secrets.proven;
  const account = { ...proven, isEmailVerified: null };
  const atProvider = sessionAtProvider(account, sessionIndex ?? null);
  const { returnTo = null, linkId = null } = secrets;
  const since = secrets.since === undefined ? undefined : new Date(secrets.since);
  return { account, groups, atProvider, since, returnTo, linkId };
}
