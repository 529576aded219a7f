// Our side of one OpenID provider, made of its entry and of its discovery document, as
// openid-client takes it. Nothing is asked for before somebody signs in, so a provider that is
// away never holds up the start; what was learned serves for ten minutes. Requests are bounded in
// time and size. docs/api.md#provider-entries.

import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  clockTolerance,
  Configuration,
  type CustomFetch,
  customFetch,
  enableNonRepudiationChecks,
  getJwksCache,
  type ServerMetadata,
  setJwksCache,
} from 'openid-client';
import type { OpenidConnectProvider } from '../../../models/index.ts';
import { type DiscoveryDocument, fetchDiscoveryDocument } from '../discovery.ts';
import { DOCUMENT_LIMITS, DocumentError, type DocumentLimits, readText } from '../documents.ts';
import { ProviderRefusal } from '../identity/refusal.ts';

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
  /** Null where the provider has none. */
  readonly endSessionEndpoint: string | null;
}

/** What a client is made of beside the provider's entry. */
export interface OidcClientOptions {
  /**
   * Sees each answer of the token endpoint before anything judges it: a refresh token that was
   * rotated must not be lost because something else in the answer is bad.
   */
  readonly onTokens?: (answer: unknown) => void;
}

/** The providers that this process talked to. */
export class OidcClients {
  readonly #limits: DocumentLimits;
  readonly #documents = new Map<string, { until: number; document: Promise<DiscoveryDocument> }>();
  /** Keys of providers, which openid-client refetches when it meets an unknown one. */
  readonly #keys = new Map<string, Parameters<typeof setJwksCache>[1]>();

  constructor(limits: DocumentLimits = DOCUMENT_LIMITS) {
    this.#limits = limits;
  }

  /** Throws ProviderRefusal when the provider cannot be reached or describes itself badly. */
  async of(provider: OpenidConnectProvider, options: OidcClientOptions = {}): Promise<OidcClient> {
    const document = await this.#documentOf(provider.discovery_document_uri);
    const endpoint = document['token_endpoint'];
    const configuration = new Configuration(
      serverMetadata(document),
      provider.client_id,
      { client_secret: provider.client_secret, [clockTolerance]: CLOCK_TOLERANCE_S },
      clientAuthentication(document, provider.client_secret),
    );
    // http is allowed: providers live on private networks (docs/api.md#provider-entries).
    // oxlint-disable-next-line typescript/no-deprecated
    allowInsecureRequests(configuration);
    // Always, because of http: without it openid-client relies on TLS in place of the signature.
    enableNonRepudiationChecks(configuration);
    configuration.timeout = this.#limits.timeoutMs / 1_000;
    configuration[customFetch] = boundedFetch(this.#limits, (url, answer) => {
      if (url === endpoint) options.onTokens?.(answer);
    });
    const keys = this.#keys.get(document.jwks_uri);
    if (keys !== undefined) setJwksCache(configuration, keys);
    const endSession = document['end_session_endpoint'];
    return {
      configuration,
      issuer: document.issuer,
      endSessionEndpoint:
        typeof endSession === 'string' && /^https?:/i.test(endSession) && URL.canParse(endSession)
          ? endSession
          : null,
    };
  }

  /** Remembers the keys that a client fetched, for the next client of the same provider. */
  keep({ configuration }: OidcClient): void {
    const address = configuration.serverMetadata().jwks_uri;
    const keys = getJwksCache(configuration);
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

/** The secret goes in the body where the provider takes it there, else in the header. */
function clientAuthentication(document: DiscoveryDocument, secret: string) {
  const named: unknown = document['token_endpoint_auth_methods_supported'];
  // Where nothing is said it is the header (OpenID Connect Discovery, section 3).
  const isInBody = Array.isArray(named) && named.includes('client_secret_post');
  return isInBody ? ClientSecretPost(secret) : ClientSecretBasic(secret);
}

/** Fetches with a bound on the body; redirects are not followed, secrets go along. */
function boundedFetch(
  { bytesMax }: DocumentLimits,
  onJson: (url: string, answer: unknown) => void,
): CustomFetch {
  return async (url, options) => {
    const response = await fetch(url, { ...options, redirect: 'manual' } as RequestInit);
    const text = await readText(response, bytesMax);
    onJson(url, parsed(text));
    const { status, statusText, headers } = response;
    const isBodiless = [101, 204, 205, 304].includes(status);
    const bounded = new Response(isBodiless ? null : text, { status, statusText, headers });
    return bounded;
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
