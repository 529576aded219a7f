// Reads a signed assertion, only from the bytes that were signed, and checks all of it: issuer,
// times, audience, recipient, the request that it answers. A name with a comment or an element
// inside is refused, because programs read such names in different ways. SAML core, section 2; SAML
// profiles, section 4.1.4.

import type { Element } from '@xmldom/xmldom';
import type { GroupsSaid } from '../../../models/index.ts';
import { readNames } from '../identity/groups.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { addressesOf, CLOCK_SKEW_MS, type SamlSetup } from './service-provider.ts';
import { parseMessage, refuse } from './shape.ts';
import { childrenOf, isNamed, onlyTextIn } from './xml.ts';

const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
const EMAIL_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
const NAME_CHARACTERS_MAX = 1_024;
/** What Entra sends in place of more groups than an assertion has room for. */
const GROUPS_ELSEWHERE = 'http://schemas.microsoft.com/claims/groups.link';

/** Attributes in which providers send an e-mail address, in lower case, the safest first. */
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

/** Usual attributes with the name of a person, the most exact first. */
const PERSON_NAME_ATTRIBUTES = [
  'http://schemas.microsoft.com/identity/claims/displayname',
  'urn:oid:2.16.840.1.113730.3.1.241',
  'displayname',
  'urn:oid:2.5.4.3',
  'cn',
];

/** One thing that a provider says about a person. */
export interface SamlAttribute {
  /** The name as the provider writes it; upper and lower case count as equal. */
  readonly name: string;
  readonly values: readonly string[];
}

/** What a provider proved. */
export interface Assertion {
  readonly id: string;
  readonly issuer: string;
  readonly nameId: string;
  readonly nameIdFormat: string | null;
  /** True if the provider sends another NameID each time. */
  readonly isTransient: boolean;
  readonly email: string | null;
  /** Where the e-mail address was found: `the NameID`, `the attribute mail`; null if nowhere. */
  readonly emailFrom: string | null;
  readonly attributes: readonly SamlAttribute[];
  /** What the provider calls the person; undefined where it does not say it. */
  readonly personName: string | undefined;
  /** What the provider says of groups; undefined where the entry does not ask. */
  readonly groups: GroupsSaid | undefined;
  readonly sessionIndex: string | null;
  /** When the person signed in at the provider; null where it does not say. */
  readonly signedInAt: Date | null;
  /** When it can no longer be used, also by a clock that is late. */
  readonly expiresAt: Date;
}

/** Reads and checks a signed assertion; throws ProviderRefusal. */
export function readAssertion(xml: string, setup: SamlSetup, now: Date): Assertion {
  const { metadata } = setup;
  const assertion = parseMessage(xml);
  if (!isNamed(assertion, ASSERTION, 'Assertion')) refuse('not an assertion');
  if (assertion.getAttribute('Version') !== '2.0') refuse('not version 2.0');
  const id = assertion.getAttribute('ID') ?? '';
  if (id === '' || id.length > NAME_CHARACTERS_MAX) refuse('ID');
  const issuer = onlyTextIn(only(assertion, 'Issuer')) ?? '';
  if (issuer !== metadata.entityId) refuse('Issuer');
  const subject = only(assertion, 'Subject');
  const ends = [checkConfirmation(subject, setup, now), checkConditions(assertion, setup, now)];
  const statement = checkStatements(assertion, now);
  const name = readName(only(subject, 'NameID'));
  const attributes = attributesOf(assertion);
  checkRequired(attributes, setup.provider);
  return {
    id,
    issuer,
    ...name,
    ...emailOf(attributes, name, setup.provider),
    attributes,
    personName: PERSON_NAME_ATTRIBUTES.flatMap((one) => valuesOf(attributes, one))[0],
    groups: groupsOf(assertion, attributes, setup.provider),
    ...statement,
    expiresAt: new Date(Math.max(...ends) + CLOCK_SKEW_MS),
  };
}

function only(parent: Element, name: string): Element {
  const [element, second] = childrenOf(parent, ASSERTION, name);
  return element === undefined || second !== undefined ? refuse(name) : element;
}

/** Checks that a confirmation lets the bearer use the assertion here, now, for this request. */
function checkConfirmation(
  subject: Element,
  { provider, requestId }: SamlSetup,
  now: Date,
): number {
  const { consume } = addressesOf(provider);
  let error = 'SubjectConfirmation';
  for (const confirmation of childrenOf(subject, ASSERTION, 'SubjectConfirmation')) {
    if (confirmation.getAttribute('Method') !== BEARER) continue;
    const [data] = childrenOf(confirmation, ASSERTION, 'SubjectConfirmationData');
    if (data === undefined) continue;
    const end = timeOf(data, 'NotOnOrAfter');
    if (data.getAttribute('Recipient') !== consume) error = 'Recipient';
    else if (data.getAttribute('InResponseTo') !== requestId) error = 'InResponseTo';
    else if (end === null) error = 'NotOnOrAfter';
    else if (!isWithin(timeOf(data, 'NotBefore'), end, now)) error = 'time';
    else return end;
  }
  return refuse(error);
}

function checkConditions(assertion: Element, { ours }: SamlSetup, now: Date): number {
  const conditions = only(assertion, 'Conditions');
  const end = timeOf(conditions, 'NotOnOrAfter');
  if (!isWithin(timeOf(conditions, 'NotBefore'), end, now)) refuse('time');
  const restrictions = childrenOf(conditions, ASSERTION, 'AudienceRestriction');
  // Each restriction must name us (SAML core, section 2.5.1.4).
  const isForUs = (restriction: Element): boolean =>
    childrenOf(restriction, ASSERTION, 'Audience').some(
      (audience) => onlyTextIn(audience) === ours.entityId,
    );
  if (restrictions.length === 0 || !restrictions.every(isForUs)) refuse('audience');
  return end ?? 0;
}

/** Checks that the person signed in at the provider; returns what it says of that session. */
function checkStatements(
  assertion: Element,
  now: Date,
): Pick<Assertion, 'sessionIndex' | 'signedInAt'> {
  const statements = childrenOf(assertion, ASSERTION, 'AuthnStatement');
  const [first] = statements;
  if (first === undefined) refuse('AuthnStatement');
  for (const statement of statements)
    if (!isWithin(null, timeOf(statement, 'SessionNotOnOrAfter'), now)) refuse('time');
  // Some providers write it with an offset; one that cannot be read is as good as none.
  const signedInMs = Date.parse(first.getAttribute('AuthnInstant') ?? '');
  return {
    sessionIndex: first.getAttribute('SessionIndex'),
    signedInAt: Number.isNaN(signedInMs) ? null : new Date(signedInMs),
  };
}

function readName(element: Element) {
  const nameId = onlyTextIn(element) ?? '';
  if (nameId === '' || nameId.length > NAME_CHARACTERS_MAX) refuse('NameID');
  const nameIdFormat = element.getAttribute('Format');
  return { nameId, nameIdFormat, isTransient: nameIdFormat === TRANSIENT };
}

/** All attributes that the provider sends. */
function attributesOf(assertion: Element): SamlAttribute[] {
  return attributeElements(assertion).map((attribute) => ({
    name: nameOfAttribute(attribute),
    values: childrenOf(attribute, ASSERTION, 'AttributeValue')
      .map((value) => onlyTextIn(value) ?? '')
      .filter((text) => text !== ''),
  }));
}

function attributeElements(assertion: Element): Element[] {
  return childrenOf(assertion, ASSERTION, 'AttributeStatement').flatMap((statement) =>
    childrenOf(statement, ASSERTION, 'Attribute'),
  );
}

function nameOfAttribute(attribute: Element): string {
  return attribute.getAttribute('Name') ?? '';
}

/** The values of all attributes of a name, which may occur several times. */
function valuesOf(attributes: readonly SamlAttribute[], name: string): string[] {
  const wanted = name.toLowerCase();
  return attributes
    .filter((one) => one.name.toLowerCase() === wanted)
    .flatMap(({ values }) => values);
}

/** Throws ProviderRefusal for a person without the attribute that the entry requires. */
export function checkRequired(
  attributes: readonly SamlAttribute[],
  { required_attribute: required }: SamlSetup['provider'],
): void {
  if (required === undefined) return;
  const values = valuesOf(attributes, required.name);
  if (values.includes(required.value)) return;
  const lack = values.length === 0 ? 'no attribute' : 'another';
  throw new ProviderRefusal('claim_required', `${lack} ${required.name}`);
}

/** The groups that an attribute names; none if the attribute is missing. */
function groupsOf(
  assertion: Element,
  attributes: readonly SamlAttribute[],
  { groups_attribute: name }: SamlSetup['provider'],
): GroupsSaid | undefined {
  if (name === undefined) return undefined;
  const wanted = name.toLowerCase();
  const values = attributeElements(assertion)
    .filter((attribute) => nameOfAttribute(attribute).toLowerCase() === wanted)
    .flatMap((attribute) => childrenOf(attribute, ASSERTION, 'AttributeValue'))
    .filter((value) => value.firstChild !== null)
    // A value that holds elements is no text, and not an empty one either.
    .map(onlyTextIn)
    .filter((text) => text !== '');
  const isElsewhere = values.length === 0 && valuesOf(attributes, GROUPS_ELSEWHERE).length > 0;
  return isElsewhere ? { problem: 'overage' } : readNames(values);
}

/**
 * The e-mail address is in the attribute that the entry names. If it names none, the address is the
 * NameID if its format says so, else a usual attribute, else a NameID that looks like an address.
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

/** A time of the assertion; null if there is none. A time that cannot be read is refused. */
function timeOf(element: Element, name: string): number | null {
  const text = element.getAttribute(name);
  if (text === null) return null;
  // SAML core, section 1.3.3: times are in UTC.
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)) refuse(`${name} is not a time`);
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? refuse(`${name} is not a time`) : ms;
}

function isWithin(notBefore: number | null, notOnOrAfter: number | null, now: Date): boolean {
  const ms = now.getTime();
  return (
    (notBefore === null || ms + CLOCK_SKEW_MS >= notBefore) &&
    (notOnOrAfter === null || ms - CLOCK_SKEW_MS < notOnOrAfter)
  );
}
