// How our client shows its secret to the token endpoint of an OpenID provider: in a header or in
// the body (OpenID Connect Core, section 9). Discovery says which methods a provider has, not for
// which of them our client is registered. So if the entry names no method and the provider refuses
// the client, the other method is tried once, and the method that worked is remembered.
// docs/api.md#provider-entries.

import { createHash } from 'node:crypto';
import type { ClientAuth } from 'openid-client';
import { type OpenidConnectProvider, openidProviderFields } from '../../../models/index.ts';
import type { DiscoveryDocument } from '../discovery.ts';

/** Loads openid-client at its first use; most gateways have no OpenID provider. */
export const loadOpenidClient = async () => import('openid-client');

/** The methods that an entry can name. */
export const AUTH_METHODS = openidProviderFields.token_endpoint_auth_method.api.words;

/** A method that an entry can name. */
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** What shows a secret by a method. */
export async function authentication(method: AuthMethod, secret: string): Promise<ClientAuth> {
  const { ClientSecretBasic, ClientSecretPost } = await loadOpenidClient();
  const authentications = {
    client_secret_basic: ClientSecretBasic,
    client_secret_post: ClientSecretPost,
  } satisfies Record<AuthMethod, unknown>;
  return authentications[method](secret);
}

/** How long only one method is tried after both failed: each try may count as a wrong secret. */
const ALONE_MS = 10 * 60_000;
/** Entries that are remembered. */
const REMEMBERED_MAX = 100;
/** Characters of what a provider says that are kept. */
const DESCRIPTION_MAX = 300;

/** An answer of the token endpoint. */
export interface TokenAnswer {
  readonly status: number;
  /** The body, if it is JSON. */
  readonly json: unknown;
}

/** What is asked for, and how. */
interface Asked<Answer> {
  readonly provider: OpenidConnectProvider;
  readonly document: DiscoveryDocument;
  readonly nowMs: number;
  readonly attempt: (method: AuthMethod) => Promise<Answer>;
}

/** An answer, by which method it was given, and what was refused by the other one before. */
export interface Answered<Answer> {
  readonly method: AuthMethod;
  readonly answer: Answer;
  /** Where both were refused: the answer to the second one. */
  readonly other: Answer | null;
}

/** Which methods worked, by entry, client, secret and endpoint. */
export class KnownMethods {
  readonly #known = new Map<string, { method: AuthMethod; aloneUntilMs: number }>();

  /** Asks by the method that the entry names, else by the one that works. */
  async ask<Answer extends TokenAnswer>({
    provider,
    document,
    nowMs,
    attempt,
  }: Asked<Answer>): Promise<Answered<Answer>> {
    const named = provider.token_endpoint_auth_method;
    if (named !== undefined) return { method: named, answer: await attempt(named), other: null };
    const key = keyOf(provider, document);
    const known = this.#known.get(key);
    const method = known?.method ?? likelyMethod(document);
    const answer = await attempt(method);
    if (isTaken(answer)) this.#remember(key, method, 0);
    const isAlone = known !== undefined && nowMs < known.aloneUntilMs;
    if (!isClientRefused(answer) || isAlone) return { method, answer, other: null };
    const second = otherMethod(method);
    const other = await attempt(second);
    if (isClientRefused(other)) {
      this.#remember(key, method, nowMs + ALONE_MS);
      return { method, answer, other };
    }
    if (isTaken(other)) this.#remember(key, second, 0);
    return { method: second, answer: other, other: null };
  }

  #remember(key: string, method: AuthMethod, aloneUntilMs: number): void {
    if (this.#known.size >= REMEMBERED_MAX && !this.#known.has(key)) this.#known.clear();
    this.#known.set(key, { method, aloneUntilMs });
  }
}

/** The method that is not the given one. */
export function otherMethod(method: AuthMethod): AuthMethod {
  return method === 'client_secret_basic' ? 'client_secret_post' : 'client_secret_basic';
}

/** Which of the methods a provider offers; both where it does not say. */
export function offeredMethods(document: Readonly<Record<string, unknown>>): AuthMethod[] {
  const named: unknown = document['token_endpoint_auth_methods_supported'];
  return AUTH_METHODS.filter((method) => !Array.isArray(named) || named.includes(method));
}

/** The code of OAuth in an answer. */
export function errorOf({ json }: Pick<TokenAnswer, 'json'>): string | null {
  const { error } = (json ?? {}) as { error?: unknown };
  return typeof error === 'string' && error !== '' ? error : null;
}

/**
 * What a provider says of an error, to be read by administrators: one line, without what we sent,
 * for some providers quote it.
 */
export function descriptionOf({ json }: TokenAnswer, sent: readonly string[]): string | null {
  const { error_description: said } = (json ?? {}) as { error_description?: unknown };
  if (typeof said !== 'string') return null;
  const shown = sent
    .filter((text) => text !== '')
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, secret) => text.replaceAll(secret, '…'), said)
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
  const characters = Array.from(shown);
  if (characters.length === 0) return null;
  return characters.length <= DESCRIPTION_MAX
    ? shown
    : `${characters.slice(0, DESCRIPTION_MAX).join('')}…`;
}

/** Whether the provider did not take the client; an answer to the code or the token is another. */
export function isClientRefused(answer: TokenAnswer): boolean {
  const error = errorOf(answer);
  if (answer.status < 400 || answer.status >= 500) return false;
  return error === 'invalid_client' || (answer.status === 401 && error !== 'invalid_grant');
}

/** Whether an answer shows that the method is right. */
function isTaken(answer: TokenAnswer): boolean {
  return answer.status === 200 || (!isClientRefused(answer) && errorOf(answer) === 'invalid_grant');
}

/** In the body where the provider offers it, else in the header (Discovery, section 3). */
function likelyMethod(document: DiscoveryDocument): AuthMethod {
  const named: unknown = document['token_endpoint_auth_methods_supported'];
  const isInBody = Array.isArray(named) && named.includes('client_secret_post');
  return isInBody ? 'client_secret_post' : 'client_secret_basic';
}

function keyOf(
  { id, client_id, client_secret }: OpenidConnectProvider,
  { token_endpoint }: DiscoveryDocument,
): string {
  const text = JSON.stringify([id, client_id, client_secret, token_endpoint]);
  return createHash('sha256').update(text).digest('hex');
}
