// Reads the assertion that was signed, from the signed bytes alone, and judges all of it: issuer,
// times, audience, recipient, the request that it answers. A name that is not one plain text is
// refused: readers disagree on what a comment or an element inside a name means. SAML core,
// section 2; SAML profiles, section 4.1.4.

import type { Element } from '@xmldom/xmldom';
import { ProviderRefusal } from '../identity/refusal.ts';
import { addressesOf, CLOCK_SKEW_MS, type SamlSetup } from './service-provider.ts';
import { parseMessage, refuse } from './shape.ts';
import { childrenOf, isNamed, textOf } from './xml.ts';

const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
const EMAIL_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
const NAME_CHARACTERS_MAX = 1_024;

/** Attributes in which providers tell an e-mail address, lower case, the surest first. */
const EMAIL_ATTRIBUTES = [
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'urn:oid:1.2.840.113549.1.9.1',
  'email',
  'mail',
  'emailaddress',
  'email_address',
  'user.email',
  'user.mail',
];

/** One thing that a provider says of a person. */
export interface SamlAttribute {
  /** As it is written; names are compared without regard to case. */
  readonly name: string;
  readonly values: readonly string[];
}

/** What a provider proved. */
export interface Assertion {
  readonly id: string;
  readonly issuer: string;
  readonly nameId: string;
  readonly nameIdFormat: string | null;
  /** True for a name that is another one the next time. */
  readonly isTransient: boolean;
  readonly email: string | null;
  /** Where the e-mail stands, in words: `the NameID`, `the attribute mail`; null without one. */
  readonly emailFrom: string | null;
  readonly attributes: readonly SamlAttribute[];
  readonly sessionIndex: string | null;
  /** When it is of no use any more, clocks that differ included. */
  readonly expiresAt: Date;
}

/** Reads and judges a signed assertion; throws ProviderRefusal. */
export function readAssertion(xml: string, setup: SamlSetup, now: Date): Assertion {
  const { metadata } = setup;
  const assertion = parseMessage(xml);
  if (!isNamed(assertion, ASSERTION, 'Assertion')) refuse('not an assertion');
  if (assertion.getAttribute('Version') !== '2.0') refuse('not version 2.0');
  const id = assertion.getAttribute('ID') ?? '';
  if (id === '' || id.length > NAME_CHARACTERS_MAX) refuse('ID');
  const issuer = textOf(only(assertion, 'Issuer'))?.trim() ?? '';
  if (issuer !== metadata.entityId) refuse('Issuer');
  const subject = only(assertion, 'Subject');
  const ends = [judgeConfirmation(subject, setup, now), judgeConditions(assertion, setup, now)];
  const sessionIndex = judgeStatements(assertion, now);
  const name = readName(only(subject, 'NameID'));
  const attributes = attributesOf(assertion);
  judgeRequired(attributes, setup.provider);
  return {
    id,
    issuer,
    ...name,
    ...emailOf(attributes, name, setup.provider),
    attributes,
    sessionIndex,
    expiresAt: new Date(Math.max(...ends) + CLOCK_SKEW_MS),
  };
}

function only(parent: Element, name: string): Element {
  const [element, second] = childrenOf(parent, ASSERTION, name);
  return element === undefined || second !== undefined ? refuse(name) : element;
}

/** Whoever bears the assertion here and now, for this request; one confirmation must say so. */
function judgeConfirmation(
  subject: Element,
  { provider, requestId }: SamlSetup,
  now: Date,
): number {
  const { consume } = addressesOf(provider);
  let fault = 'SubjectConfirmation';
  for (const confirmation of childrenOf(subject, ASSERTION, 'SubjectConfirmation')) {
    if (confirmation.getAttribute('Method') !== BEARER) continue;
    const [data] = childrenOf(confirmation, ASSERTION, 'SubjectConfirmationData');
    if (data === undefined) continue;
    const end = timeOf(data, 'NotOnOrAfter');
    if (data.getAttribute('Recipient') !== consume) fault = 'Recipient';
    else if (data.getAttribute('InResponseTo') !== requestId) fault = 'InResponseTo';
    else if (end === null) fault = 'NotOnOrAfter';
    else if (!isWithin(timeOf(data, 'NotBefore'), end, now)) fault = 'time';
    else return end;
  }
  return refuse(fault);
}

function judgeConditions(assertion: Element, { ours }: SamlSetup, now: Date): number {
  const conditions = only(assertion, 'Conditions');
  const end = timeOf(conditions, 'NotOnOrAfter');
  if (!isWithin(timeOf(conditions, 'NotBefore'), end, now)) refuse('time');
  const restrictions = childrenOf(conditions, ASSERTION, 'AudienceRestriction');
  // Each restriction must name us (SAML core, section 2.5.1.4).
  const isForUs = (restriction: Element): boolean =>
    childrenOf(restriction, ASSERTION, 'Audience').some(
      (audience) => textOf(audience)?.trim() === ours.entityId,
    );
  if (restrictions.length === 0 || !restrictions.every(isForUs)) refuse('audience');
  return end ?? 0;
}

/** That the person proved themselves, and which session at the provider it was. */
function judgeStatements(assertion: Element, now: Date): string | null {
  const statements = childrenOf(assertion, ASSERTION, 'AuthnStatement');
  if (statements.length === 0) refuse('AuthnStatement');
  for (const statement of statements)
    if (!isWithin(null, timeOf(statement, 'SessionNotOnOrAfter'), now)) refuse('time');
  return statements[0]?.getAttribute('SessionIndex') ?? null;
}

function readName(element: Element) {
  const nameId = textOf(element)?.trim() ?? '';
  if (nameId === '' || nameId.length > NAME_CHARACTERS_MAX) refuse('NameID');
  const nameIdFormat = element.getAttribute('Format');
  return { nameId, nameIdFormat, isTransient: nameIdFormat === TRANSIENT };
}

/** All that the provider says of the person. */
function attributesOf(assertion: Element): SamlAttribute[] {
  return childrenOf(assertion, ASSERTION, 'AttributeStatement')
    .flatMap((statement) => childrenOf(statement, ASSERTION, 'Attribute'))
    .map((attribute) => ({
      name: attribute.getAttribute('Name') ?? '',
      values: childrenOf(attribute, ASSERTION, 'AttributeValue')
        .map((value) => textOf(value)?.trim() ?? '')
        .filter((text) => text !== ''),
    }));
}

/** The values of a name, which may stand several times. */
function valuesOf(attributes: readonly SamlAttribute[], name: string): string[] {
  const wanted = name.toLowerCase();
  return attributes
    .filter((one) => one.name.toLowerCase() === wanted)
    .flatMap(({ values }) => values);
}

/** Throws ProviderRefusal for a person without the attribute that the entry requires. */
export function judgeRequired(
  attributes: readonly SamlAttribute[],
  { required_attribute: required }: SamlSetup['provider'],
): void {
  if (required === undefined) return;
  const values = valuesOf(attributes, required.name);
  if (values.includes(required.value)) return;
  const lack = values.length === 0 ? 'no attribute' : 'another';
  throw new ProviderRefusal('claim_required', `${lack} ${required.name}`);
}

/**
 * From the attribute that the entry names; where it names none, from a name that says it is an
 * address, else from an attribute, else from a name that looks like one.
 */
function emailOf(
  attributes: readonly SamlAttribute[],
  { nameId, nameIdFormat }: Pick<Assertion, 'nameId' | 'nameIdFormat'>,
  { email_attribute: chosen }: SamlSetup['provider'],
): Pick<Assertion, 'email' | 'emailFrom'> {
  const ofName = { email: nameId, emailFrom: 'the NameID' };
  if (chosen === undefined && nameIdFormat === EMAIL_FORMAT) return ofName;
  for (const name of chosen === undefined ? EMAIL_ATTRIBUTES : [chosen]) {
    const [email] = valuesOf(attributes, name);
    if (email !== undefined) return { email, emailFrom: `the attribute ${name}` };
  }
  if (chosen === undefined && nameId.includes('@')) return ofName;
  return { email: null, emailFrom: null };
}

/** A time of the assertion; null where it says none, refused where it cannot be read. */
function timeOf(element: Element, name: string): number | null {
  const text = element.getAttribute(name);
  if (text === null) return null;
  // SAML core, section 1.3.3: UTC and nothing else.
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)) refuse(`${name} is no time`);
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? refuse(`${name} is no time`) : ms;
}

function isWithin(notBefore: number | null, notOnOrAfter: number | null, now: Date): boolean {
  const ms = now.getTime();
  return (
    (notBefore === null || ms + CLOCK_SKEW_MS >= notBefore) &&
    (notOnOrAfter === null || ms - CLOCK_SKEW_MS < notOnOrAfter)
  );
}
