// A sign-in through an OpenID provider, in two steps: `beginOidc` says where the browser goes,
// `finishOidc` checks what it brings back. The checks, in their order: state (known, unused, in
// time, of this provider) → browser → code for tokens, with the PKCE verifier → signature, issuer,
// audience, nonce, expiry of the ID token (openid-client) → claims. docs/api.md#sign-in.

import type { ClientError, IDToken } from 'openid-client';
import type {
  GroupsSaid,
  Database,
  OpenidConnectProvider,
  ProviderTokens,
  SignInRequest,
  TestReport,
} from '../../../models/index.ts';
import { DocumentError } from '../documents.ts';
import { isToBeLinked, type ProvenAccount } from '../identity/provision.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { type Beginner, keepRequest, newState, takeRequest } from '../identity/request.ts';
import { provenSince } from '../identity/since.ts';
import { keepReport, type Tested } from '../identity/test-report.ts';
import {
  checkRequiredClaim,
  type Claims,
  claimsAsked,
  EMAIL_CLAIMS,
  emailOf,
  groupsOf,
  holdsClaims,
  nameIn,
  verdictOnEmail,
} from './claims.ts';
import { loadOpenidClient } from './client-authentication.ts';
import type { OidcClient, OidcClients } from './client.ts';
import { oidcRefusalReport, oidcReport } from './test-findings.ts';

/** Longest subject that is taken; OpenID Connect Core, section 2, allows 255. */
const SUBJECT_CHARACTERS_MAX = 255;
/** Longer tokens are not kept: the column holds 64 KiB. */
const TOKEN_CHARACTERS_MAX = 16_384;
/** The end of the times that a date can hold. */
const SECONDS_MAX = 8.64e12;

/** One provider, and what talks to it. */
export interface OidcContext {
  readonly database: Database;
  readonly clients: OidcClients;
  readonly provider: OpenidConnectProvider;
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string;
}

/** What a sign-in proved, and what it brought. */
export interface OidcProof {
  readonly kind: 'proven';
  readonly account: ProvenAccount;
  readonly tokens: ProviderTokens;
  /** What the provider says of groups; undefined where the entry does not ask. */
  readonly groups: GroupsSaid | undefined;
  /** When the person signed in at the provider; undefined: just now. */
  readonly since: Date | undefined;
  /** The page that was asked for before. */
  readonly returnTo: string | null;
  /** The one-time link that led to the provider. */
  readonly linkId: string | null;
}

/** The address that a provider knows of us. */
export function redirectUriOf(
  { id, redirect_uri }: Pick<OpenidConnectProvider, 'id' | 'redirect_uri'>,
  externalUrl: string,
): string {
  return redirect_uri ?? `${externalUrl}auth/oidc/${encodeURIComponent(id)}/callback/`;
}

/** Begins a sign-in; returns the address at the provider. */
export async function beginOidc(context: OidcContext, beginner: Beginner): Promise<string> {
  const { database, clients, provider, redirectUri } = context;
  const { configuration } = await clients.of(provider);
  const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomPKCECodeVerifier } =
    await loadOpenidClient();
  const state = newState();
  const nonce = newState();
  const verifier = randomPKCECodeVerifier();
  const address = buildAuthorizationUrl(configuration, {
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: provider.scope,
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    access_type: 'offline',
    // A person who is signed in already must sign in at the provider again, as with SAML's
    // ForceAuthn.
    ...(beginner.userId === null ? {} : { max_age: '0' }),
  });
  const secrets = { nonce, verifier };
  await keepRequest(database, {
    ...beginner,
    state,
    kind: 'oidc',
    providerId: provider.id,
    secrets,
  });
  return address.href;
}

/** Finishes a sign-in with the query of the callback; throws ProviderRefusal. */
export async function finishOidc(
  context: OidcContext,
  query: URLSearchParams,
  browserSha256: string | null,
): Promise<OidcProof | Tested> {
  const { database, provider } = context;
  const request = await takeRequest(database, {
    state: query.get('state'),
    kind: 'oidc',
    providerId: provider.id,
    browserSha256,
  });
  if (request.secrets.testBy !== undefined) return finishTest(context, query, request);
  const answer = await answerOf(context, query, request);
  const { idClaims, sources, tokens } = answer;
  checkRequiredClaim(provider, sources);
  const account = accountOf(provider, idClaims, sources);
  const isAsking = await isToBeLinked(database, account);
  return {
    kind: 'proven',
    account: isAsking ? await withVerdict(provider, account, answer) : account,
    tokens: tokensOf(tokens.refresh_token, tokens.id_token),
    groups: groupsOf(provider, sources),
    since: provenSince(timeOf(idClaims.auth_time), request.user_id !== null),
    returnTo: request.secrets.returnTo ?? null,
    linkId: request.secrets.linkId ?? null,
  };
}

/** The end of a test: it signs nobody in, and what the provider gave is kept nowhere. */
async function finishTest(
  context: OidcContext,
  query: URLSearchParams,
  request: SignInRequest,
): Promise<Tested> {
  const keep = (report: TestReport) => keepReport(context.database, request, report);
  try {
    const given = await answerOf(context, query, request);
    const { idClaims, sources, tokens, client } = given;
    // It checks the subject.
    const account = accountOf(context.provider, idClaims, sources);
    const { isEmailVerified } = await withVerdict(context.provider, account, given);
    const answer = {
      sources,
      isEmailVerified,
      idToken: tokens.id_token ?? '',
      hasRefreshToken: tokens.refresh_token !== undefined,
      hasEndSession: client.endSessionEndpoint !== null,
    };
    return await keep(oidcReport(answer, context.provider));
  } catch (error) {
    if (!(error instanceof ProviderRefusal)) throw error;
    return keep(oidcRefusalReport(error));
  }
}

/** Turns the code into tokens, and reads the claims that they stand for. */
async function answerOf(
  context: OidcContext,
  query: URLSearchParams,
  { secrets: { nonce, verifier } }: SignInRequest,
) {
  const { clients, provider, redirectUri } = context;
  const state = query.get('state');
  if (state === null || nonce === undefined || verifier === undefined)
    throw new ProviderRefusal('request_unknown');
  const client = await clients.of(provider);
  const address = new URL(redirectUri);
  address.search = query.toString();
  const { authorizationCodeGrant } = await loadOpenidClient();
  try {
    const tokens = await authorizationCodeGrant(client.configuration, address, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
    });
    const idClaims = tokens.claims();
    if (idClaims === undefined) throw new ProviderRefusal('answer_invalid', 'no ID token');
    const isEnough = (claims: Claims) => holdsClaims(provider, claimsAsked(provider), claims);
    const sources = await claimSources(client, isEnough, {
      claims: idClaims,
      subject: idClaims.sub,
      accessToken: tokens.access_token,
    });
    return { idClaims, sources, tokens, client };
  } catch (error) {
    throw await refusalOf(error);
  } finally {
    clients.keep(client);
  }
}

/** What a provider gave for a code. */
type Given = Awaited<ReturnType<typeof answerOf>>;

/**
 * The account with what userinfo says of its e-mail address, where the ID token says nothing of it.
 * If userinfo cannot be asked, the account stays as it is.
 */
async function withVerdict(
  { email_claim: name = EMAIL_CLAIMS[0] }: OpenidConnectProvider,
  account: ProvenAccount,
  { client: { configuration }, idClaims, sources: [, asked], tokens }: Given,
): Promise<ProvenAccount> {
  const { email, isEmailVerified } = account;
  const { userinfo_endpoint: userinfo } = configuration.serverMetadata();
  const isOpen = email !== null && isEmailVerified === null && name === EMAIL_CLAIMS[0];
  if (!isOpen || userinfo === undefined) return account;
  const { fetchUserInfo } = await loadOpenidClient();
  try {
    const said = asked ?? (await fetchUserInfo(configuration, tokens.access_token, idClaims.sub));
    return { ...account, isEmailVerified: verdictOnEmail(email, said) };
  } catch (error) {
    if ((await refusalOf(error)) instanceof ProviderRefusal) return account;
    throw error;
  }
}

/** The claims of the ID token, if there is one; userinfo is asked too where they are not enough. */
export async function claimSources(
  { configuration }: OidcClient,
  isEnough: (claims: Claims) => boolean,
  { claims = {}, subject, accessToken }: { claims?: Claims; subject: string; accessToken: string },
): Promise<Claims[]> {
  const { userinfo_endpoint: userinfo } = configuration.serverMetadata();
  if (isEnough(claims) || userinfo === undefined) return [claims];
  const { fetchUserInfo } = await loadOpenidClient();
  return [claims, await fetchUserInfo(configuration, accessToken, subject)];
}

function accountOf(
  provider: OpenidConnectProvider,
  { iss, sub }: IDToken,
  sources: readonly Claims[],
): ProvenAccount {
  if (sub.length === 0 || sub.length > SUBJECT_CHARACTERS_MAX)
    throw new ProviderRefusal('answer_invalid', 'subject');
  return {
    kind: 'oidc',
    provider_id: provider.id,
    issuer: iss,
    subject: sub,
    ...emailOf(provider, sources),
    ...nameIn(sources),
    isBindable: true,
  };
}

/** A time of a claim; null for what is none. */
function timeOf(seconds: unknown): Date | null {
  const isTime = typeof seconds === 'number' && seconds >= 0 && seconds < SECONDS_MAX;
  return isTime ? new Date(seconds * 1_000) : null;
}

/** What is worth keeping of a token response. */
export function tokensOf(refreshToken: unknown, idToken: unknown): ProviderTokens {
  return {
    ...(isToken(refreshToken) ? { refreshToken } : {}),
    ...(isToken(idToken) ? { idToken } : {}),
  };
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= TOKEN_CHARACTERS_MAX;
}

/** Our client is not what the provider thinks it is. */
const MISCONFIGURED = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_request',
  'invalid_scope',
  'unsupported_grant_type',
  'unsupported_response_type',
]);

/** What an error of openid-client means; anything else is a mistake of ours and stays as it is. */
export async function refusalOf(error: unknown): Promise<unknown> {
  const {
    AuthorizationResponseError,
    ClientError: OpenidClientError,
    ResponseBodyError,
    WWWAuthenticateChallengeError,
  } = await loadOpenidClient();
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const { error: code } = error;
    // What the token endpoint says of an error. What a browser brings may be anybody's words.
    const isOfEndpoint = error instanceof ResponseBodyError;
    const said = { said: isOfEndpoint ? (error.error_description ?? null) : null };
    if (error instanceof ResponseBodyError && error.status >= 500)
      return new ProviderRefusal(
        'provider_failing',
        `status ${error.status} ${wordOf(code)}`,
        said,
      );
    if (code === 'temporarily_unavailable' || code === 'server_error')
      return new ProviderRefusal('provider_failing', wordOf(code), said);
    const reason = MISCONFIGURED.has(code) ? 'provider_misconfigured' : 'provider_refused';
    // What is said of a person stays with the provider.
    return new ProviderRefusal(reason, wordOf(code), MISCONFIGURED.has(code) ? said : {});
  }
  if (error instanceof WWWAuthenticateChallengeError)
    return new ProviderRefusal('provider_misconfigured', `status ${error.status}`);
  if (error instanceof OpenidClientError) return clientRefusal(error);
  if (isNetworkError(error)) return new ProviderRefusal('provider_unreachable', 'network');
  return error;
}

function clientRefusal(error: ClientError): ProviderRefusal {
  const { code, cause } = error;
  if (code === 'OAUTH_TIMEOUT') return new ProviderRefusal('provider_unreachable', 'time-out');
  if (cause instanceof Response) {
    const detail = `status ${cause.status}`;
    if (cause.status >= 500) return new ProviderRefusal('provider_failing', detail);
    return new ProviderRefusal('answer_invalid', detail);
  }
  if (isNetworkError(cause) || cause instanceof DocumentError)
    return new ProviderRefusal('provider_unreachable', 'network');
  return new ProviderRefusal('answer_invalid', checkOf(error));
}

/** Algorithms that may stand in the log; any other word may be the provider's own. */
const ALGORITHM = /^(none|[HPRE]S(256|384|512)|EdDSA|Ed25519|Ed448|ES256K)$/;

/** What the library found wrong: the signature, the algorithm, a claim; else its code. */
function checkOf({ code, cause }: ClientError): string {
  const { message, cause: inner } = (cause ?? {}) as { message?: unknown; cause?: unknown };
  const said = typeof message === 'string' ? message : '';
  const { claim, header } = (inner ?? {}) as { claim?: unknown; header?: { alg?: unknown } };
  if (said === 'JWT signature verification failed') return 'signature';
  if (said === 'unexpected JWT "alg" header parameter') {
    const name = String(header?.alg);
    return `algorithm ${ALGORITHM.test(name) ? name : 'unknown'}`;
  }
  if (said.includes('no applicable keys found')) return 'no such key';
  return [code ?? 'unknown', ...(typeof claim === 'string' ? [wordOf(claim)] : [])].join(' ');
}

/** How fetch fails when it gets no whole answer; mistakes of ours have no cause. */
function isNetworkError(error: unknown): boolean {
  return error instanceof TypeError && error.cause !== undefined;
}

/** A code of OAuth; what does not look like one stays out of the log. */
function wordOf(code: string): string {
  return /^[a-z_]{1,40}$/.test(code) ? code : 'unknown';
}
