// Checks of every SAML message before a signature in it is looked at: base64 of UTF-8 of XML with a
// limited size, without comments and instructions, each id once, signatures only where they may be,
// made with safe algorithms. Each signature wrapping attack breaks one of these rules.

import type { Element } from '@xmldom/xmldom';
import { ProviderRefusal } from '../identity/refusal.ts';
import { childrenOf, everything, isNamed, parseXml, XmlError } from './xml.ts';

/** The longest message. Real ones have about ten kilobytes, or a hundred with many groups. */
export const MESSAGE_CHARACTERS_MAX = 131_072;
const LIMITS = { characters: MESSAGE_CHARACTERS_MAX, tags: 2_000, attributes: 2_000 };

const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';

/** Digests that nobody can forge; SHA-1 is broken. */
const ALGORITHMS = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]);

/** What may be done to the bytes before they are signed (SAML core, section 5.4.4). */
const TRANSFORMS = new Set([
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
]);

/** Refuses a message; the detail is our own text and quotes nothing. */
export function refuse(detail: string, cause?: unknown): never {
  throw new ProviderRefusal('answer_invalid', detail, { cause });
}

/** Decodes a message as it was posted. */
export function decodeMessage(posted: string): string {
  const base64 = posted.replaceAll(/\s+/g, '');
  if (base64.length > (MESSAGE_CHARACTERS_MAX * 4) / 3) refuse('too long');
  if (base64 === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) refuse('not base64');
  return decodeText(Buffer.from(base64, 'base64'));
}

/** Decodes the bytes of a message. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    return refuse('not UTF-8', cause);
  }
}

/** Parses a message. */
export function parseMessage(text: string): Element {
  try {
    return parseXml(text, LIMITS);
  } catch (error) {
    if (error instanceof XmlError) return refuse(error.message);
    throw error;
  }
}

/** Checks the shape of a message; `signed` are the elements that may hold a signature each. */
export function checkMessageShape(message: Element, signed: readonly Element[]): void {
  const ids = new Set<string>();
  const counts = { Reference: 0, Transform: 0 };
  for (const node of everything(message)) {
    if (node.nodeType === node.COMMENT_NODE) refuse('a comment');
    if (node.nodeType === node.PROCESSING_INSTRUCTION_NODE) refuse('a processing instruction');
    if (node.nodeType !== node.ELEMENT_NODE) continue;
    const element = node as Element;
    if (element.namespaceURI === SIGNATURE) checkSignaturePart(element, signed, counts);
    for (const id of idsOf(element)) {
      if (ids.has(id)) refuse('an id that is there twice');
      ids.add(id);
    }
  }
  for (const parent of signed)
    if (childrenOf(parent, SIGNATURE, 'Signature').length > 1)
      refuse('two signatures in one place');
}

function checkSignaturePart(
  element: Element,
  signed: readonly Element[],
  counts: { Reference: number; Transform: number },
): void {
  const { localName, parentNode: parent } = element;
  if (isNamed(element, SIGNATURE, 'Signature') && !signed.some((one) => one === parent))
    refuse('a signature out of place');
  // Wrapping attacks hide the signed part in an Object of the signature.
  if (localName === 'Object') refuse('a signature with an Object');
  const isMethod = localName === 'SignatureMethod' || localName === 'DigestMethod';
  if (isMethod && !ALGORITHMS.has(element.getAttribute('Algorithm') ?? ''))
    refuse('a signature algorithm that is not accepted; SHA-256 or SHA-512 with RSA is');
  // Each reference makes the verifier serialize the whole message again.
  if (localName === 'Reference' && (counts.Reference += 1) > signed.length)
    refuse('a signature with more than one reference');
  if (localName !== 'Transform') return;
  if (!TRANSFORMS.has(element.getAttribute('Algorithm') ?? ''))
    refuse('a transformation that is not accepted');
  if ((counts.Transform += 1) > 2 * signed.length) refuse('too many transformations');
}

/** All attributes named id, in any case: programs differ in which of them they treat as an id. */
function idsOf(element: Element): string[] {
  const ids: string[] = [];
  for (const attribute of Array.from(element.attributes))
    if (attribute.localName?.toLowerCase() === 'id') ids.push(attribute.value);
  return ids;
}
