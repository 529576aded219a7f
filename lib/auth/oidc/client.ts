// Our side of one OpenID provider, made of its entry and of its discovery document, as
// openid-client takes it. Nothing is asked for before somebody signs in, so a provider that is away
// never delays the start; the discovery document is used for ten minutes. Requests are limited in
// time and size. docs/api.md#provider-entries.

import type {
  ClientMetadata,
  Configuration,
  CustomFetchOptions,
  ExportedJWKSCache,
  ServerMetadata,
} from 'openid-client';
import type { OpenidConnectProvider } from '../../../models/index.ts';
import { type DiscoveryDocument, fetchDiscoveryDocument } from '../discovery.ts';
import { DOCUMENT_LIMITS, DocumentError, type DocumentLimits, readText } from '../documents.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import {
  type Answered,
  type AuthMethod,
  authentication,
  descriptionOf,
  errorOf,
  isClientRefused,
  KnownMethods,
  loadOpenidClient,
  otherMethod,
  type TokenAnswer,
} from './client-authentication.ts';

/** How long a discovery document serves before it is fetched again. */
const DOCUMENT_MS = 10 * 60_000;
/** Documents that are remembered. */
const DOCUMENTS_MAX = 100;
/** Seconds by which a provider's clock may differ from ours. */
export const CLOCK_TOLERANCE_S = 60;

/**
 * Signatures that are accepted: those with a key pair. `none` proves nothing, and whoever knows the
 * client's secret could make an HMAC.
 */
const SIGNATURES = new Set(
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' '),
);

/** A provider that can be talked to. */
export interface OidcClient {
  readonly configuration: Configuration;
  readonly issuer: string;
  /** The keys of the provider that were fetched so far. */
  readonly keys: () => ExportedJWKSCache | undefined;
  /** Null where the provider has none. */
  readonly endSessionEndpoint: string | null;
  /** By which method the token endpoint was asked last; null: not yet. */
  readonly askedBy: () => AuthMethod | null;
}

/** What a client is made of beside the provider's entry. */
export interface OidcClientOptions {
  /**
   * Sees each answer of the token endpoint before anything checks it: a refresh token that was
   * rotated must not be lost because something else in the answer is bad.
   */
  readonly onTokens?: (answer: unknown) => void;
}

/** The providers that this process talked to. */
export class OidcClients {
  readonly #limits: DocumentLimits;
  readonly #documents = new Map<string, { until: number; document: Promise<DiscoveryDocument> }>();
  /** Keys of providers, which openid-client refetches when it meets an unknown one. */
  readonly #keys = new Map<string, ExportedJWKSCache>();

  readonly #methods = new KnownMethods();
  readonly #nowMs: () => number;

  constructor(limits: DocumentLimits = DOCUMENT_LIMITS, nowMs = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Throws ProviderRefusal when the provider cannot be reached or describes itself badly. */
  async of(provider: OpenidConnectProvider, options: OidcClientOptions = {}): Promise<OidcClient> {
    const document = await this.#documentOf(provider.discovery_document_uri);
    const endpoint = new URL(document.token_endpoint).href;
    const { client_id, client_secret } = provider;
    const library = await loadOpenidClient();
    const { Configuration, getJwksCache } = library;
    const configuration = new Configuration(
      serverMetadata(document),
      client_id,
      { client_secret, [library.clockTolerance]: CLOCK_TOLERANCE_S },
      // The fetch shows the secret: it knows by which method.
      () => undefined,
    );
    // http is allowed: providers live on private networks (docs/api.md#provider-entries).
    // oxlint-disable-next-line typescript/no-deprecated
    library.allowInsecureRequests(configuration);
    // Always, because of http: without it openid-client relies on TLS in place of the signature.
    library.enableNonRepudiationChecks(configuration);
    configuration.timeout = this.#limits.timeoutMs / 1_000;
    let askedBy: AuthMethod | null = null;
    const askTokens = async (url: string, request: CustomFetchOptions): Promise<Response> => {
      const sent = [client_secret, encodeURIComponent(client_secret)];
      let isFirst = true;
      const attempt = async (method: AuthMethod): Promise<Bounded> => {
        // Each attempt has the whole time, and nothing of another one.
        const signal = isFirst ? request.signal : AbortSignal.timeout(this.#limits.timeoutMs);
        isFirst = false;
        const body = new URLSearchParams(request.body as URLSearchParams);
        const headers = new Headers(request.headers);
        const authenticate = await authentication(method, client_secret);
        authenticate(
          configuration.serverMetadata(),
          configuration.clientMetadata() as ClientMetadata,
          body,
          headers,
        );
        sent.push(...SECRETS.map((name) => body.get(name) ?? ''));
        sent.push(headers.get('authorization')?.split(' ')[1] ?? '');
        const answer = await boundedFetch(url, { ...request, body, headers, signal }, this.#limits);
        options.onTokens?.(answer.json);
        return answer;
      };
      const nowMs = this.#nowMs();
      const answered = await this.#methods.ask({ provider, document, nowMs, attempt });
      askedBy = answered.method;
      return answerFor(answered, sent);
    };
    configuration[library.customFetch] = async (url, request) =>
      url === endpoint
        ? askTokens(url, request)
        : responseOf(await boundedFetch(url, request, this.#limits));
    const keys = this.#keys.get(document.jwks_uri);
    if (keys !== undefined) library.setJwksCache(configuration, keys);
    const endSession = document['end_session_endpoint'];
    return {
      configuration,
      issuer: document.issuer,
      keys: () => getJwksCache(configuration),
      endSessionEndpoint:
        typeof endSession === 'string' && /^https?:/i.test(endSession) && URL.canParse(endSession)
          ? endSession
          : null,
      askedBy: () => askedBy,
    };
  }

  /** Remembers the keys that a client fetched, for the next client of the same provider. */
  keep({ configuration, keys: fetched }: OidcClient): void {
    const address = configuration.serverMetadata().jwks_uri;
    const keys = fetched();
    if (address === undefined || keys === undefined) return;
    if (this.#keys.size >= DOCUMENTS_MAX) this.#keys.clear();
    this.#keys.set(address, structuredClone(keys));
  }

  async #documentOf(address: string): Promise<DiscoveryDocument> {
    const known = this.#documents.get(address);
    const nowMs = performance.now();
    const document =
      known !== undefined && known.until > nowMs
        ? known.document
        : fetchDiscoveryDocument(address, this.#limits);
    if (document !== known?.document) {
      if (this.#documents.size >= DOCUMENTS_MAX) this.#documents.clear();
      this.#documents.set(address, { until: nowMs + DOCUMENT_MS, document });
    }
    try {
      return await document;
    } catch (cause) {
      // Asked for again by the next one.
      if (this.#documents.get(address)?.document === document) this.#documents.delete(address);
      if (!(cause instanceof DocumentError)) throw cause;
      throw new ProviderRefusal('provider_unreachable', cause.message, { cause });
    }
  }
}

/** The document without what must not be taken from it. */
function serverMetadata(document: DiscoveryDocument): ServerMetadata {
  const named: unknown = document['id_token_signing_alg_values_supported'];
  const signatures = Array.isArray(named)
    ? named.filter((name): name is string => SIGNATURES.has(name as string))
    : ['RS256'];
  if (signatures.length === 0)
    throw new ProviderRefusal('provider_misconfigured', 'no signature with a key pair');
  return {
    ...structuredClone(document),
    id_token_signing_alg_values_supported: signatures,
  } as ServerMetadata;
}

/** What we send to the token endpoint that nobody else must read. */
const SECRETS = ['code', 'code_verifier', 'refresh_token', 'client_assertion'];

/** An answer that was read as a whole. */
interface Bounded extends TokenAnswer {
  readonly response: Response;
  readonly text: string;
}

/** Fetches with a bound on the body; redirects are not followed, secrets go along. */
async function boundedFetch(
  url: string,
  request: object,
  { bytesMax }: DocumentLimits,
): Promise<Bounded> {
  const response = await fetch(url, { ...request, redirect: 'manual' } as RequestInit);
  const text = await readText(response, bytesMax);
  return { response, status: response.status, text, json: parsed(text) };
}

function responseOf({ response: { status, statusText, headers }, text }: Bounded): Response {
  const isBodiless = [101, 204, 205, 304].includes(status);
  return new Response(isBodiless ? null : text, { status, statusText, headers });
}

/**
 * The answer of the token endpoint as the library gets it. At a challenge the library reads no body
 * and at another type no error, so the error is made again, with the provider's text about it.
 */
function answerFor(
  { method, answer, other }: Answered<Bounded>,
  sent: readonly string[],
): Response {
  const code = errorOf(answer) ?? (isClientRefused(answer) ? 'invalid_client' : null);
  const { status } = answer;
  if (status < 400 || status >= 500 || code === null) return responseOf(answer);
  const said = descriptionOf(answer, sent);
  const saidToOther = other === null ? null : descriptionOf(other, sent);
  const by = otherMethod(method);
  const description =
    saidToOther === null || saidToOther === said
      ? said
      : [said === null ? null : `${method}: ${said}`, `${by}: ${saidToOther}`]
          .filter((text) => text !== null)
          .join('; ');
  const body = { error: code, ...(description === null ? {} : { error_description: description }) };
  return Response.json(body, { status });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
