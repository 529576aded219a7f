// Checks what a SAML provider answered. The message passes these gates in their order: size and
// form → shape (one assertion, signatures only where they may stand, each id once) → algorithms →
// the envelope's own words → signatures, by node-saml → and only then is anything believed, and
// only from the bytes that were signed: issuer, time, audience, recipient, request, name. The shape
// is checked first because wrapping attacks all need a second assertion, a second place for a
// signature or a second element with one id. SAML core, sections 2 and 3; docs/api.md#sign-in.

import type { Element } from '@xmldom/xmldom';
import { ProviderRefusal } from '../identity/refusal.ts';
import { type Assertion, readAssertion } from './assertion.ts';
import { addressesOf, loadNodeSaml, samlOf, type SamlSetup } from './service-provider.ts';
import { checkMessageShape, decodeMessage, parseMessage, refuse } from './shape.ts';
import { childrenOf, everything, isNamed, onlyTextIn } from './xml.ts';

const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';
const STATUS = 'urn:oasis:names:tc:SAML:2.0:status:';

/** What a provider says when it refuses the person; others are about the request or itself. */
const DENIALS = new Set(['AuthnFailed', 'RequestDenied', 'UnknownPrincipal', 'NoAuthnContext']);

/** Why an answer is refused that no known key signed, or that was changed. */
export const BAD_SIGNATURE = 'signature';

/** The result of an answer. */
export type SamlVerdict =
  | { readonly kind: 'proven'; readonly assertion: Assertion }
  /** The provider refused the person, and signed that it did. */
  | { readonly kind: 'denied'; readonly status: string };

/** Checks an answer as it was posted, base64; throws ProviderRefusal. */
export async function checkResponse(
  setup: SamlSetup,
  posted: string,
  now: Date,
): Promise<SamlVerdict> {
  const { text, response, assertion } = readResponse(posted);
  checkEnvelope(response, setup);
  const status = statusOf(response);
  // What node-saml gets is the text that was checked, not the one that was posted.
  const message = { SAMLResponse: Buffer.from(text, 'utf8').toString('base64') };
  if (status !== 'Success') return checkDenial(setup, message, status);
  if (assertion === null) refuse('no assertion');
  checkSignedParts(response, assertion, setup.provider);
  const signed = await signedAssertion(setup, message);
  return { kind: 'proven', assertion: readAssertion(signed, setup, now) };
}

/** Reads an answer as it was posted, and checks its shape; nothing of it is believed. */
export function readResponse(posted: string): {
  readonly text: string;
  readonly response: Element;
  readonly assertion: Element | null;
} {
  const text = decodeMessage(posted);
  const response = parseMessage(text);
  return { text, response, assertion: checkShape(response) };
}

/** Returns the one assertion; null where there is none at all. */
function checkShape(response: Element): Element | null {
  if (!isNamed(response, PROTOCOL, 'Response')) refuse('not a Response');
  const [assertion = null] = childrenOf(response, ASSERTION, 'Assertion');
  let assertions = 0;
  for (const node of everything(response)) {
    const { localName } = node as Element;
    if (localName === 'EncryptedAssertion' || localName === 'EncryptedID')
      refuse('encrypted; the provider must send it in the clear, signed');
    if (localName === 'Response' && node !== response) refuse('a second Response');
    if (localName === 'Assertion' && (assertions += 1) > 1) refuse('a second assertion');
    if (localName === 'Assertion' && node !== assertion) refuse('an assertion out of place');
  }
  checkMessageShape(response, assertion === null ? [response] : [response, assertion]);
  return assertion;
}

/** Says which part is not signed that must be, before node-saml says only that one is missing. */
function checkSignedParts(
  response: Element,
  assertion: Element,
  provider: SamlSetup['provider'],
): void {
  const isSigned = (part: Element) => childrenOf(part, SIGNATURE, 'Signature').length > 0;
  const missing = [
    ...(provider.signed_envelopes_in_resp && !isSigned(response)
      ? ['the response is not signed, and signed_envelopes_in_resp asks for it']
      : []),
    ...(provider.signed_assertion_in_resp && !isSigned(assertion)
      ? ['the assertion is not signed, and signed_assertion_in_resp asks for it']
      : []),
  ];
  if (missing.length > 0) refuse(`signature: ${missing.join('; ')}`);
  if (!isSigned(response) && !isSigned(assertion))
    refuse('signature: neither the response nor the assertion is signed');
}

/** Nothing here is believed yet; it only has to agree. */
function checkEnvelope(response: Element, { provider, metadata, requestId }: SamlSetup): void {
  if (response.getAttribute('Version') !== '2.0') refuse('not version 2.0');
  if (response.getAttribute('InResponseTo') !== requestId) refuse('InResponseTo');
  const destination = response.getAttribute('Destination');
  if (destination !== null && destination !== addressesOf(provider).consume) refuse('Destination');
  for (const issuer of childrenOf(response, ASSERTION, 'Issuer'))
    if (onlyTextIn(issuer) !== metadata.entityId) refuse('Issuer');
}

/** `Success`, or the most exact word for what went wrong. */
function statusOf(response: Element): string {
  const [status, second] = childrenOf(response, PROTOCOL, 'Status');
  if (status === undefined || second !== undefined) refuse('Status');
  const [code, secondCode] = childrenOf(status, PROTOCOL, 'StatusCode');
  if (code === undefined || secondCode !== undefined) refuse('StatusCode');
  const top = wordOf(code);
  const [inner] = childrenOf(code, PROTOCOL, 'StatusCode');
  return top === 'Success' || inner === undefined ? top : wordOf(inner);
}

/** The end of a status; what does not look like one stays out of the log. */
function wordOf(code: Element): string {
  const value = code.getAttribute('Value') ?? '';
  const word = value.startsWith(STATUS) ? value.slice(STATUS.length) : '';
  return /^[A-Za-z]{1,40}$/.test(word) ? word : 'unknown';
}

/** A denial counts when the whole answer is signed, whatever the flags say. */
async function checkDenial(
  setup: SamlSetup,
  message: { SAMLResponse: string },
  status: string,
): Promise<SamlVerdict> {
  try {
    const saml = await samlOf(setup, { wantAuthnResponseSigned: true });
    await saml.validatePostResponseAsync(message);
  } catch (error) {
    // Thrown after the signature was found good.
    const { SamlStatusError } = await loadNodeSaml();
    const isSigned = error instanceof SamlStatusError;
    if (isSigned && DENIALS.has(status)) return { kind: 'denied', status };
  }
  throw new ProviderRefusal('provider_refused', status);
}

/** The bytes of the assertion that a signature covers: its own, or that of the whole answer. */
async function signedAssertion(
  setup: SamlSetup,
  message: { SAMLResponse: string },
): Promise<string> {
  try {
    const saml = await samlOf(setup);
    const { profile } = await saml.validatePostResponseAsync(message);
    const xml = profile?.getAssertionXml?.();
    if (typeof xml === 'string') return xml;
  } catch (error) {
    refuse(errorOf(error), error);
  }
  return refuse('no assertion');
}

/** node-saml's messages may quote the answer: a word of ours stands for each. */
function errorOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  if (/signature/i.test(message)) return BAD_SIGNATURE;
  if (/audience/i.test(message)) return 'audience';
  if (/expired|not yet valid|too old|subject confirmation/i.test(message)) return 'time';
  if (/InResponseTo/i.test(message)) return 'InResponseTo';
  return 'refused by node-saml';
}
