// SAML metadata of an identity provider: what sign-in needs of it, or why it cannot be used. The
// text comes from administrators, who got it from others. So a DOCTYPE is refused before anything
// is parsed, which leaves no entities; the size is limited; nothing is fetched.
// docs/api.md#provider-entries.

import { X509Certificate } from 'node:crypto';
import type { Element } from '@xmldom/xmldom';
import { childrenOf, isNamed, parseXml, XmlError } from './saml/xml.ts';

/** The longest text that is parsed; real metadata has a few kilobytes. */
export const METADATA_CHARACTERS_MAX = 1_048_576;
const LIMITS = { characters: METADATA_CHARACTERS_MAX, tags: 10_000, attributes: 20_000 };

const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata';
const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';
const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
const BINDINGS = {
  'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect': 'redirect',
  'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST': 'post',
} as const;

/** How a request reaches the provider: in an address, or in a form. */
export type SamlBinding = (typeof BINDINGS)[keyof typeof BINDINGS];

/** What sign-in needs to know of an identity provider. */
export interface SamlMetadata {
  readonly entityId: string;
  /** Where sign-in begins, by binding; at least one. */
  readonly signOnUrls: Readonly<Partial<Record<SamlBinding, string>>>;
  /** Where a session ends at the provider, by binding; may be none. */
  readonly logoutUrls: Readonly<Partial<Record<SamlBinding, string>>>;
  /** Certificates whose keys sign, base64 of DER; at least one. */
  readonly signingCertificates: readonly string[];
  /** Whether the provider takes signed requests only. */
  readonly wantsSignedRequests: boolean;
  /** Until when it may be used, in ms; null: it has no end; NaN: its end cannot be read. */
  readonly validUntil: number | null;
}

/** Why metadata cannot be used; the message is for people. */
export class SamlMetadataError extends Error {
  override name = 'SamlMetadataError';
}

/** Says what is wrong with metadata; null if nothing is wrong. */
export function samlMetadataFault(text: string): string | null {
  try {
    parseSamlMetadata(text);
    return null;
  } catch (error) {
    if (error instanceof SamlMetadataError) return error.message;
    throw error;
  }
}

/** Reads metadata; throws SamlMetadataError if sign-in could not use it. */
export function parseSamlMetadata(text: string): SamlMetadata {
  const root = readXml(text);
  const entity = entityOf(root);
  const provider = childrenOf(entity, METADATA, 'IDPSSODescriptor').find((one) =>
    (one.getAttribute('protocolSupportEnumeration') ?? '').split(/\s+/).includes(PROTOCOL),
  );
  if (provider === undefined) refuse('it does not describe an identity provider of SAML 2.0');
  const entityId = (entity.getAttribute('entityID') ?? '').trim();
  if (entityId === '') refuse('its entityID is missing');
  const signOnUrls = urlsOf(provider, 'SingleSignOnService');
  if (Object.keys(signOnUrls).length === 0)
    refuse('it has no SSO address (http or https) for HTTP-Redirect or HTTP-POST');
  const wants = provider.getAttribute('WantAuthnRequestsSigned') ?? '';
  return {
    entityId,
    signOnUrls,
    logoutUrls: urlsOf(provider, 'SingleLogoutService'),
    signingCertificates: certificatesOf(provider),
    wantsSignedRequests: wants === 'true' || wants === '1',
    validUntil: endOf([root, entity, provider]),
  };
}

/** The earliest `validUntil` of some elements. */
function endOf(elements: readonly Element[]): number | null {
  const ends = elements
    .map((element) => element.getAttribute('validUntil'))
    .filter((text) => text !== null)
    .map((text) => Date.parse(text));
  return ends.length === 0 ? null : Math.min(...ends);
}

function refuse(message: string): never {
  throw new SamlMetadataError(message);
}

function readXml(text: string): Element {
  try {
    return parseXml(text, LIMITS);
  } catch (error) {
    if (error instanceof XmlError) refuse(error.message);
    throw error;
  }
}

/** The description itself, or the first identity provider of a federation. */
function entityOf(root: Element): Element {
  if (isNamed(root, METADATA, 'EntityDescriptor')) return root;
  const entities = isNamed(root, METADATA, 'EntitiesDescriptor')
    ? childrenOf(root, METADATA, 'EntityDescriptor')
    : [];
  const found = entities.find((one) => childrenOf(one, METADATA, 'IDPSSODescriptor').length > 0);
  return found ?? refuse('it does not describe an identity provider of SAML 2.0');
}

function urlsOf(provider: Element, name: string): Partial<Record<SamlBinding, string>> {
  const urls: Partial<Record<SamlBinding, string>> = {};
  for (const service of childrenOf(provider, METADATA, name)) {
    const binding = service.getAttribute('Binding') ?? '';
    const location = (service.getAttribute('Location') ?? '').trim();
    if (!Object.hasOwn(BINDINGS, binding) || !/^https?:\/\/[^/]/i.test(location)) continue;
    if (URL.canParse(location)) urls[BINDINGS[binding as keyof typeof BINDINGS]] ??= location;
  }
  return urls;
}

/** The certificates of keys for signing, and of keys without a stated use. */
function certificatesOf(provider: Element): readonly string[] {
  const texts = childrenOf(provider, METADATA, 'KeyDescriptor')
    .filter((key) => ['', 'signing'].includes(key.getAttribute('use') ?? ''))
    .flatMap((key) => childrenOf(key, SIGNATURE, 'KeyInfo'))
    .flatMap((info) => childrenOf(info, SIGNATURE, 'X509Data'))
    .flatMap((data) => childrenOf(data, SIGNATURE, 'X509Certificate'))
    .map((certificate) => (certificate.textContent ?? '').replaceAll(/\s+/g, ''));
  if (texts.length === 0) refuse('it has no signing certificate');
  if (!texts.every(isCertificate)) refuse('its signing certificate cannot be read');
  return texts;
}

function isCertificate(base64: string): boolean {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).publicKey !== undefined;
  } catch {
    return false;
  }
}
