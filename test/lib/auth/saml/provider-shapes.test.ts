// Answers in the shape that known providers give them: how they name things, which prefixes they
// declare where, which part they sign, and what the entry must say so that people get in. The
// answers were written by hand after the known formats of these providers; none was captured.

import test from 'ava';
import { parseSamlMetadata } from '../../../../lib/auth/saml-metadata.ts';
import { checkResponse } from '../../../../lib/auth/saml/response.ts';
import { addressesOf } from '../../../../lib/auth/saml/service-provider.ts';
import type { SamlIdentityProvider } from '../../../../models/index.ts';
import {
  base64,
  BOTH,
  ENTITY_ID,
  idpKey,
  idpMetadata,
  OUR_ENTITY_ID,
  sign,
} from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const EMAIL = 'person@example.com';
const CLAIMS = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims';
const FORMATS = 'urn:oasis:names:tc:SAML:1.1:nameid-format';
const SAML2 = 'urn:oasis:names:tc:SAML:2.0:nameid-format';
const TYPED =
  ' xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string"';
const metadata = idpMetadata(signOnService());
const consume = addressesOf(samlEntry({ metadata })).consume;
const at = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

interface Shape {
  readonly name: string;
  /** Prefixes of protocol and assertion; "" for a default namespace. */
  readonly prefixes: readonly [protocol: string, assertion: string];
  readonly nameId: readonly [format: string, text: string];
  readonly attributes: Readonly<Record<string, readonly string[]>>;
  /** What each value declares. */
  readonly valueType: string;
  readonly signs: readonly ('Response' | 'Assertion')[];
  readonly entry: Partial<SamlIdentityProvider>;
}

const ASSERTION_ONLY = { signed_envelopes_in_resp: false };
const RESPONSE_ONLY = { signed_assertion_in_resp: false };
const groups = Array.from({ length: 150 }, (_, i) => `group-${i}`);

const shapes: readonly Shape[] = [
  {
    name: 'Entra',
    prefixes: ['samlp', ''],
    nameId: [`${FORMATS}:emailAddress`, 'upn@example.onmicrosoft.com'],
    attributes: {
      'http://schemas.microsoft.com/identity/claims/tenantid': ['11111111-2222-3333'],
      [`${CLAIMS}/emailaddress`]: [EMAIL],
      'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups': groups,
    },
    valueType: '',
    signs: ['Assertion'],
    entry: { ...ASSERTION_ONLY, email_attribute: `${CLAIMS}/emailaddress` },
  },
  {
    name: 'Google',
    prefixes: ['saml2p', 'saml2'],
    nameId: [`${FORMATS}:emailAddress`, EMAIL],
    attributes: { department: ['it'] },
    valueType: TYPED,
    signs: ['Response'],
    entry: { ...RESPONSE_ONLY, required_attribute: { name: 'department', value: 'it' } },
  },
  {
    name: 'Okta',
    prefixes: ['saml2p', 'saml2'],
    nameId: [`${FORMATS}:unspecified`, EMAIL],
    attributes: { email: [EMAIL], groups },
    valueType: TYPED,
    signs: ['Assertion', 'Response'],
    entry: { required_attribute: { name: 'groups', value: 'group-149' } },
  },
  {
    name: 'Keycloak',
    prefixes: ['samlp', 'saml'],
    nameId: [`${SAML2}:persistent`, 'G-1f0c'],
    attributes: { 'urn:oid:1.2.840.113549.1.9.1': [EMAIL], Role: groups },
    valueType: TYPED,
    signs: ['Response'],
    entry: RESPONSE_ONLY,
  },
  {
    name: 'ADFS',
    prefixes: ['samlp', ''],
    nameId: [`${SAML2}:transient`, '_a1b2'],
    attributes: { [`${CLAIMS}/emailaddress`]: [EMAIL], [`${CLAIMS}/upn`]: ['person@corp'] },
    valueType: '',
    signs: ['Assertion'],
    entry: ASSERTION_ONLY,
  },
];

function answerOf(shape: Shape): string {
  const [p, a] = shape.prefixes.map((prefix) => (prefix === '' ? '' : `${prefix}:`));
  const [protocol, assertion] = ['protocol', 'assertion'].map((word, i) => {
    const prefix = shape.prefixes[i] ?? '';
    return ` xmlns${prefix === '' ? '' : `:${prefix}`}="urn:oasis:names:tc:SAML:2.0:${word}"`;
  });
  const attributes = Object.entries(shape.attributes).map(
    ([name, values]) =>
      `<${a}Attribute Name="${name}">${values.map((value) => `<${a}AttributeValue${shape.valueType}>${value}</${a}AttributeValue>`).join('')}</${a}Attribute>`,
  );
  const issuer = `<${a}Issuer${assertion}>${ENTITY_ID}</${a}Issuer>`;
  const [format, text] = shape.nameId;
  let inner = `<${a}Assertion${assertion} ID="_a" Version="2.0" IssueInstant="${at(-1)}">${issuer}<${a}Subject><${a}NameID Format="${format}">${text}</${a}NameID><${a}SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><${a}SubjectConfirmationData InResponseTo="_r1" NotOnOrAfter="${at(300)}" Recipient="${consume}"/></${a}SubjectConfirmation></${a}Subject><${a}Conditions NotBefore="${at(-5)}" NotOnOrAfter="${at(300)}"><${a}AudienceRestriction><${a}Audience>${OUR_ENTITY_ID}</${a}Audience></${a}AudienceRestriction></${a}Conditions><${a}AttributeStatement>${attributes.join('')}</${a}AttributeStatement><${a}AuthnStatement AuthnInstant="${at(-1)}" SessionIndex="s1"><${a}AuthnContext><${a}AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</${a}AuthnContextClassRef></${a}AuthnContext></${a}AuthnStatement></${a}Assertion>`;
  if (shape.signs.includes('Assertion')) inner = sign(inner, 'Assertion', BOTH);
  const status = `<${p}Status><${p}StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></${p}Status>`;
  const response = `<${p}Response${protocol} ID="_p" Version="2.0" IssueInstant="${at(-1)}" Destination="${consume}" InResponseTo="_r1">${issuer}${status}${inner}</${p}Response>`;
  return shape.signs.includes('Response') ? sign(response, 'Response', BOTH) : response;
}

function examine(shape: Shape, entry: Partial<SamlIdentityProvider>) {
  const provider = samlEntry({ metadata, ...entry });
  const ours = { entityId: OUR_ENTITY_ID, key: idpKey };
  const setup = { provider, metadata: parseSamlMetadata(metadata), ours, requestId: '_r1' };
  return checkResponse(setup, base64(answerOf(shape)), new Date());
}

for (const shape of shapes) {
  test(`${shape.name}: with the right entry a person gets in, by their e-mail`, async (t) => {
    const verdict = await examine(shape, shape.entry);
    if (verdict.kind !== 'proven') return t.fail();
    t.is(verdict.assertion.email, EMAIL);
    t.is(verdict.assertion.isTransient, shape.nameId[0].endsWith('transient'));
  });

  if (shape.signs.length === 1)
    test(`${shape.name}: with the defaults of the flags the refusal names the one to change`, async (t) => {
      const flag = shape.signs[0] === 'Response' ? 'signed_assertion' : 'signed_envelopes';
      await t.throwsAsync(examine(shape, {}), {
        message: new RegExp(`${flag}_in_resp asks for it`),
      });
      const flags = { signed_assertion_in_resp: false, signed_envelopes_in_resp: false };
      t.is((await examine(shape, flags)).kind, 'proven', 'one signature is enough');
    });
}
