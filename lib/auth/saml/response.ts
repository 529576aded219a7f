// Judges what a SAML provider answered. The message passes these gates in their order: size and
// form → shape (one assertion, signatures only where they may stand, each id once) → algorithms →
// the envelope's own words → signatures, by node-saml → and only then is anything believed, and only
// from the bytes that were signed: issuer, time, audience, recipient, request, name. The shape is
// judged first because wrapping attacks all need a second assertion, a second place for a signature
// or a second element with one id. SAML core, sections 2 and 3; api.md, section 8.

import { SamlStatusError } from '@node-saml/node-saml';
import type { Element, Node } from '@xmldom/xmldom';
import { ProviderRefusal } from '../identity/refusal.ts';
import { type Assertion, readAssertion } from './assertion.ts';
import { addressesOf, samlOf, type SamlSetup } from './service-provider.ts';
import { childrenOf, isNamed, parseXml, textOf, XmlError } from './xml.ts';

/** Longest answer; real ones have some ten kilobytes, or a hundred with long lists of groups. */
const RESPONSE_CHARACTERS_MAX = 524_288;

const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';
const STATUS = 'urn:oasis:names:tc:SAML:2.0:status:';

/** Digests that nobody can forge; SHA-1 is broken. */
const ALGORITHMS = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]);

/** What a provider says when it refuses the person; other errors are about the request or itself. */
const DENIALS = new Set(['AuthnFailed', 'RequestDenied', 'UnknownPrincipal', 'NoAuthnContext']);

/** What an answer came to. */
export type SamlVerdict =
  | { readonly kind: 'proven'; readonly assertion: Assertion }
  /** The provider refused the person, and signed that it did. */
  | { readonly kind: 'denied'; readonly status: string };

/** Judges an answer as it was posted, base64; throws ProviderRefusal. */
export async function judgeResponse(
  setup: SamlSetup,
  posted: string,
  now: Date,
): Promise<SamlVerdict> {
  const text = decode(posted);
  const response = parse(text);
  const assertion = judgeShape(response);
  judgeAlgorithms(response);
  judgeEnvelope(response, setup);
  const status = statusOf(response);
  // What node-saml gets is the text that was judged, not the one that was posted.
  const message = { SAMLResponse: Buffer.from(text, 'utf8').toString('base64') };
  if (status !== 'Success') return judgeDenial(setup, message, status);
  if (assertion === null) refuse('no assertion');
  const signed = await signedAssertion(setup, message);
  return { kind: 'proven', assertion: readAssertion(signed, setup, now) };
}

function refuse(detail: string, cause?: unknown): never {
  throw new ProviderRefusal('answer_invalid', detail, { cause });
}

function decode(posted: string): string {
  const base64 = posted.replaceAll(/\s+/g, '');
  if (base64.length > (RESPONSE_CHARACTERS_MAX * 4) / 3) refuse('too long');
  if (base64 === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) refuse('not base64');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch (cause) {
    return refuse('not UTF-8', cause);
  }
}

function parse(text: string): Element {
  try {
    return parseXml(text, RESPONSE_CHARACTERS_MAX);
  } catch (error) {
    if (error instanceof XmlError) return refuse(error.message);
    throw error;
  }
}

/** Returns the one assertion; null where there is none at all. */
function judgeShape(response: Element): Element | null {
  if (!isNamed(response, PROTOCOL, 'Response')) refuse('not a Response');
  const [assertion = null] = childrenOf(response, ASSERTION, 'Assertion');
  const ids = new Set<string>();
  let assertions = 0;
  for (const node of everything(response)) {
    if (node.nodeType === node.COMMENT_NODE) refuse('a comment');
    if (node.nodeType === node.PROCESSING_INSTRUCTION_NODE) refuse('a processing instruction');
    if (node.nodeType !== node.ELEMENT_NODE) continue;
    const element = node as Element;
    const { localName, parentNode: parent } = element;
    if (localName === 'EncryptedAssertion' || localName === 'EncryptedID')
      refuse('encrypted; the provider must send it in the clear, signed');
    if (localName === 'Response' && element !== response) refuse('a second Response');
    if (localName === 'Assertion' && (assertions += 1) > 1) refuse('a second assertion');
    if (localName === 'Assertion' && element !== assertion) refuse('an assertion out of place');
    if (isNamed(element, SIGNATURE, 'Signature') && parent !== response && parent !== assertion)
      refuse('a signature out of place');
    // What a signature may carry along is where wrapping attacks hide things.
    if (isNamed(element, SIGNATURE, 'Object')) refuse('a signature with an Object');
    for (const id of idsOf(element)) {
      if (ids.has(id)) refuse('an id that stands twice');
      ids.add(id);
    }
  }
  for (const parent of [response, assertion])
    if (parent !== null && childrenOf(parent, SIGNATURE, 'Signature').length > 1)
      refuse('two signatures in one place');
  return assertion;
}

/** In the order in which it is written. */
function* everything(root: Element): Generator<Node> {
  const waiting: Node[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    for (let child = node.lastChild; child !== null; child = child.previousSibling)
      waiting.push(child);
  }
}

/** However it is written: what one reader takes for an id another may not. */
function idsOf(element: Element): string[] {
  const ids: string[] = [];
  for (const attribute of Array.from(element.attributes))
    if (attribute.localName?.toLowerCase() === 'id') ids.push(attribute.value);
  return ids;
}

function judgeAlgorithms(response: Element): void {
  for (const node of everything(response)) {
    const element = node as Element;
    if (
      element.namespaceURI === SIGNATURE &&
      (element.localName === 'SignatureMethod' || element.localName === 'DigestMethod') &&
      !ALGORITHMS.has(element.getAttribute('Algorithm') ?? '')
    )
      refuse('a signature algorithm that is not taken; SHA-256 or SHA-512 with RSA is');
  }
}

/** Nothing here is believed yet; it only has to agree. */
function judgeEnvelope(response: Element, { provider, metadata, requestId }: SamlSetup): void {
  if (response.getAttribute('Version') !== '2.0') refuse('not version 2.0');
  if (response.getAttribute('InResponseTo') !== requestId) refuse('InResponseTo');
  const destination = response.getAttribute('Destination');
  if (destination !== null && destination !== addressesOf(provider).consume) refuse('Destination');
  for (const issuer of childrenOf(response, ASSERTION, 'Issuer'))
    if (textOf(issuer)?.trim() !== metadata.entityId) refuse('Issuer');
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
async function judgeDenial(
  setup: SamlSetup,
  message: { SAMLResponse: string },
  status: string,
): Promise<SamlVerdict> {
  try {
    await samlOf(setup, { wantAuthnResponseSigned: true }).validatePostResponseAsync(message);
  } catch (error) {
    // Thrown after the signature was found good.
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
    const { profile } = await samlOf(setup).validatePostResponseAsync(message);
    const xml = profile?.getAssertionXml?.();
    if (typeof xml === 'string') return xml;
  } catch (error) {
    refuse(faultOf(error), error);
  }
  return refuse('no assertion');
}

/** node-saml's messages may quote the answer: a word of ours stands for each. */
function faultOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  if (/signature/i.test(message)) return 'signature';
  if (/audience/i.test(message)) return 'audience';
  if (/expired|not yet valid|too old|subject confirmation/i.test(message)) return 'time';
  if (/InResponseTo/i.test(message)) return 'InResponseTo';
  return 'refused by node-saml';
}
