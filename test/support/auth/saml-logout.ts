// Requests of a SAML provider to sign a user out, in an address or in a form, good by default.

import { createSign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import type { KeyAndCertificate } from '../../../lib/auth/saml/certificate.ts';
import { BOTH, ENTITY_ID, idpKey, sign } from './bad-saml-provider.ts';

const EMAIL_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';

/** What a request says. */
export interface LogoutSaid {
  readonly destination: string;
  readonly name: string;
  readonly format?: string;
  /** Null: all sessions of the user. */
  readonly index?: string | null;
  readonly issuer?: string;
  readonly issuedAt?: Date;
}

/** A request, not signed. */
export function logoutXml({
  destination,
  name,
  format = EMAIL_FORMAT,
  index = 's1',
  issuer = ENTITY_ID,
  issuedAt = new Date(),
}: LogoutSaid): string {
  const session = index === null ? '' : `<p:SessionIndex>${index}</p:SessionIndex>`;
  return `<p:LogoutRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" ID="_l1" Version="2.0" IssueInstant="${issuedAt.toISOString()}" Destination="${destination}"><a:Issuer>${issuer}</a:Issuer><a:NameID Format="${format}">${name}</a:NameID>${session}</p:LogoutRequest>`;
}

/** A signed request, as a form holds it. */
export function postedLogout(said: LogoutSaid, key: KeyAndCertificate = idpKey): string {
  const xml = sign(logoutXml(said), 'LogoutRequest', { ...BOTH, key });
  return Buffer.from(xml, 'utf8').toString('base64');
}

/** A signed request, as the query of an address holds it. */
export function addressedLogout(said: LogoutSaid, key: KeyAndCertificate = idpKey): string {
  return signedQuery(deflateRawSync(logoutXml(said)), key);
}

/** Any bytes, signed as an address is. */
export function signedQuery(bytes: Uint8Array, key: KeyAndCertificate = idpKey): string {
  const fields = new URLSearchParams({
    SAMLRequest: Buffer.from(bytes).toString('base64'),
    SigAlg: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  }).toString();
  const signature = createSign('sha256').update(fields).sign(key.privateKey, 'base64');
  return `${fields}&Signature=${encodeURIComponent(signature)}`;
}
