// A SAML provider that says whatever a test wants: a good answer by default. A test changes one
// thing of it, before or after it is signed.

import { randomBytes } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { signXml } from '@node-saml/node-saml/lib/xml.js';
import { DOMParser, type Element, XMLSerializer } from '@xmldom/xmldom';
import { type KeyAndCertificate, makeCertificate } from '../../../lib/auth/saml/certificate.ts';
import { childrenOf } from '../../../lib/auth/saml/xml.ts';

/** The name of the provider. */
export const ENTITY_ID = 'https://saml-idp.example/metadata';
/** Our name, as the setting has it by default. */
export const OUR_ENTITY_ID = 'urn:firezone.dev:firezone-app';

const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';
const STATUS = 'urn:oasis:names:tc:SAML:2.0:status';

/** The key of the provider, and another key. */
export const idpKey = await makeCertificate(new Date(), randomBytes(8).fill(1, 0, 1));
export const otherIdpKey = await makeCertificate(new Date(), randomBytes(8).fill(1, 0, 1));

/** The words of an answer; times in seconds from now. */
export interface Said {
  requestId: string;
  consume: string;
  entityId: string;
  nameId: string;
  format: string;
  audience: string;
  audiences: string | null;
  recipient: string;
  destination: string | null;
  responseInResponseTo: string | null;
  subjectInResponseTo: string | null;
  method: string;
  notBefore: number;
  notOnOrAfter: number;
  subjectNotOnOrAfter: number | null;
  sessionNotOnOrAfter: number;
  attributes: string;
  statements: string | null;
  status: string;
  version: string;
  /** Replaces the whole Conditions. */
  conditions: string | null;
  assertionId: string;
}

/** What is signed, and how. */
export interface Signing {
  assertion: boolean;
  response: boolean;
  key: KeyAndCertificate;
  algorithm: 'sha1' | 'sha256' | 'sha512';
}

/** How a good provider signs. */
export const BOTH: Signing = {
  assertion: true,
  response: true,
  key: idpKey,
  algorithm: 'sha256',
};

/** What a good provider says. */
export function goodWords(requestId: string, consume: string): Said {
  return {
    requestId,
    consume,
    entityId: ENTITY_ID,
    nameId: 'person@example.com',
    format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
    audience: OUR_ENTITY_ID,
    audiences: null,
    recipient: consume,
    destination: consume,
    responseInResponseTo: requestId,
    subjectInResponseTo: requestId,
    method: 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
    notBefore: -5,
    notOnOrAfter: 300,
    subjectNotOnOrAfter: 300,
    sessionNotOnOrAfter: 3_600,
    attributes: '',
    statements: null,
    status: `<p:StatusCode Value="${STATUS}:Success"/>`,
    version: '2.0',
    conditions: null,
    assertionId: `_a${randomBytes(8).toString('hex')}`,
  };
}

/** The status of a refusal. */
export function denial(inner: string, outer = 'Responder'): string {
  return `<p:StatusCode Value="${STATUS}:${outer}"><p:StatusCode Value="${STATUS}:${inner}"/></p:StatusCode>`;
}

function at(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString();
}

function attribute(name: string, value: string | number | null): string {
  return value === null ? '' : ` ${name}="${value}"`;
}

/** An assertion, not signed. */
export function assertionXml(said: Said): string {
  const ends = said.subjectNotOnOrAfter;
  const conditions =
    said.conditions ??
    `<a:Conditions NotBefore="${at(said.notBefore)}" NotOnOrAfter="${at(said.notOnOrAfter)}">${
      said.audiences ??
      `<a:AudienceRestriction><a:Audience>${said.audience}</a:Audience></a:AudienceRestriction>`
    }</a:Conditions>`;
  const statements =
    said.statements ??
    `<a:AuthnStatement AuthnInstant="${at(-1)}" SessionIndex="s1" SessionNotOnOrAfter="${at(said.sessionNotOnOrAfter)}"><a:AuthnContext><a:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</a:AuthnContextClassRef></a:AuthnContext></a:AuthnStatement>`;
  return (
    `<a:Assertion xmlns:a="${ASSERTION}" ID="${said.assertionId}" Version="${said.version}" IssueInstant="${at(-1)}">` +
    `<a:Issuer>${said.entityId}</a:Issuer>` +
    `<a:Subject><a:NameID Format="${said.format}">${said.nameId}</a:NameID>` +
    `<a:SubjectConfirmation Method="${said.method}"><a:SubjectConfirmationData` +
    attribute('NotOnOrAfter', ends === null ? null : at(ends)) +
    attribute('Recipient', said.recipient) +
    attribute('InResponseTo', said.subjectInResponseTo) +
    `/></a:SubjectConfirmation></a:Subject>${conditions}${statements}${said.attributes}</a:Assertion>`
  );
}

/** An answer with this content. */
export function responseXml(said: Said, inner: string): string {
  return (
    `<p:Response xmlns:p="${PROTOCOL}" xmlns:a="${ASSERTION}" ID="_r${randomBytes(8).toString('hex')}" Version="2.0" IssueInstant="${at(-1)}"` +
    attribute('Destination', said.destination) +
    attribute('InResponseTo', said.responseInResponseTo) +
    `><a:Issuer>${said.entityId}</a:Issuer><p:Status>${said.status}</p:Status>${inner}</p:Response>`
  );
}

/** A whole answer, as XML. */
export function answerXml(said: Said, signing: Signing = BOTH, inner?: string): string {
  const assertion = assertionXml(said);
  const signed = signing.assertion ? sign(assertion, 'Assertion', signing) : assertion;
  const response = responseXml(said, inner ?? signed);
  return signing.response ? sign(response, 'Response', signing) : response;
}

/** Signs the outermost element of this name. */
export function sign(xml: string, name: string, { key, algorithm }: Signing): string {
  const element = `/*[local-name(.)='${name}']`;
  const location = { reference: `${element}/*[local-name(.)='Issuer']`, action: 'after' } as const;
  return signXml(xml, element, location, {
    privateKey: key.privateKey,
    publicCert: key.certificate,
    signatureAlgorithm: algorithm,
    digestAlgorithm: algorithm,
  } as Parameters<typeof signXml>[3]);
}

/** The form in which the browser posts it. */
export function base64(xml: string): string {
  return Buffer.from(xml, 'utf8').toString('base64');
}

/** The request in an address. */
export function requestIn(address: string): { xml: string; id: string; query: URLSearchParams } {
  const query = new URL(address).searchParams;
  const deflated = Buffer.from(query.get('SAMLRequest') ?? '', 'base64');
  const xml = inflateRawSync(deflated).toString();
  return { xml, id: /ID="([^"]+)"/.exec(xml)?.[1] ?? '', query };
}

/** What metadata say of the provider. */
export function idpMetadata(
  services: string,
  {
    entityId = ENTITY_ID,
    key = idpKey,
    wants = '',
  }: { entityId?: string; key?: KeyAndCertificate; wants?: string } = {},
): string {
  const certificate = key.certificate.replaceAll(/-----[^-]+-----|\s/g, '');
  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}"><IDPSSODescriptor${wants} protocolSupportEnumeration="${PROTOCOL}"><KeyDescriptor use="signing"><KeyInfo xmlns="${SIGNATURE}"><X509Data><X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>${services}</IDPSSODescriptor></EntityDescriptor>`;
}

// ---- wrapping ----------------------------------------------------------------------------------

/** The user whom the wrapped answers name. */
export const EVIL = 'admin@example.com';

interface Parts {
  response: Element;
  assertion: Element;
  /** The signature of the assertion, or of the answer. */
  signature: Element;
  /** A copy of the assertion with another name and id, without a signature. */
  evil: Element;
  /** The good assertion without its signature. */
  bare: Element;
}

/**
 * The eight ways to wrap a signed message (Somorovsky and others, On Breaking SAML, 2012, as the
 * tools number them): the signed part is kept somewhere, and a program reads another part.
 */
const wrappings: Record<
  string,
  { signed: 'Response' | 'Assertion'; wrap: (parts: Parts) => Element }
> = {
  'the signed response inside its own signature': {
    signed: 'Response',
    wrap: ({ response, signature }) => {
      const original = response.cloneNode(true) as Element;
      original.removeChild(signatureOf(original));
      forge(response, '_evil');
      signature.appendChild(original);
      return response;
    },
  },
  'the signed response before its signature': {
    signed: 'Response',
    wrap: ({ response, signature }) => {
      const original = response.cloneNode(true) as Element;
      original.removeChild(signatureOf(original));
      forge(response, '_evil');
      response.insertBefore(original, signature);
      return response;
    },
  },
  'another assertion before the signed one': {
    signed: 'Assertion',
    wrap: ({ response, assertion, evil }) => {
      response.insertBefore(evil, assertion);
      return response;
    },
  },
  'the signed assertion inside another': {
    signed: 'Assertion',
    wrap: ({ response, assertion, evil }) => {
      response.replaceChild(evil, assertion);
      evil.appendChild(assertion);
      return response;
    },
  },
  'the signature on another, the signed one behind it': {
    signed: 'Assertion',
    wrap: ({ response, assertion, bare }) => {
      forge(assertion, '_evil');
      response.appendChild(bare);
      return response;
    },
  },
  'the signature on another, the signed one inside the signature': {
    signed: 'Assertion',
    wrap: ({ response, assertion, signature, bare }) => {
      forge(assertion, '_evil');
      signature.appendChild(bare);
      return response;
    },
  },
  'another assertion in an extension before the signed one': {
    signed: 'Assertion',
    wrap: ({ response, assertion, evil }) => {
      const extensions = response.ownerDocument?.createElementNS(PROTOCOL, 'p:Extensions');
      extensions?.appendChild(evil);
      if (extensions) response.insertBefore(extensions, assertion);
      return response;
    },
  },
  'the signed assertion inside an object of the signature': {
    signed: 'Assertion',
    wrap: ({ response, assertion, signature, bare }) => {
      const object = response.ownerDocument?.createElementNS(SIGNATURE, 'Object');
      forge(assertion, '_evil');
      object?.appendChild(bare);
      if (object) signature.appendChild(object);
      return response;
    },
  },
};

/** All wrapped answers by what they do. */
export function wrappedAnswers(said: Said): [says: string, xml: string][] {
  return Object.entries(wrappings).map(([says, { signed, wrap }]) => {
    const signing = { ...BOTH, assertion: signed === 'Assertion', response: signed === 'Response' };
    const text = answerXml(said, signing);
    const response = new DOMParser().parseFromString(text, 'text/xml').documentElement as Element;
    const [assertion] = childrenOf(response, ASSERTION, 'Assertion');
    if (assertion === undefined) throw new Error('the answer has no assertion');
    const bare = assertion.cloneNode(true) as Element;
    for (const one of childrenOf(bare, SIGNATURE, 'Signature')) bare.removeChild(one);
    const evil = bare.cloneNode(true) as Element;
    forge(evil, '_evil');
    const signature = signatureOf(signed === 'Response' ? response : assertion);
    const wrapped = wrap({ response, assertion, signature, evil, bare });
    return [says, new XMLSerializer().serializeToString(wrapped)];
  });
}

function signatureOf(element: Element): Element {
  const [signature] = childrenOf(element, SIGNATURE, 'Signature');
  if (signature === undefined) throw new Error('nothing is signed');
  return signature;
}

/** Gives an element another id, and the user that it names another name. */
function forge(element: Element, id: string): void {
  element.setAttribute('ID', id);
  for (const name of Array.from(element.getElementsByTagNameNS(ASSERTION, 'NameID')))
    name.textContent = EVIL;
}
