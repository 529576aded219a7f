// XML that others wrote, read with care: a DOCTYPE is refused before anything is parsed, so there
// are no entities, external or other; size, depth, tags, attributes and prefixes are bounded; what
// is not well-formed is refused. Nothing is fetched.

import { DOMParser, type Element, type Node, onWarningStopParsing } from '@xmldom/xmldom';

/** How much of each thing a document may have. */
export interface XmlLimits {
  readonly characters: number;
  readonly tags: number;
  /** Declarations of namespaces are attributes too. */
  readonly attributes: number;
}

/** Deepest element: more is no SAML, and costs a parser its stack. */
const DEPTH_MAX = 64;
/**
 * Prefixes that a document declares, however often it declares each: real messages have fewer than
 * ten, but Okta and Keycloak repeat two at every value. Readers of signatures look through all
 * that are in scope at every attribute.
 */
const PREFIXES_MAX = 64;
/** Elements of one kind that are looked at: people have hundreds of groups. */
const ELEMENTS_MAX = 2_000;

/** Why a text is not taken; the message is for people and quotes nothing. */
export class XmlError extends Error {
  override name = 'XmlError';
}

/** Reads a document; throws XmlError. */
export function parseXml(text: string, limits: XmlLimits): Element {
  if (text.length > limits.characters) refuse(`it is longer than ${limits.characters} characters`);
  if (/<!DOCTYPE/i.test(text)) refuse('it has a DOCTYPE, which is not allowed');
  refuseTooManyTags(text, limits.tags);
  refuseTooManyAttributes(text, limits.attributes);
  let root: Element | null = null;
  try {
    // A warning is about what is no XML: an attribute without quotes, say.
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

/** Direct children alone: what stands elsewhere in the document does not count. */
export function childrenOf(parent: Element, namespace: string, name: string): Element[] {
  const found: Element[] = [];
  for (let node = parent.firstChild; node !== null; node = node.nextSibling) {
    if (node.nodeType !== node.ELEMENT_NODE || !isNamed(node as Element, namespace, name)) continue;
    found.push(node as Element);
    if (found.length === ELEMENTS_MAX) break;
  }
  return found;
}

/** An element and all that stands in it, in the order in which it is written. */
export function* everything(root: Element): Generator<Node> {
  const waiting: Node[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    for (let child = node.lastChild; child !== null; child = child.previousSibling)
      waiting.push(child);
  }
}

/** The text of an element that holds one text and nothing else; null for any other. */
export function textOf(element: Element): string | null {
  const { firstChild } = element;
  if (firstChild === null || firstChild.nextSibling !== null) return null;
  return firstChild.nodeType === firstChild.TEXT_NODE ? (firstChild.nodeValue ?? null) : null;
}

/**
 * Counts tags before the parser, whose time and stack they cost; what looks like one inside a
 * comment makes the counts too great, never too small.
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

/** Counts what looks like an attribute, in texts too; so the count may be too great. */
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
