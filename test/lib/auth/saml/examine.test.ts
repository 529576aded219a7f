// What the answer to a test sign-in holds: which parts are really signed, whether the entry admits
// it, and what it says if the entry does not.

import test from 'ava';
import { examineResponse } from '../../../../lib/auth/saml/examine.ts';
import { addressesOf, type SamlSetup } from '../../../../lib/auth/saml/service-provider.ts';
import { parseSamlMetadata } from '../../../../lib/auth/saml-metadata.ts';
import type { SamlIdentityProvider } from '../../../../models/index.ts';
import {
  answerXml,
  base64,
  BOTH,
  denial,
  goodWords,
  idpKey,
  idpMetadata,
  otherIdpKey,
  OUR_ENTITY_ID,
  type Said,
  type Signing,
  wrappedAnswers,
} from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const REQUEST = '_request1';
const GROUPS = `<a:AttributeStatement><a:Attribute Name="groups"><a:AttributeValue>staff</a:AttributeValue></a:Attribute></a:AttributeStatement>`;

function setupOf(changes: Partial<SamlIdentityProvider> = {}): SamlSetup {
  const provider = samlEntry({ metadata: idpMetadata(signOnService()), ...changes });
  const metadata = parseSamlMetadata(provider.metadata);
  const ours = { entityId: OUR_ENTITY_ID, key: idpKey };
  return { provider, metadata, ours, requestId: REQUEST };
}

function examine(
  signing: Partial<Signing> = {},
  said: Partial<Said> = {},
  setup: SamlSetup = setupOf(),
) {
  const words = { ...goodWords(REQUEST, addressesOf(setup.provider).consume), ...said };
  return examineResponse(setup, base64(answerXml(words, { ...BOTH, ...signing })), new Date());
}

const named = ({ signed }: Awaited<ReturnType<typeof examine>>) => signed.map(({ name }) => name);

test('an answer with two signatures is admitted, and its signed parts are named', async (t) => {
  const { refusal, signed, assertion } = await examine({ algorithm: 'sha512' });
  t.is(refusal, null);
  t.deepEqual(signed, [
    { name: 'response', algorithm: 'rsa-sha512' },
    { name: 'assertion', algorithm: 'rsa-sha512' },
  ]);
  t.is(assertion?.nameId, 'person@example.com');
});

for (const [signs, isAssertion] of [
  ['assertion', true],
  ['response', false],
] as const)
  test(`refused for its flags: the provider signs only the ${signs}`, async (t) => {
    const found = await examine({ assertion: isAssertion, response: !isAssertion });
    t.is(found.refusal?.reason, 'answer_invalid');
    const other = isAssertion ? 'response' : 'assertion';
    t.regex(String(found.refusal?.detail), new RegExp(`^signature: the ${other} is not signed`));
    t.deepEqual(named(found), [signs]);
    t.is(found.assertion?.email, 'person@example.com', 'read all the same');
  });

test('an answer without the required attribute is refused, and its attributes are read', async (t) => {
  const setup = setupOf({ required_attribute: { name: 'groups', value: 'vpn' } });
  const { refusal, assertion } = await examine({}, { attributes: GROUPS }, setup);
  t.deepEqual(refusal, { reason: 'claim_required', detail: 'another groups' });
  t.deepEqual(assertion?.attributes, [{ name: 'groups', values: ['staff'] }]);
});

const nothing: [says: string, signing: Partial<Signing>, said: Partial<Said>, signed: string[]][] =
  [
    ['nothing signed', { assertion: false, response: false }, {}, []],
    ["somebody else's key", { key: otherIdpKey }, {}, []],
    ['SHA-1', { algorithm: 'sha1' }, {}, []],
    ['another request', {}, { subjectInResponseTo: '_other' }, ['response', 'assertion']],
    ['too late', {}, { subjectNotOnOrAfter: -3_600 }, ['response', 'assertion']],
    ['for others', {}, { audience: 'urn:other' }, ['response', 'assertion']],
  ];
for (const [says, signing, said, signed] of nothing)
  test(`nothing is read from an answer with an error: ${says}`, async (t) => {
    const found = await examine(signing, said);
    t.not(found.refusal, null);
    t.is(found.assertion, null);
    t.deepEqual(named(found), signed);
  });

test('flags that require no signature do not admit an answer with moved signatures', async (t) => {
  const setup = setupOf();
  const words = goodWords(REQUEST, addressesOf(setup.provider).consume);
  for (const [says, wrapped] of wrappedAnswers(words)) {
    const { refusal, assertion } = await examineResponse(setup, base64(wrapped), new Date());
    t.not(refusal, null, says);
    t.is(assertion, null, says);
  }
});

test('a denial is reported as a denial', async (t) => {
  const setup = setupOf();
  const words = {
    ...goodWords(REQUEST, addressesOf(setup.provider).consume),
    status: denial('AuthnFailed'),
  };
  const xml = answerXml(words, { ...BOTH, assertion: false }, '');
  const { refusal, assertion } = await examineResponse(setup, base64(xml), new Date());
  t.deepEqual(refusal, { reason: 'provider_refused', detail: 'AuthnFailed' });
  t.is(assertion, null);
});

test('a text that is no XML is refused as in a real sign-in', async (t) => {
  for (const posted of ['', '%', base64('<x/>'), base64('no xml'), 'A'.repeat(200_000)]) {
    const { refusal, signed, assertion } = await examineResponse(setupOf(), posted, new Date());
    t.is(refusal?.reason, 'answer_invalid');
    t.deepEqual([signed, assertion], [[], null]);
  }
});
