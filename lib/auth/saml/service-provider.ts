// This gateway as SAML providers see it: its name, addresses, key and metadata; and node-saml set
// up for one provider. The key is made once and kept in the database, encrypted, unless settings
// name files with another one. docs/api.md#sign-in.

import { createPrivateKey, createPublicKey, randomBytes, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { SAML, SamlConfig } from '@node-saml/node-saml';
import type { Config } from '../../../config/index.ts';
import {
  type Database,
  readOrCreateSecret,
  type SamlIdentityProvider,
} from '../../../models/index.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import type { SamlMetadata } from '../saml-metadata.ts';
import { type KeyAndCertificate, makeCertificate } from './certificate.ts';

const SECRET_NAME = 'saml_service_provider';
/** Any form of name: the provider decides which one it sends. */
const ANY_NAME_ID = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified';

/** By how much a provider's clock may differ from ours. */
export const CLOCK_SKEW_MS = 60_000;

/** What all SAML providers share. */
export interface ServiceProvider {
  readonly entityId: string;
  readonly key: KeyAndCertificate;
}

/** The addresses under which one provider knows us. */
export interface SamlAddresses {
  readonly consume: string;
  readonly metadata: string;
  readonly logout: string;
}

type Settings = Pick<Config, 'samlEntityId' | 'samlKeyfilePath' | 'samlCertfilePath'>;

/** Reads our name and key. Files are read at each call, so that a renewed certificate is used. */
export async function serviceProvider(
  settings: Settings,
  database: Database,
): Promise<ServiceProvider> {
  return {
    entityId: settings.samlEntityId,
    key: (await keyFromFiles(settings)) ?? (await keyFromDatabase(database)),
  };
}

async function keyFromFiles({
  samlKeyfilePath: keyPath,
  samlCertfilePath: certificatePath,
}: Settings): Promise<KeyAndCertificate | null> {
  if (keyPath === null || certificatePath === null) return null;
  try {
    const key = {
      privateKey: await readFile(keyPath, 'utf8'),
      certificate: await readFile(certificatePath, 'utf8'),
    };
    const certified = new X509Certificate(key.certificate).publicKey;
    if (!createPublicKey(createPrivateKey(key.privateKey)).equals(certified))
      throw new Error('they do not belong together');
    if (certified.asymmetricKeyType !== 'rsa') throw new Error('the key is not an RSA key');
    // The files may contain other text; only the key and the certificate are used.
    return {
      privateKey: createPrivateKey(key.privateKey)
        .export({ type: 'pkcs8', format: 'pem' })
        .toString(),
      certificate: new X509Certificate(key.certificate).toString(),
    };
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new ProviderRefusal(
      'provider_misconfigured',
      `SAML_KEYFILE_PATH and SAML_CERTFILE_PATH cannot be used: ${code ?? message}`,
      { cause },
    );
  }
}

async function keyFromDatabase(database: Database): Promise<KeyAndCertificate> {
  const text = await readOrCreateSecret(database, SECRET_NAME, async () =>
    JSON.stringify(await makeCertificate(new Date(), serialNumber())),
  );
  return JSON.parse(text) as KeyAndCertificate;
}

/** A positive number of 126 random bits. */
function serialNumber(): Uint8Array {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

/** The addresses that requests and metadata of a provider advertise. */
export function addressesOf({
  id,
  base_url,
}: Pick<SamlIdentityProvider, 'id' | 'base_url'>): SamlAddresses {
  const base = `${base_url.replace(/\/+$/, '')}/sp`;
  const name = encodeURIComponent(id);
  return {
    consume: `${base}/consume/${name}`,
    metadata: `${base}/metadata/${name}`,
    logout: `${base}/logout/${name}`,
  };
}

/**
 * Loads node-saml at its first use: it takes 24 MB, and most gateways have no SAML provider. Its
 * default export has all names, in the bundle too.
 */
export const loadNodeSaml = async () => (await import('@node-saml/node-saml')).default;

/** What node-saml is set up for. */
export interface SamlSetup {
  readonly provider: SamlIdentityProvider;
  readonly metadata: SamlMetadata;
  readonly ours: ServiceProvider;
  /** The id of the request that is sent, or that an answer must name. */
  readonly requestId: string;
  /** True if the person must sign in at the provider again. */
  readonly isForced?: boolean;
}

/** How requests reach a provider: in an address if it accepts that, else in a form. */
export function bindingOf({ signOnUrls }: SamlMetadata): 'redirect' | 'post' {
  return signOnUrls.redirect === undefined ? 'post' : 'redirect';
}

/** Sets node-saml up; `changes` are for answers that are checked more strictly. */
export async function samlOf(setup: SamlSetup, changes: Partial<SamlConfig> = {}): Promise<SAML> {
  const { SAML, ValidateInResponseTo } = await loadNodeSaml();
  const { provider, metadata, ours, requestId, isForced = false } = setup;
  const binding = bindingOf(metadata);
  const isSigning = provider.sign_requests || metadata.wantsSignedRequests;
  return new SAML({
    issuer: ours.entityId,
    audience: ours.entityId,
    callbackUrl: addressesOf(provider).consume,
    entryPoint: metadata.signOnUrls[binding] ?? '',
    authnRequestBinding: binding === 'post' ? 'HTTP-POST' : 'HTTP-Redirect',
    // Only addresses carry compressed messages (SAML bindings, section 3.4.4).
    skipRequestCompression: binding === 'post',
    idpCert: [...metadata.signingCertificates],
    ...(isSigning ? signing(ours) : {}),
    signatureAlgorithm: 'sha256',
    digestAlgorithm: 'sha256',
    identifierFormat: ANY_NAME_ID,
    // The provider decides how a person signs in there.
    disableRequestedAuthnContext: true,
    forceAuthn: isForced,
    wantAuthnResponseSigned: provider.signed_envelopes_in_resp,
    wantAssertionsSigned: provider.signed_assertion_in_resp,
    acceptedClockSkewMs: CLOCK_SKEW_MS,
    validateInResponseTo: ValidateInResponseTo.always,
    generateUniqueId: () => requestId,
    cacheProvider: onlyRequest(requestId),
    ...changes,
  });
}

function signing({ key }: ServiceProvider): Pick<SamlConfig, 'privateKey' | 'publicCert'> {
  return { privateKey: key.privateKey, publicCert: key.certificate };
}

/** The only request that an answer may belong to. The row of the sign-in makes it be used once. */
function onlyRequest(requestId: string): NonNullable<SamlConfig['cacheProvider']> {
  return {
    saveAsync: async () => null,
    getAsync: async (id) => (id === requestId ? new Date().toISOString() : null),
    removeAsync: async () => null,
  };
}

/** Our metadata for one provider, as its entry's flags say. */
export async function ourMetadata(
  provider: SamlIdentityProvider,
  ours: ServiceProvider,
): Promise<string> {
  const { generateServiceProviderMetadata } = await loadNodeSaml();
  const { consume, logout } = addressesOf(provider);
  const xml = generateServiceProviderMetadata({
    issuer: ours.entityId,
    callbackUrl: consume,
    logoutCallbackUrl: logout,
    identifierFormat: ANY_NAME_ID,
    wantAssertionsSigned: provider.signed_assertion_in_resp,
    ...(provider.sign_requests ? { ...signing(ours), publicCerts: ours.key.certificate } : {}),
    generateUniqueId: () => `_${randomBytes(20).toString('hex')}`,
  });
  if (!provider.sign_metadata) return xml;
  // It is signed after it is made: else it would say that our requests are signed as well.
  const { default: utility } = await import('@node-saml/node-saml/lib/utility.js');
  return utility.signXmlMetadata(xml, {
    privateKey: ours.key.privateKey,
    signatureAlgorithm: 'sha256',
    digestAlgorithm: 'sha256',
  });
}
