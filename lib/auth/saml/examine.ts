// Examines the answer to a test sign-in, in the verifier's thread. It is checked like any answer.
// If the entry refuses it, it is checked again without the flags and the required attribute, so
// that the administrator learns what the provider signs and says. A signature must still be made
// with a certificate of the metadata and cover the part that contains it.

import { X509Certificate } from 'node:crypto';
import type { Element } from '@xmldom/xmldom';
import { ProviderRefusal, type RefusalReason } from '../identity/refusal.ts';
import type { SamlMetadata } from '../saml-metadata.ts';
import type { Assertion } from './assertion.ts';
import { checkResponse, readResponse } from './response.ts';
import type { SamlSetup } from './service-provider.ts';
import { childrenOf } from './xml.ts';

const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';

/** A part with a good signature. */
export interface SignedPart {
  readonly name: 'response' | 'assertion';
  /** The end of the algorithm's name: `rsa-sha256`. */
  readonly algorithm: string;
}

/** What was found in an answer. */
export interface Examined {
  /** Why the entry refuses the answer; null if it admits it. */
  readonly refusal: { readonly reason: RefusalReason; readonly detail: string | null } | null;
  readonly signed: readonly SignedPart[];
  /**
   * What the answer says; null if a signature, a time or an address is wrong even without the
   * flags.
   */
  readonly assertion: Assertion | null;
}

/** Examines an answer as it was posted, in base64. Nothing that strangers send makes it reject. */
export async function examineResponse(
  setup: SamlSetup,
  posted: string,
  now: Date,
): Promise<Examined> {
  const { refusal, assertion } = await checked(setup, posted, now);
  const signed = await signedParts(setup.metadata, posted);
  if (assertion !== null) return { refusal, signed, assertion };
  const lenient = await checked({ ...setup, provider: withoutWishes(setup.provider) }, posted, now);
  return { refusal, signed, assertion: lenient.assertion };
}

/** The entry without the flags for signed parts and without the required attribute. */
function withoutWishes(provider: SamlSetup['provider']): SamlSetup['provider'] {
  const { required_attribute: _left, ...others } = provider;
  return { ...others, signed_assertion_in_resp: false, signed_envelopes_in_resp: false };
}

async function checked(
  setup: SamlSetup,
  posted: string,
  now: Date,
): Promise<Pick<Examined, 'refusal' | 'assertion'>> {
  try {
    const verdict = await checkResponse(setup, posted, now);
    if (verdict.kind === 'proven') return { refusal: null, assertion: verdict.assertion };
    const refusal = { reason: 'provider_refused', detail: verdict.status } as const;
    return { refusal, assertion: null };
  } catch (error) {
    if (!(error instanceof ProviderRefusal)) throw error;
    const { reason, detail } = error;
    return { refusal: { reason, detail }, assertion: null };
  }
}

/** The parts whose signature is good; none if the answer has a bad shape. */
async function signedParts(metadata: SamlMetadata, posted: string): Promise<SignedPart[]> {
  let read;
  try {
    read = readResponse(posted);
  } catch (error) {
    if (error instanceof ProviderRefusal) return [];
    throw error;
  }
  const { default: xml } = await import('@node-saml/node-saml/lib/xml.js');
  const { getVerifiedXml, parseDomFromString, xpath } = xml;
  // node-saml must parse the text itself, because it cannot use the nodes of our parser.
  const root = (await parseDomFromString(read.text)).documentElement;
  const [assertion = null] = xpath.selectElements(root, "./*[local-name(.)='Assertion']");
  const pems = metadata.signingCertificates.map((certificate) =>
    new X509Certificate(Buffer.from(certificate, 'base64')).toString(),
  );
  const isGood = (part: typeof root): boolean => {
    try {
      return getVerifiedXml(read.text, part, pems) !== null;
    } catch {
      return false;
    }
  };
  const parts = [
    { name: 'response', ours: read.response, theirs: root },
    { name: 'assertion', ours: read.assertion, theirs: assertion },
  ] as const;
  return parts.flatMap(({ name, ours, theirs }) => {
    const algorithm = ours === null ? null : algorithmOf(ours);
    return algorithm !== null && theirs !== null && isGood(theirs) ? [{ name, algorithm }] : [];
  });
}

/** The algorithm that a part is signed with; null if it contains no signature. */
function algorithmOf(part: Element): string | null {
  const [method] = childrenOf(part, SIGNATURE, 'Signature')
    .flatMap((signature) => childrenOf(signature, SIGNATURE, 'SignedInfo'))
    .flatMap((info) => childrenOf(info, SIGNATURE, 'SignatureMethod'));
  // The shape was checked before, so it is one of the accepted algorithms.
  return method?.getAttribute('Algorithm')?.split('#').at(-1) ?? null;
}
