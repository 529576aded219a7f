// Tries an identity provider's entry without signing anybody in, for the administrator who just
// typed it. It fetches the provider's documents, checks everything that a sign-in needs, and says
// in sentences what is good, doubtful or bad. It changes nothing. From the provider's answers it
// quotes only the addresses of the provider's documents, and the error text of its token endpoint.

import { X509Certificate } from 'node:crypto';
import type { OpenidConnectProvider, SamlIdentityProvider } from '../../../models/index.ts';
import { DOCUMENT_LIMITS, type DocumentLimits, readText } from '../documents.ts';
import { claimsAsked } from '../oidc/claims.ts';
import {
  AUTH_METHODS,
  type AuthMethod,
  loadOpenidClient,
  offeredMethods,
  otherMethod,
} from '../oidc/client-authentication.ts';
import { type OidcClient, OidcClients } from '../oidc/client.ts';
import { redirectUriOf, refusalOf } from '../oidc/sign-in.ts';
import { fetchMetadata, MetadataFetchError } from '../saml/fetch-metadata.ts';
import { metadataDoubts } from '../saml/metadata-findings.ts';
import { parseMetadata } from '../saml/provider-metadata.ts';
import { type SamlMetadata, SamlMetadataError } from '../saml-metadata.ts';
import { addressesOf, bindingOf } from '../saml/service-provider.ts';
import { bad, doubtful, type Finding, good } from './finding.ts';
import { ProviderRefusal } from './refusal.ts';

/** A certificate that expires sooner is doubtful. */
const EXPIRY_WARNING_MS = 30 * 86_400_000;
const RSA_BITS_MIN = 2_048;

/**
 * Tries an OpenID provider: its discovery document, its keys, and whether it knows our client. A
 * code that the provider never gave shows whether it knows the client. `externalUrl` is the
 * setting. The promise never rejects.
 */
export async function tryOidcProvider(
  provider: OpenidConnectProvider,
  externalUrl: string,
  limits: DocumentLimits = DOCUMENT_LIMITS,
): Promise<Finding[]> {
  const redirectUri = redirectUriOf(provider, externalUrl);
  const ours = good(`The provider must allow this redirect address: ${redirectUri}`);
  try {
    const clients = new OidcClients(limits);
    const client = await clients.of(provider);
    const said = client.configuration.serverMetadata();
    return [
      good('The discovery document is there and complete.'),
      ...checkAbilities(said),
      ...checkOffline(provider, said),
      await checkKeys(said.jwks_uri ?? '', limits),
      await checkClient(provider, clients, redirectUri),
      ...checkClaims(provider, said),
      await checkSignOut(client, provider.client_id, externalUrl, limits),
      ours,
    ];
  } catch (error) {
    if (error instanceof ProviderRefusal) return [bad(sentence(error)), ours];
    return [bad(`The provider's entry cannot be used: ${(error as Error).name}.`), ours];
  }
}

/** Checks what the document says that the provider can do; it need not mention everything. */
function checkAbilities(said: Readonly<Record<string, unknown>>): Finding[] {
  const lacks = (member: string, value: string): boolean => {
    const list = said[member];
    return Array.isArray(list) && !list.includes(value);
  };
  return [
    ...(lacks('response_types_supported', 'code')
      ? [bad('The provider does not offer the authorization code flow.')]
      : []),
    ...(lacks('code_challenge_methods_supported', 'S256')
      ? [doubtful('The provider does not mention PKCE with S256; it must not refuse it.')]
      : []),
    ...['openid', 'email']
      .filter((scope) => lacks('scopes_supported', scope))
      .map((scope) => doubtful(`The provider does not mention the scope ${scope}.`)),
    ...(lacks('grant_types_supported', 'refresh_token')
      ? [doubtful('The provider gives no refresh tokens: accounts that it closes are not noticed.')]
      : []),
    ...(String(said['token_endpoint']).startsWith('https:')
      ? []
      : [doubtful('The provider is asked over http: anybody on the way can read the secrets.')]),
  ];
}

/** Many providers give a refresh token only if the scope asks for offline access. */
function checkOffline(
  { scope }: OpenidConnectProvider,
  said: Readonly<Record<string, unknown>>,
): Finding[] {
  const scopes: unknown = said['scopes_supported'];
  const isAsked = scope.split(/\s+/).includes('offline_access');
  if (isAsked || !Array.isArray(scopes) || !scopes.includes('offline_access')) return [];
  return [
    doubtful(
      'The scope lacks offline_access, which the provider offers: without it there may be no refresh token, and accounts that it closes are not noticed.',
    ),
  ];
}

/** Whether the provider mentions the claims that the entry needs; many providers mention none. */
function checkClaims(
  provider: OpenidConnectProvider,
  said: Readonly<Record<string, unknown>>,
): Finding[] {
  const mentioned: unknown = said['claims_supported'];
  if (!Array.isArray(mentioned)) return [];
  // A provider mentions the object into which dots lead, not what is inside.
  const isMentioned = (name: string): boolean =>
    mentioned.includes(name) || mentioned.includes(name.split('.')[0]);
  return claimsAsked(provider).map((name) =>
    isMentioned(name)
      ? good(`The provider mentions the claim ${name}.`)
      : doubtful(`The provider does not mention the claim ${name}; without it nobody can sign in.`),
  );
}

/** Tries a sign-out of nobody: a provider that does not allow our address answers with an error. */
async function checkSignOut(
  { endSessionEndpoint }: OidcClient,
  clientId: string,
  externalUrl: string,
  { timeoutMs }: DocumentLimits,
): Promise<Finding> {
  if (endSessionEndpoint === null)
    return doubtful(
      'The provider has no end-session endpoint: signing out here leaves its session.',
    );
  const address = new URL(endSessionEndpoint);
  address.searchParams.set('client_id', clientId);
  address.searchParams.set('post_logout_redirect_uri', externalUrl);
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const { status, body } = await fetch(address, { signal, redirect: 'manual' });
    await body?.cancel();
    return status < 400
      ? good(`Signing out here signs out at the provider too; it leads back to ${externalUrl}`)
      : doubtful(
          `The provider answered a sign-out with status ${status}: it must allow this post-logout address: ${externalUrl}`,
        );
  } catch {
    return doubtful('The end-session endpoint cannot be reached: signing out may end on an error.');
  }
}

async function checkKeys(address: string, { timeoutMs, bytesMax }: DocumentLimits) {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) });
    const { keys } = JSON.parse(await readText(response, bytesMax)) as { keys?: unknown };
    const isThere = Array.isArray(keys) && keys.some(isSigningKey);
    return isThere ? good('Its signing keys are there.') : bad('It publishes no signing key.');
  } catch {
    return bad('Its signing keys (jwks_uri) cannot be fetched.');
  }
}

function isSigningKey(key: unknown): boolean {
  const { kty, use } = (key ?? {}) as { kty?: unknown; use?: unknown };
  return ['RSA', 'EC', 'OKP'].includes(String(kty)) && (use === undefined || use === 'sig');
}

/** The provider must refuse the code; the question is whether it refuses the client first. */
async function checkClient(
  provider: OpenidConnectProvider,
  clients: OidcClients,
  redirectUri: string,
): Promise<Finding> {
  const client = await clients.of(provider);
  const outcome = await askAsClient(client, redirectUri);
  if (outcome === 'code_taken') return bad('The provider accepts a code that it never gave.');
  const said = client.configuration.serverMetadata();
  if (outcome === 'known') return good(knownBy(client.askedBy(), said));
  const { code, detail, says } = outcome;
  if (code !== 'invalid_client')
    return doubtful(`It is not known whether the provider knows the client: ${detail}.${says}`);
  const { token_endpoint_auth_method: named } = provider;
  if (named !== undefined) {
    const other = otherMethod(named);
    const otherwise = await clients.of({ ...provider, token_endpoint_auth_method: other });
    if ((await askAsClient(otherwise, redirectUri)) === 'known')
      return bad(
        `The provider knows the client by ${other}, not by ${named}: name ${other} in token_endpoint_auth_method, or leave it out.${says}`,
      );
  }
  if (offeredMethods(said).length === 0)
    return bad(
      `The provider does not take the client, and offers neither ${AUTH_METHODS.join(' nor ')}: let it take the secret by one of them.${says}`,
    );
  return bad(`The provider does not know the client: look at client_id and client_secret.${says}`);
}

/** The answer to a code that was never given. */
type Outcome =
  | 'known'
  | 'code_taken'
  | { readonly code: string; readonly detail: string | null; readonly says: string };

async function askAsClient({ configuration }: OidcClient, redirectUri: string): Promise<Outcome> {
  const parameters = {
    code: 'a-code-that-was-never-given',
    redirect_uri: redirectUri,
    code_verifier: 'v'.repeat(43),
  };
  const { genericGrantRequest, ResponseBodyError } = await loadOpenidClient();
  try {
    await genericGrantRequest(configuration, 'authorization_code', parameters);
    return 'code_taken';
  } catch (error) {
    const code = error instanceof ResponseBodyError ? error.error : '';
    if (code === 'invalid_grant') return 'known';
    const refusal = await refusalOf(error);
    if (!(refusal instanceof ProviderRefusal)) throw error;
    const { detail, said } = refusal;
    return { code, detail, says: said === null ? '' : ` It says: “${said}”` };
  }
}

/** The provider need not offer by its document what it takes of this client. */
function knownBy(method: AuthMethod | null, said: Readonly<Record<string, unknown>>): string {
  const known = 'The provider knows the client.';
  if (method === null || offeredMethods(said).includes(method)) return known;
  return `${known} The provider takes the secret by ${method}, which its document does not offer.`;
}

/** Tries a SAML provider's entry: its metadata, fetched again, certificates and addresses. */
export async function trySamlProvider(
  provider: SamlIdentityProvider,
  now = new Date(),
  limits?: DocumentLimits,
): Promise<Finding[]> {
  const { consume, metadata: ours } = addressesOf(provider);
  const addresses = good(`The provider must know ${consume}; our metadata are at ${ours}`);
  const { metadata, findings } = await readMetadata(provider, limits, now);
  if (metadata === null) return [...findings, addresses];
  const binding = bindingOf(metadata);
  const isAsked = metadata.wantsSignedRequests && !provider.sign_requests;
  return [
    ...findings,
    good(`The metadata are those of ${metadata.entityId}; sign-in begins by ${binding}.`),
    ...metadataDoubts(metadata, provider.entity_id).map(({ text, fix }) =>
      doubtful(`${text} ${fix}`),
    ),
    ...metadata.signingCertificates.map((certificate) => checkCertificate(certificate, now)),
    ...(isAsked
      ? [
          doubtful(
            'The provider wants signed requests; so they are signed, although the flag is off.',
          ),
        ]
      : []),
    checkSignatureFlags(provider),
    addresses,
  ];
}

/** The metadata that would be used: those of the address, else those of the entry. */
async function readMetadata(
  { metadata: text, metadata_url: address, entity_id: wanted }: SamlIdentityProvider,
  limits: DocumentLimits | undefined,
  now: Date,
): Promise<{ metadata: SamlMetadata | null; findings: Finding[] }> {
  try {
    const present = text === '' ? null : await parseMetadata(text, wanted);
    if (address === undefined) return { metadata: present, findings: [] };
    try {
      const expected = present?.entityId ?? null;
      const { metadata } = await fetchMetadata(address, expected, limits, now, wanted);
      return { metadata, findings: [good('The metadata were fetched from their address.')] };
    } catch (error) {
      if (!(error instanceof MetadataFetchError)) throw error;
      const why = `The document at the metadata address cannot be used: ${error.message}.`;
      return { metadata: present, findings: [present === null ? bad(why) : doubtful(why)] };
    }
  } catch (error) {
    if (error instanceof ProviderRefusal)
      return { metadata: null, findings: [bad(sentence(error))] };
    if (!(error instanceof SamlMetadataError)) throw error;
    const refusal = new ProviderRefusal('provider_misconfigured', error.message);
    return { metadata: null, findings: [bad(sentence(refusal))] };
  }
}

/** Says which parts must be signed. Metadata do not say what a provider signs; an answer does. */
function checkSignatureFlags({
  signed_assertion_in_resp: ofAssertion,
  signed_envelopes_in_resp: ofResponse,
}: SamlIdentityProvider): Finding {
  const refused =
    '“Test sign-in” shows what the provider signs. If a sign-in is refused for it, the log names the unsigned part and the flag.';
  if (ofAssertion && ofResponse)
    return doubtful(
      `Response and assertion must both be signed, and many providers sign one alone (Entra, AD FS, Google and Keycloak by default). Their metadata do not say it. ${refused}`,
    );
  if (ofAssertion) return good(`The assertion must be signed. ${refused}`);
  if (ofResponse) return good(`The response must be signed. ${refused}`);
  return doubtful(
    'No flag asks for a signature. One that covers the assertion is still needed: its own or that of the response.',
  );
}

function checkCertificate(base64: string, now: Date): Finding {
  const { publicKey, validTo } = new X509Certificate(Buffer.from(base64, 'base64'));
  const { modulusLength = 0 } = publicKey.asymmetricKeyDetails ?? {};
  const end = new Date(validTo);
  if (publicKey.asymmetricKeyType !== 'rsa')
    return bad('A signing certificate has no RSA key; signatures of other keys are not accepted.');
  if (modulusLength < RSA_BITS_MIN)
    return doubtful(`A signing certificate has a key of only ${modulusLength} bits.`);
  const day = end.toISOString().slice(0, 10);
  if (end <= now)
    return doubtful(`A signing certificate expired on ${day}; it is accepted nevertheless.`);
  if (end.getTime() - now.getTime() < EXPIRY_WARNING_MS)
    return doubtful(`A signing certificate expires on ${day}.`);
  return good(`A signing certificate is valid until ${day}.`);
}

function sentence({ text, detail }: ProviderRefusal): string {
  return detail === null ? text : `${text} Reason: ${detail}.`;
}
