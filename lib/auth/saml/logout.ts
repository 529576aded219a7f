// A sign-out that a SAML provider begins (single logout, SAML core, section 3.7). The provider
// signs a request and sends it in an address or in a form; it ends the sessions that the person
// began through this provider. Unsigned requests are refused. node-saml does not read the
// addresses, because it accepts those without a signature.

import { constants, createVerify } from 'node:crypto';
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import type { Element } from '@xmldom/xmldom';
import type { SamlIdentityProvider } from '../../../models/index.ts';
import type { SamlMetadata } from '../saml-metadata.ts';
import { addressesOf, CLOCK_SKEW_MS, samlOf, type ServiceProvider } from './service-provider.ts';
import {
  checkMessageShape,
  decodeMessage,
  decodeText,
  MESSAGE_CHARACTERS_MAX,
  parseMessage,
  refuse,
} from './shape.ts';
import { childrenOf, isNamed, onlyTextIn } from './xml.ts';

const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';
const NAME_CHARACTERS_MAX = 1_024;
/** How old a request may be; CLOCK_SKEW_MS is added. */
const AGE_MAX_MS = 5 * 60_000;

/** Signatures over addresses, with their names in OpenSSL. */
const SIGNATURES: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': 'sha512',
};

/** The two sides of a sign-out. */
export interface LogoutSetup {
  readonly provider: SamlIdentityProvider;
  readonly metadata: SamlMetadata;
  readonly ours: ServiceProvider;
}

/** What a provider asks for. */
export interface LogoutRequest {
  readonly id: string;
  readonly nameId: string;
  readonly nameIdFormat: string | null;
  /** The sessions of the person that end; an empty list means all. */
  readonly sessionIndexes: readonly string[];
  /** Only sessions that began before this time end, because the request may be a replay. */
  readonly meansBefore: Date;
}

/** Checks a request that came in a form; throws ProviderRefusal. */
export async function checkPostedLogout(
  setup: LogoutSetup,
  posted: string,
  now: Date,
): Promise<LogoutRequest> {
  const text = decodeMessage(posted);
  const message = readRequest(text);
  if (childrenOf(message, SIGNATURE, 'Signature').length === 0) refuse('the request is not signed');
  const saml = await samlOf({ ...setup, requestId: '' });
  const base64 = Buffer.from(text, 'utf8').toString('base64');
  try {
    await saml.validatePostRequestAsync({ SAMLRequest: base64 });
  } catch (cause) {
    refuse('signature', cause);
  }
  return checkRequest(message, setup, now);
}

/** Checks a request that came in an address; `query` is the part behind the question mark. */
export async function checkAddressedLogout(
  setup: LogoutSetup,
  query: string,
  now: Date,
): Promise<LogoutRequest> {
  checkQuerySignature(query, setup.metadata);
  const bytes = Buffer.from(valueIn(query, 'SAMLRequest') ?? '', 'base64');
  return checkRequest(readRequest(decodeText(await inflate(bytes))), setup, now);
}

async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await promisify(inflateRaw)(bytes, { maxOutputLength: MESSAGE_CHARACTERS_MAX });
  } catch (cause) {
    return refuse('not deflated', cause);
  }
}

/** The signature covers three fields as they were written (SAML bindings, section 3.4.4.1). */
function checkQuerySignature(query: string, { signingCertificates }: SamlMetadata): void {
  const signed = ['SAMLRequest', 'RelayState', 'SigAlg']
    .map((name) => partOf(query, name))
    .filter((part) => part !== null)
    .join('&');
  if (valueIn(query, 'Signature') === null) refuse('the request is not signed');
  const digest = SIGNATURES[valueIn(query, 'SigAlg') ?? ''];
  if (digest === undefined) refuse('a signature algorithm that is not accepted');
  const signature = Buffer.from(valueIn(query, 'Signature') ?? '', 'base64');
  const isGood = signingCertificates.some((certificate) =>
    createVerify(digest)
      .update(signed)
      .verify({ key: pem(certificate), padding: constants.RSA_PKCS1_PADDING }, signature),
  );
  if (!isGood) refuse('signature');
}

function pem(base64: string): string {
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----`;
}

/** A field as it was written. A field that occurs twice is refused: programs differ about it. */
function partOf(query: string, name: string): string | null {
  const parts = query.split('&').filter((part) => part.split('=')[0] === name);
  if (parts.length > 1) refuse(`${name} is there twice`);
  return parts[0] ?? null;
}

function valueIn(query: string, name: string): string | null {
  const part = partOf(query, name);
  return part === null ? null : new URLSearchParams(part).get(name);
}

function readRequest(text: string): Element {
  const message = parseMessage(text);
  if (!isNamed(message, PROTOCOL, 'LogoutRequest')) refuse('not a LogoutRequest');
  checkMessageShape(message, [message]);
  return message;
}

function checkRequest(message: Element, setup: LogoutSetup, now: Date): LogoutRequest {
  const id = message.getAttribute('ID') ?? '';
  if (id === '' || message.getAttribute('Version') !== '2.0') refuse('not version 2.0');
  const issuer = childrenOf(message, ASSERTION, 'Issuer');
  const [first] = issuer;
  if (first === undefined || issuer.length > 1) refuse('Issuer');
  if (onlyTextIn(first) !== setup.metadata.entityId) refuse('Issuer');
  // Signed messages must name their receiver (SAML bindings, sections 3.4.5.2 and 3.5.5.2).
  if (message.getAttribute('Destination') !== addressesOf(setup.provider).logout)
    refuse('Destination');
  const issuedMs = checkAge(message, now);
  const [name, second] = childrenOf(message, ASSERTION, 'NameID');
  const nameId = name === undefined ? '' : (onlyTextIn(name) ?? '');
  if (name === undefined || second !== undefined || nameId === '') refuse('NameID');
  if (nameId.length > NAME_CHARACTERS_MAX) refuse('NameID');
  const sessionIndexes = childrenOf(message, PROTOCOL, 'SessionIndex').map(
    (index) => onlyTextIn(index) ?? refuse('SessionIndex'),
  );
  return {
    id,
    nameId,
    nameIdFormat: name.getAttribute('Format'),
    sessionIndexes,
    meansBefore: new Date(issuedMs + CLOCK_SKEW_MS),
  };
}

/** Returns when it was issued. */
function checkAge(message: Element, now: Date): number {
  const issued = Date.parse(message.getAttribute('IssueInstant') ?? '');
  const end = Date.parse(message.getAttribute('NotOnOrAfter') ?? '9999-12-31T00:00:00Z');
  const ageMs = now.getTime() - issued;
  // Comparisons with NaN are false, so a time that cannot be read is refused.
  const isGood = ageMs < AGE_MAX_MS + CLOCK_SKEW_MS && ageMs > -CLOCK_SKEW_MS;
  if (!isGood || !(now.getTime() - CLOCK_SKEW_MS < end)) refuse('time');
  return issued;
}

/** The address at the provider that gets our answer; null if the provider has none. */
export async function logoutAnswer(
  setup: LogoutSetup,
  request: Pick<LogoutRequest, 'id'>,
  relayState: string,
  answerId: string,
): Promise<string | null> {
  const logoutUrl = setup.metadata.logoutUrls.redirect;
  if (logoutUrl === undefined) return null;
  const saml = await samlOf({ ...setup, requestId: answerId }, { logoutUrl });
  const asked = { ID: request.id, issuer: '', nameID: '', nameIDFormat: '' };
  return saml.getLogoutResponseUrlAsync(asked, relayState, {}, true);
}
