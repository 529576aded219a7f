// Tries an identity provider's entry without signing anybody in, for the administrator who just
// typed it: fetches what the provider says of itself, looks at all that a sign-in will need, and
// says in sentences what is good, what is doubtful and what is bad. Changes nothing.
// Nothing that the provider sends is quoted but addresses of its own documents.

import { X509Certificate } from 'node:crypto';
import { genericGrantRequest, ResponseBodyError } from 'openid-client';
import type { OpenidConnectProvider, SamlIdentityProvider } from '../../../models/index.ts';
import { DISCOVERY_LIMITS, type DiscoveryLimits, readText } from '../discovery.ts';
import { OidcClients } from '../oidc/client.ts';
import { redirectUriOf, refusalOf } from '../oidc/sign-in.ts';
import { metadataOf } from '../saml/provider-metadata.ts';
import { addressesOf, bindingOf } from '../saml/service-provider.ts';
import { ProviderRefusal } from './refusal.ts';

/** One thing that was looked at. */
export interface Finding {
  /** `bad`: nobody can sign in; `doubtful`: some may not, or it could be safer. */
  readonly verdict: 'good' | 'doubtful' | 'bad';
  /** A sentence for an administrator. */
  readonly text: string;
}

/** A certificate that ends sooner is doubtful. */
const EXPIRY_WARNING_MS = 30 * 86_400_000;
const RSA_BITS_MIN = 2_048;

/**
 * Tries an OpenID provider: its discovery document, its keys, and whether it knows our client, by a
 * code that it cannot have given. `externalUrl` is the setting. Never rejects.
 */
export async function tryOidcProvider(
  provider: OpenidConnectProvider,
  externalUrl: string,
  limits: DiscoveryLimits = DISCOVERY_LIMITS,
): Promise<Finding[]> {
  const redirectUri = redirectUriOf(provider, externalUrl);
  const ours = good(`The provider must allow this redirect address: ${redirectUri}`);
  try {
    const client = await new OidcClients(limits).of(provider);
    const said = client.configuration.serverMetadata();
    return [
      good('The discovery document is there and complete.'),
      ...judgeAbilities(said),
      await judgeKeys(said.jwks_uri ?? '', limits),
      await judgeClient(client, redirectUri),
      client.endSessionEndpoint === null
        ? doubtful('The provider has no end-session endpoint: signing out here leaves its session.')
        : good('Signing out here signs out at the provider too.'),
      ours,
    ];
  } catch (error) {
    if (error instanceof ProviderRefusal) return [bad(sentence(error)), ours];
    return [bad(`The provider's entry cannot be used: ${(error as Error).name}.`), ours];
  }
}

/** What the document says that the provider can do; what it does not mention is not judged. */
function judgeAbilities(said: Readonly<Record<string, unknown>>): Finding[] {
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
      : [doubtful('The provider is asked over http: whoever is on the way reads along.')]),
  ];
}

async function judgeKeys(address: string, { timeoutMs, bytesMax }: DiscoveryLimits) {
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

/** A provider refuses the code; what matters is whether it refuses the client first. */
async function judgeClient(
  { configuration }: Awaited<ReturnType<OidcClients['of']>>,
  redirectUri: string,
): Promise<Finding> {
  const parameters = {
    code: 'a-code-that-was-never-given',
    redirect_uri: redirectUri,
    code_verifier: 'v'.repeat(43),
  };
  try {
    await genericGrantRequest(configuration, 'authorization_code', parameters);
  } catch (error) {
    if (error instanceof ResponseBodyError && error.error === 'invalid_grant')
      return good('The provider knows the client.');
    const refusal = refusalOf(error);
    if (refusal instanceof ProviderRefusal && refusal.detail === 'invalid_client')
      return bad('The provider does not know the client: look at client_id and client_secret.');
    if (refusal instanceof ProviderRefusal)
      return doubtful(
        `Whether the provider knows the client was not to be found out: ${refusal.detail}.`,
      );
    throw error;
  }
  return bad('The provider takes a code that it never gave.');
}

/** Tries a SAML provider's entry: its metadata, certificates and addresses. */
export async function trySamlProvider(
  provider: SamlIdentityProvider,
  now = new Date(),
): Promise<Finding[]> {
  const { consume, metadata: ours } = addressesOf(provider);
  const told = good(`The provider must know ${consume}; our metadata are at ${ours}`);
  let metadata;
  try {
    metadata = await metadataOf(provider);
  } catch (error) {
    if (error instanceof ProviderRefusal) return [bad(sentence(error)), told];
    throw error;
  }
  const binding = bindingOf(metadata);
  const isAsked = metadata.wantsSignedRequests && !provider.sign_requests;
  const isLax = !provider.signed_assertion_in_resp && !provider.signed_envelopes_in_resp;
  return [
    good(`The metadata are those of ${metadata.entityId}; sign-in begins by ${binding}.`),
    ...metadata.signingCertificates.map((certificate) => judgeCertificate(certificate, now)),
    ...(isAsked
      ? [doubtful('The provider wants signed requests; they are signed, whatever the flag says.')]
      : []),
    ...(isLax
      ? [doubtful('No signature is asked for by flag; the assertion must be signed all the same.')]
      : []),
    told,
  ];
}

function judgeCertificate(base64: string, now: Date): Finding {
  const { publicKey, validTo } = new X509Certificate(Buffer.from(base64, 'base64'));
  const { modulusLength = 0 } = publicKey.asymmetricKeyDetails ?? {};
  const end = new Date(validTo);
  if (publicKey.asymmetricKeyType !== 'rsa')
    return bad('A signing certificate has no RSA key; signatures of other keys are not taken.');
  if (modulusLength < RSA_BITS_MIN)
    return doubtful(`A signing certificate has a key of only ${modulusLength} bits.`);
  const day = end.toISOString().slice(0, 10);
  if (end <= now)
    return doubtful(`A signing certificate ended on ${day}; it is taken all the same.`);
  if (end.getTime() - now.getTime() < EXPIRY_WARNING_MS)
    return doubtful(`A signing certificate ends on ${day}.`);
  return good(`A signing certificate serves until ${day}.`);
}

function sentence({ text, detail }: ProviderRefusal): string {
  return detail === null ? text : `${text} Reason: ${detail}.`;
}

function good(text: string): Finding {
  return { verdict: 'good', text };
}

function doubtful(text: string): Finding {
  return { verdict: 'doubtful', text };
}

function bad(text: string): Finding {
  return { verdict: 'bad', text };
}
