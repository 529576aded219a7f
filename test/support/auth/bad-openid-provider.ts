// An OpenID provider that says whatever a test wants: a good one by default, of which the test bends
// one thing at a time. Keys are made once; codes, tokens and what was asked are remembered.

import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionContext } from 'ava';
import { openProvider } from './identity-provider.ts';

/** The client that the provider knows. */
export const CLIENT = { id: 'postern', secret: 'the-client-secret' };

const key = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Another key than the provider publishes. */
export const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

/** What a test bends. */
export interface Bent {
  /** Added to the claims of the next ID token, or taken from them with undefined. */
  claims: Record<string, unknown>;
  header: Record<string, unknown>;
  signingKey: KeyObject;
  /** Turns the good token response into another, or into the promise of one. */
  tokens: (good: Record<string, unknown>) => unknown;
  /** The only method by which the token endpoint takes the client; null: any. */
  takes: 'client_secret_basic' | 'client_secret_post' | null;
  /** Whether it challenges a client that it does not take (RFC 6749, section 5.2). */
  challenges: boolean;
  /** Answers the token endpoint in place of everything else. */
  answer: ((response: ServerResponse, request: IncomingMessage) => void) | null;
  /** Added to the discovery document. */
  document: Record<string, unknown>;
  /** Answers of the userinfo endpoint; null: it is away. */
  userinfo: Record<string, unknown> | null;
}

/** A provider under a test's control. */
export interface BadProvider {
  origin: string;
  discoveryUri: string;
  bent: Bent;
  /** Bodies that the token endpoint got, with the Authorization header. */
  asked: (Record<string, string> & { authorization?: string })[];
  /** Paths that were asked for. */
  paths: string[];
  /** Plays the person at the provider: returns the query with which the browser comes back. */
  authorize: (address: string) => URLSearchParams;
  /** A token as the provider would sign it. */
  sign: (claims: Record<string, unknown>) => string;
}

/** Starts one; it ends with the test. */
export async function openBadProvider(t: ExecutionContext): Promise<BadProvider> {
  const bent: Bent = {
    claims: {},
    header: {},
    signingKey: key.privateKey,
    tokens: (good) => good,
    takes: null,
    challenges: true,
    answer: null,
    document: {},
    userinfo: {},
  };
  const asked: BadProvider['asked'] = [];
  const paths: string[] = [];
  let nonce = '';
  const { origin } = await openProvider(t, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    paths.push(pathname);
    if (pathname === '/.well-known/openid-configuration') json(response, document());
    else if (pathname === '/keys') json(response, { keys: [publicKey()] });
    else if (pathname === '/userinfo' && bent.userinfo !== null) json(response, bent.userinfo);
    else if (pathname === '/userinfo') response.writeHead(503).end();
    else if (pathname === '/end') response.writeHead(302, { location: '/' }).end();
    else if (pathname === '/token') void answerTokens(request, response);
    else response.writeHead(404).end();
  });
  const document = () => ({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    jwks_uri: `${origin}/keys`,
    userinfo_endpoint: `${origin}/userinfo`,
    end_session_endpoint: `${origin}/end`,
    id_token_signing_alg_values_supported: ['RS256', 'none', 'HS256'],
    ...bent.document,
  });
  const sign = (claims: Record<string, unknown>): string =>
    jwt({ alg: 'RS256', kid: 'k', ...bent.header }, claims, bent.signingKey);
  const answerTokens = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
    const { authorization } = request.headers;
    asked.push({ ...body, ...(authorization === undefined ? {} : { authorization }) });
    if (bent.answer !== null) return bent.answer(response, request);
    const way = authorization === undefined ? 'client_secret_post' : 'client_secret_basic';
    if (bent.takes !== null && (way !== bent.takes || !isSecretGood(body, authorization)))
      return refuseClient(response, way);
    const seconds = Math.floor(Date.now() / 1_000);
    const claims = {
      iss: origin,
      aud: CLIENT.id,
      sub: 'subject-1',
      iat: seconds,
      exp: seconds + 300,
      nonce,
      email: 'person@example.com',
      email_verified: true,
      ...bent.claims,
    };
    const good = {
      access_token: 'the-access-token',
      token_type: 'Bearer',
      refresh_token: `refresh-${asked.length}`,
      id_token: sign(claims),
    };
    json(response, await bent.tokens(good));
  };
  const refuseClient = (response: ServerResponse, way: string): void => {
    const challenge = bent.challenges ? { 'www-authenticate': 'Basic realm="token"' } : {};
    response.writeHead(401, { 'content-type': 'application/json', ...challenge });
    const error_description = way === bent.takes ? 'secret mismatch' : `${way} is not allowed`;
    response.end(JSON.stringify({ error: 'invalid_client', error_description }));
  };
  const authorize = (address: string): URLSearchParams => {
    const { searchParams } = new URL(address);
    nonce = searchParams.get('nonce') ?? '';
    return new URLSearchParams({ code: 'the-code', state: searchParams.get('state') ?? '' });
  };
  const discoveryUri = `${origin}/.well-known/openid-configuration`;
  return { origin, discoveryUri, bent, asked, paths, authorize, sign };
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function isSecretGood(body: Record<string, string>, authorization = ''): boolean {
  const basic = Buffer.from(authorization.split(' ')[1] ?? '', 'base64').toString();
  const secret = decodeURIComponent(basic.split(':')[1] ?? '') || body['client_secret'];
  return secret === CLIENT.secret;
}

function publicKey(): object {
  return { ...key.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' };
}

function jwt(header: Record<string, unknown>, claims: object, signingKey: KeyObject): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part(header)}.${part(claims)}`;
  if (header['alg'] === 'none') return `${text}.`;
  return `${text}.${createSign('sha256').update(text).sign(signingKey).toString('base64url')}`;
}
