// Reads XML from others. A DOCTYPE is refused before anything is parsed, so there are no entities.
// Size, depth, tags, attributes and prefixes have limits; XML that is not well-formed is refused.
// Nothing is fetched.

import { createRequire } from 'node:module';
import type * as Xmldom from '@xmldom/xmldom';
import type { Element, Node } from '@xmldom/xmldom';
import { withoutBlanks } from '../blanks.ts';

const require = createRequire(import.meta.url);
/** Loads the parser at its first use; a gateway without SAML never needs it. */
const loadParser = () => require('@xmldom/xmldom') as typeof Xmldom;

/** How much of each thing a document may have. */
export interface XmlLimits {
  readonly characters: number;
  readonly tags: number;
  /** Declarations of namespaces are attributes too. */
  readonly attributes: number;
}

/** The deepest element. No SAML is deeper, and a parser could run out of stack. */
const DEPTH_MAX = 64;
/**
 * The most different prefixes that a document may declare. Real messages have fewer than ten; Okta
 * and Keycloak repeat two at every value. Verifiers of signatures go through all prefixes in scope
 * at every attribute.
 */
const PREFIXES_MAX = 64;
/** The most elements of one kind that are read: people have hundreds of groups. */
const ELEMENTS_MAX = 2_000;

/** Why a text is refused; the message is for people and quotes nothing. */
export class XmlError extends Error {
  override name = 'XmlError';
}

/** Reads a document; throws XmlError. */
export function parseXml(text: string, limits: XmlLimits): Element {
  if (text.length > limits.characters) refuse(`it is longer than ${limits.characters} characters`);
  if (/<!DOCTYPE/i.test(text)) refuse('it has a DOCTYPE, which is not allowed');
  refuseTooManyTags(text, limits.tags);
  refuseTooManyAttributes(text, limits.attributes);
  const { DOMParser, onWarningStopParsing } = loadParser();
  let root: Element | null = null;
  try {
    // The parser warns about errors in the XML, such as an attribute without quotes.
    const parser = new DOMParser({ onError: onWarningStopParsing });
    root = parser.parseFromString(text.trim(), 'text/xml').documentElement;
  } catch {
    // The parser's messages quote the text.
  }
  return root ?? refuse('it is not well-formed XML');
}

/** True for an element of this name. */
export function isNamed(element: Element, namespace: string, name: string): boolean {
  return element.namespaceURI === namespace && element.localName === name;
}

/** The direct children of an element with this name; deeper elements do not count. */
export function childrenOf(parent: Element, namespace: string, name: string): Element[] {
  const found: Element[] = [];
  for (let node = parent.firstChild; node !== null; node = node.nextSibling) {
    if (node.nodeType !== node.ELEMENT_NODE || !isNamed(node as Element, namespace, name)) continue;
    found.push(node as Element);
    if (found.length === ELEMENTS_MAX) break;
  }
  return found;
}

/** An element and all nodes inside it, in the order of the document. */
export function* everything(root: Element): Generator<Node> {
  const waiting: Node[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    for (let child = node.lastChild; child !== null; child = child.previousSibling)
      waiting.push(child);
  }
}

/**
 * The text of an element that contains only one text; null for any other element. The blanks of XML
 * around it do not count. Any other blank counts: a name with it is the name of somebody else.
 */
export function onlyTextIn(element: Element): string | null {
  const { firstChild } = element;
  if (firstChild === null || firstChild.nextSibling !== null) return null;
  if (firstChild.nodeType !== firstChild.TEXT_NODE) return null;
  return withoutBlanks(firstChild.nodeValue ?? '');
}

/**
 * Counts tags before the document is parsed, because they cost time and stack. Text in a comment
 * that looks like a tag makes the count too high, never too low.
 */
function refuseTooManyTags(text: string, max: number): void {
  let depth = 0;
  let count = 0;
  for (const [tag] of text.matchAll(/<\/?[A-Za-z_:][^<>]*>?/g)) {
    if ((count += 1) > max) refuse(`it has more than ${max} tags`);
    if (tag.startsWith('</')) depth = Math.max(0, depth - 1);
    else if (!tag.endsWith('/>') && (depth += 1) > DEPTH_MAX)
      refuse(`its elements are nested deeper than ${DEPTH_MAX}`);
  }
}

/** Counts everything that looks like an attribute, also in texts; so the count may be too high. */
function refuseTooManyAttributes(text: string, max: number): void {
  let count = 0;
  for (const _attribute of text.matchAll(/=\s*["']/g))
    if ((count += 1) > max) refuse(`it has more than ${max} attributes`);
  const prefixes = new Set<string>();
  for (const [declaration] of text.matchAll(/xmlns(?::[^\s=]{0,100})?/g))
    if (prefixes.add(declaration).size > PREFIXES_MAX)
      refuse(`it declares more than ${PREFIXES_MAX} prefixes of namespaces`);
}

function refuse(message: string): never {
  throw new XmlError(message);
}
