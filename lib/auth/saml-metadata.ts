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

/** Providers that a message names. */
const NAMED_MAX = 20;

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
  /** All providers that the metadata describe, the first one before the others; only of several. */
  readonly entityIds?: readonly string[];
  /** Certificates that sign and cannot be read, by their place; only if there are any. */
  readonly unreadable?: readonly string[];
}

/** Why metadata cannot be used; the message is for people. */
export class SamlMetadataError extends Error {
  override name = 'SamlMetadataError';
}

/** Says what is wrong with metadata; null if nothing is wrong. */
export function samlMetadataError(text: string, wanted?: string): string | null {
  try {
    parseSamlMetadata(text, wanted);
    return null;
  } catch (error) {
    if (error instanceof SamlMetadataError) return error.message;
    throw error;
  }
}

/**
 * Reads metadata; throws SamlMetadataError if sign-in could not use it. If there are several
 * providers, it takes the wanted one, or the first if none is named.
 */
export function parseSamlMetadata(text: string, wanted?: string): SamlMetadata {
  const found = providersIn(readXml(text));
  const [first] = found;
  if (first === undefined) refuse('it does not describe an identity provider of SAML 2.0');
  const ids = idsOf(found);
  const { entityId, entity, provider, around } =
    wanted === undefined
      ? first
      : (found.find((one) => one.entityId === wanted) ?? refuse(notDescribed(wanted, ids)));
  if (entityId === '') refuse('its entityID is missing');
  const signOnUrls = urlsOf(provider, 'SingleSignOnService');
  if (Object.keys(signOnUrls).length === 0)
    refuse('it has no SSO address (http or https) for HTTP-Redirect or HTTP-POST');
  const wants = provider.getAttribute('WantAuthnRequestsSigned') ?? '';
  const { certificates, unreadable } = certificatesOf(provider);
  return {
    entityId,
    signOnUrls,
    logoutUrls: urlsOf(provider, 'SingleLogoutService'),
    signingCertificates: certificates,
    wantsSignedRequests: wants === 'true' || wants === '1',
    validUntil: endOf([...around, entity, provider]),
    ...(ids.length > 1 ? { entityIds: ids } : {}),
    ...(unreadable.length > 0 ? { unreadable } : {}),
  };
}

/** The entityIDs of all identity providers in metadata; none where it cannot be read. */
export function entityIdsIn(text: string): string[] {
  try {
    return idsOf(providersIn(readXml(text)));
  } catch (error) {
    if (error instanceof SamlMetadataError) return [];
    throw error;
  }
}

/** Names some of the providers, for people. */
export function namedEntities(ids: readonly string[]): string {
  const left = ids.length - NAMED_MAX;
  return `${ids.slice(0, NAMED_MAX).join(', ')}${left > 0 ? `, and ${left} more` : ''}`;
}

function notDescribed(wanted: string, ids: readonly string[]): string {
  return `it does not describe ${wanted}, which entity_id names, but ${namedEntities(ids)}`;
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

/** An identity provider of SAML 2.0 in metadata. */
interface Described {
  readonly entityId: string;
  readonly entity: Element;
  readonly provider: Element;
  /** The groups of entities around it; each may say until when all of it may be used. */
  readonly around: readonly Element[];
}

/**
 * The identity providers of the description itself, or of a federation, whose groups may hold
 * groups: what is less deep comes first, as the first one may serve.
 */
function providersIn(root: Element): Described[] {
  if (isNamed(root, METADATA, 'EntityDescriptor')) return describedBy(root, []);
  const found: Described[] = [];
  let groups: Element[][] = isNamed(root, METADATA, 'EntitiesDescriptor') ? [[root]] : [];
  while (groups.length > 0) {
    for (const path of groups)
      for (const entity of childrenOf(path.at(-1) as Element, METADATA, 'EntityDescriptor'))
        found.push(...describedBy(entity, path));
    groups = groups.flatMap((path) =>
      childrenOf(path.at(-1) as Element, METADATA, 'EntitiesDescriptor').map((one) => [
        ...path,
        one,
      ]),
    );
  }
  return found;
}

/** None where an entity is no identity provider of SAML 2.0; it may be one of SAML 1.1 too. */
function describedBy(entity: Element, around: readonly Element[]): Described[] {
  const provider = childrenOf(entity, METADATA, 'IDPSSODescriptor').find((one) =>
    (one.getAttribute('protocolSupportEnumeration') ?? '').split(/\s+/).includes(PROTOCOL),
  );
  const entityId = (entity.getAttribute('entityID') ?? '').trim();
  return provider === undefined ? [] : [{ entityId, entity, provider, around }];
}

function idsOf(found: readonly Described[]): string[] {
  return [...new Set(found.map(({ entityId }) => entityId).filter((id) => id !== ''))];
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
function certificatesOf(provider: Element): { certificates: string[]; unreadable: string[] } {
  const texts = childrenOf(provider, METADATA, 'KeyDescriptor')
    .filter((key) => ['', 'signing'].includes(key.getAttribute('use') ?? ''))
    .flatMap((key) => childrenOf(key, SIGNATURE, 'KeyInfo'))
    .flatMap((info) => childrenOf(info, SIGNATURE, 'X509Data'))
    .flatMap((data) => childrenOf(data, SIGNATURE, 'X509Certificate'))
    // Some paste the lines of a PEM file.
    .map((one) => (one.textContent ?? '').replaceAll(/-----(BEGIN|END)[\w ]*-----|\s+/g, ''));
  if (texts.length === 0) refuse('it has no signing certificate');
  const certificates = texts.filter(isCertificate);
  if (certificates.length === 0) refuse('its signing certificate cannot be read');
  const unreadable = [...texts.entries()]
    .filter(([, text]) => !certificates.includes(text))
    .map(([place]) => `signing certificate ${place + 1} of ${texts.length}`);
  return { certificates, unreadable };
}

function isCertificate(base64: string): boolean {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).publicKey !== undefined;
  } catch {
    return false;
  }
}
