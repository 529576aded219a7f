// A sign-in through an OpenID provider, in two steps: `beginOidc` says where the browser goes,
// `finishOidc` judges what it brings back. The checks, in their order: state (known, unused, in
// time, of this provider) → browser → code for tokens, with the PKCE verifier → signature, issuer,
// audience, nonce, expiry of the ID token (openid-client) → claims. api.md, section 8.

import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientError,
  fetchUserInfo,
  type IDToken,
  randomPKCECodeVerifier,
  ResponseBodyError,
  type UserInfoResponse,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import type { Database, OpenidConnectProvider, ProviderTokens } from '../../../models/index.ts';
import { DiscoveryError } from '../discovery.ts';
import type { ProvenAccount } from '../identity/provision.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { type Beginner, keepRequest, newState, takeRequest } from '../identity/request.ts';
import type { OidcClient, OidcClients } from './client.ts';

/** Longest subject that is taken; OpenID Connect Core, section 2, allows 255. */
const SUBJECT_CHARACTERS_MAX = 255;
/** Longer tokens are not kept: the column holds 64 KiB. */
const TOKEN_CHARACTERS_MAX = 16_384;

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
  readonly account: ProvenAccount;
  readonly tokens: ProviderTokens;
  /** When the person signed in at the provider, where it says so. */
  readonly since: Date | undefined;
  /** The page that was asked for before. */
  readonly returnTo: string | null;
}

/** The address that a provider knows of us. */
export function redirectUriOf(provider: OpenidConnectProvider, externalUrl: string): string {
  const { id, redirect_uri } = provider;
  return redirect_uri ?? `${externalUrl}auth/oidc/${encodeURIComponent(id)}/callback/`;
}

/** Begins a sign-in; returns the address at the provider. */
export async function beginOidc(context: OidcContext, beginner: Beginner): Promise<string> {
  const { database, clients, provider, redirectUri } = context;
  const { configuration } = await clients.of(provider);
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
    // Who is signed in already proves themselves again, as SAML's ForceAuthn asks for.
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
): Promise<OidcProof> {
  const { database, clients, provider, redirectUri } = context;
  const state = query.get('state');
  const request = await takeRequest(database, {
    state,
    kind: 'oidc',
    providerId: provider.id,
    browserSha256,
  });
  const { nonce, verifier } = request.secrets;
  if (state === null || nonce === undefined || verifier === undefined)
    throw new ProviderRefusal('request_unknown');
  const client = await clients.of(provider);
  const address = new URL(redirectUri);
  address.search = query.toString();
  try {
    const answer = await authorizationCodeGrant(client.configuration, address, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
    });
    const idClaims = answer.claims();
    if (idClaims === undefined) throw new ProviderRefusal('answer_invalid', 'no ID token');
    const claims = await withEmail(client, idClaims, answer.access_token);
    return {
      account: accountOf(provider.id, idClaims, claims),
      tokens: tokensOf(answer.refresh_token, answer.id_token),
      since: timeOf(idClaims.auth_time),
      returnTo: request.secrets.returnTo ?? null,
    };
  } catch (error) {
    throw refusalOf(error);
  } finally {
    clients.keep(client);
  }
}

/** Providers may tell the e-mail in the ID token, or only when they are asked for it. */
async function withEmail(
  client: OidcClient,
  claims: IDToken,
  accessToken: string,
): Promise<IDToken | UserInfoResponse> {
  if (claims['email'] !== undefined) return claims;
  if (client.configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  return fetchUserInfo(client.configuration, accessToken, claims.sub);
}

function accountOf(
  providerId: string,
  { iss, sub }: IDToken,
  claims: IDToken | UserInfoResponse,
): ProvenAccount {
  if (sub.length === 0 || sub.length > SUBJECT_CHARACTERS_MAX)
    throw new ProviderRefusal('answer_invalid', 'subject');
  const { email, email_verified: verified } = claims as Record<string, unknown>;
  return {
    kind: 'oidc',
    provider_id: providerId,
    issuer: iss,
    subject: sub,
    email: typeof email === 'string' ? email : null,
    isEmailVerified: verdictOf(verified),
    isBindable: true,
  };
}

/** Some providers write booleans as text; what cannot be read is as good as false. */
function verdictOf(verified: unknown): boolean | null {
  if (verified === undefined || verified === null) return null;
  return verified === true || verified === 'true';
}

/** A time of a claim; undefined for what is none, or lies ahead. */
function timeOf(seconds: unknown): Date | undefined {
  if (typeof seconds !== 'number' || !(seconds >= 0)) return undefined;
  const ms = seconds * 1_000;
  return ms <= Date.now() ? new Date(ms) : undefined;
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
export function refusalOf(error: unknown): unknown {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const { error: code } = error;
    const status = error instanceof ResponseBodyError ? error.status : 400;
    const isAway = status >= 500 || code === 'temporarily_unavailable' || code === 'server_error';
    if (isAway) return new ProviderRefusal('provider_unreachable', wordOf(code));
    const reason = MISCONFIGURED.has(code) ? 'provider_misconfigured' : 'provider_refused';
    return new ProviderRefusal(reason, wordOf(code));
  }
  if (error instanceof WWWAuthenticateChallengeError)
    return new ProviderRefusal('provider_misconfigured', `status ${error.status}`);
  if (error instanceof ClientError) return clientRefusal(error);
  if (isNetworkFault(error)) return new ProviderRefusal('provider_unreachable', 'network');
  return error;
}

function clientRefusal(error: ClientError): ProviderRefusal {
  const { code, cause } = error;
  if (code === 'OAUTH_TIMEOUT') return new ProviderRefusal('provider_unreachable', 'time-out');
  if (cause instanceof Response) {
    const detail = `status ${cause.status}`;
    if (cause.status >= 500) return new ProviderRefusal('provider_unreachable', detail);
    return new ProviderRefusal('answer_invalid', detail);
  }
  if (isNetworkFault(cause) || cause instanceof DiscoveryError)
    return new ProviderRefusal('provider_unreachable', 'network');
  // The message of the library names the check that failed and quotes nothing.
  return new ProviderRefusal('answer_invalid', checkOf(error));
}

/** The claim that disagrees, where the library says so; else its code. */
function checkOf({ code, cause }: ClientError): string {
  const inner = (cause as { cause?: unknown } | undefined)?.cause;
  const claim = (inner as { claim?: unknown } | undefined)?.claim;
  return [code ?? 'unknown', ...(typeof claim === 'string' ? [wordOf(claim)] : [])].join(' ');
}

/** How fetch fails when it gets no whole answer; mistakes of ours have no cause. */
function isNetworkFault(error: unknown): boolean {
  return error instanceof TypeError && error.cause !== undefined;
}

/** A code of OAuth; what does not look like one stays out of the log. */
function wordOf(code: string): string {
  return /^[a-z_]{1,40}$/.test(code) ? code : 'unknown';
}
