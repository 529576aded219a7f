// Answers of a SAML provider that lies. One thing of a good answer is changed, and the answer must
// be refused for that reason: moved signatures, replayed parts, no signature, too late, for others.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import { parseSamlMetadata } from '../../../../lib/auth/saml-metadata.ts';
import { checkResponse } from '../../../../lib/auth/saml/response.ts';
import { addressesOf, samlOf, type SamlSetup } from '../../../../lib/auth/saml/service-provider.ts';
import {
  answerXml,
  assertionXml,
  base64,
  BOTH,
  denial,
  ENTITY_ID,
  EVIL,
  goodWords,
  idpKey,
  idpMetadata,
  otherIdpKey,
  OUR_ENTITY_ID,
  responseXml,
  type Said,
  sign,
  type Signing,
  wrappedAnswers,
} from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const REQUEST = '_request1';
const metadata = idpMetadata(signOnService());
const EMAIL = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';

function setupOf(flags: Partial<ReturnType<typeof samlEntry>> = {}): SamlSetup {
  const provider = samlEntry({ metadata, ...flags });
  return {
    provider,
    metadata: parseSamlMetadata(provider.metadata),
    ours: { entityId: OUR_ENTITY_ID, key: idpKey },
    requestId: REQUEST,
  };
}

const setup = setupOf();
const words = (changes: Partial<Said> = {}): Said => ({
  ...goodWords(REQUEST, addressesOf(setup.provider).consume),
  ...changes,
});

function examine(xml: string, given: SamlSetup = setup) {
  return checkResponse(given, base64(xml), new Date());
}

async function refusal(t: ExecutionContext, work: Promise<unknown>): Promise<string> {
  const error = await t.throwsAsync(work, { instanceOf: ProviderRefusal });
  return error?.message ?? '';
}

test('a good answer gives the account that its signed assertion names', async (t) => {
  const xml = answerXml(words({ assertionId: '_a1' }));
  const madeAtMs = Date.now();
  const verdict = await examine(xml);
  if (verdict.kind !== 'proven') return t.fail();
  const { expiresAt, signedInAt, ...assertion } = verdict.assertion;
  t.true((signedInAt?.getTime() ?? Infinity) <= Date.now());
  t.deepEqual(assertion, {
    id: '_a1',
    issuer: ENTITY_ID,
    nameId: 'person@example.com',
    nameIdFormat: EMAIL,
    isTransient: false,
    email: 'person@example.com',
    emailFrom: 'the NameID',
    attributes: [],
    groups: undefined,
    personName: undefined,
    sessionIndex: 's1',
  });
  const lifeMs = expiresAt.getTime() - madeAtMs;
  t.true(lifeMs > 350_000 && lifeMs < 361_000, 'its time and the clocks that may differ');
});

// ---- the flags ---------------------------------------------------------------------------------

const flags: [signed: string, flags: string, isTaken: boolean][] = [
  // First what is signed, then which flags are on: A is the assertion, R the response.
  ['AR', 'AR', true],
  ['A-', 'AR', false],
  ['-R', 'AR', false],
  ['--', 'AR', false],
  ['AR', 'A-', true],
  ['A-', 'A-', true],
  ['-R', 'A-', false],
  ['--', 'A-', false],
  ['AR', '-R', true],
  ['A-', '-R', false],
  ['-R', '-R', true],
  ['--', '-R', false],
  ['AR', '--', true],
  ['A-', '--', true],
  // The assertion is inside the part that is signed.
  ['-R', '--', true],
  ['--', '--', false],
];
for (const [signed, wanted, isTaken] of flags)
  test(`signed ${signed}, wanted ${wanted}: ${isTaken ? 'taken' : 'refused'}`, async (t) => {
    const given = setupOf({
      signed_assertion_in_resp: wanted.includes('A'),
      signed_envelopes_in_resp: wanted.includes('R'),
    });
    const signing = { ...BOTH, assertion: signed.includes('A'), response: signed.includes('R') };
    const verdict = examine(answerXml(words(), signing), given);
    if (isTaken) t.is((await verdict).kind, 'proven');
    else {
      const message = await refusal(t, verdict);
      const isMissing = (part: string) => wanted.includes(part) && !signed.includes(part);
      t.regex(message, /^answer_invalid: signature: /);
      t.is(
        message.includes('assertion is not signed, and signed_assertion_in_resp'),
        isMissing('A'),
      );
      t.is(
        message.includes('response is not signed, and signed_envelopes_in_resp'),
        isMissing('R'),
      );
    }
  });

// ---- attributes --------------------------------------------------------------------------------

/**
 * Attributes as Entra writes them: the NameID is the user name, claims have addresses for names.
 */
const CLAIM = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress';
const attribute = (name: string, ...values: string[]) =>
  `<a:AttributeStatement><a:Attribute Name="${name}">${values.map((value) => `<a:AttributeValue>${value}</a:AttributeValue>`).join('')}</a:Attribute></a:AttributeStatement>`;

test('the e-mail comes from the attribute that the entry names, before the NameID', async (t) => {
  const said = words({ attributes: attribute(CLAIM, 'mail@example.com') });
  const emailFor = async (email_attribute?: string) => {
    const given = setupOf(email_attribute === undefined ? {} : { email_attribute });
    const verdict = await examine(answerXml(said), given);
    return verdict.kind === 'proven' ? verdict.assertion.email : undefined;
  };
  t.is(await emailFor(), 'person@example.com');
  t.is(await emailFor(CLAIM), 'mail@example.com');
  t.is(await emailFor('other'), null, 'nothing else stands for it');
});

test('only who has the required attribute is admitted', async (t) => {
  const given = setupOf({ required_attribute: { name: 'groups', value: 'vpn' } });
  const member = words({ attributes: attribute('groups', 'staff', 'vpn') });
  t.is((await examine(answerXml(member), given)).kind, 'proven');
  const other = words({ attributes: attribute('groups', 'staff') });
  t.is(await refusal(t, examine(answerXml(other), given)), 'claim_required: another groups');
  t.is(await refusal(t, examine(answerXml(words()), given)), 'claim_required: no attribute groups');
});

// ---- wrapping ----------------------------------------------------------------------------------

const LAX = setupOf({ signed_assertion_in_resp: false, signed_envelopes_in_resp: false });

for (const [says, xml] of wrappedAnswers(words()))
  test(`a moved signature is refused: ${says}`, async (t) => {
    t.true(xml.includes(EVIL), 'the attack is in the answer');
    t.regex(await refusal(t, examine(xml, LAX)), /^answer_invalid/);
    // node-saml alone does not believe it either: it reads what was signed, or refuses.
    try {
      const saml = await samlOf(LAX);
      const { profile } = await saml.validatePostResponseAsync({
        SAMLResponse: base64(xml),
      });
      t.not(profile?.nameID, EVIL);
    } catch (error) {
      t.true(error instanceof Error);
    }
  });

// ---- one thing at a time -----------------------------------------------------------------------

const audience = (name: string) =>
  `<a:AudienceRestriction><a:Audience>${name}</a:Audience></a:AudienceRestriction>`;

/** What the provider says, all of it signed, and why it is refused. */
const lies: [says: string, said: Partial<Said>, why: RegExp][] = [
  ['another audience', { audience: 'urn:other' }, /audience/],
  ['no audience', { audiences: '' }, /audience/],
  [
    'a second restriction to somebody else',
    { audiences: audience(OUR_ENTITY_ID) + audience('urn:other') },
    /audience/,
  ],
  ['another recipient', { recipient: 'https://other.example/consume' }, /Recipient/],
  ['another destination', { destination: 'https://other.example/consume' }, /Destination/],
  ['another issuer', { entityId: 'https://evil.example' }, /Issuer/],
  ['another request', { responseInResponseTo: '_other' }, /InResponseTo/],
  ['another request in the subject', { subjectInResponseTo: '_other' }, /InResponseTo/],
  ['no request at all', { responseInResponseTo: null, subjectInResponseTo: null }, /InResponseTo/],
  ['no request in the subject', { subjectInResponseTo: null }, /InResponseTo/],
  ['a past time', { notBefore: -900, notOnOrAfter: -61 }, /time/],
  ['a future time', { notBefore: 65, notOnOrAfter: 900 }, /time/],
  ['a confirmation that ended', { subjectNotOnOrAfter: -61 }, /time/],
  ['a confirmation without end', { subjectNotOnOrAfter: null }, /NotOnOrAfter|node-saml/],
  ['a session that ended', { sessionNotOnOrAfter: -61 }, /time/],
  [
    'another way to confirm',
    { method: 'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches' },
    /Subject/,
  ],
  ['no conditions', { conditions: '<a:Advice/>' }, /audience/],
  ['no statement', { statements: '<a:AttributeStatement/>' }, /AuthnStatement/],
  ['another version', { version: '1.1' }, /version/],
  ['no name', { nameId: '' }, /NameID/],
  ['nothing but spaces for a name', { nameId: '  ' }, /NameID/],
  ['an element in the name', { nameId: 'admin<a:b/>@example.com' }, /NameID/],
  ['a long name', { nameId: 'n'.repeat(1_025) }, /NameID/],
];
for (const [says, said, why] of lies)
  test(`refused: ${says}`, async (t) => {
    t.regex(await refusal(t, examine(answerXml(words(said)))), why);
  });

test('clocks may differ by a minute at most', async (t) => {
  for (const said of [
    // The verification has time: it is a process that may have to wait for a processor.
    { notBefore: -900, notOnOrAfter: -30, subjectNotOnOrAfter: -30 },
    { notBefore: 55, notOnOrAfter: 900 },
  ])
    t.is((await examine(answerXml(words(said)))).kind, 'proven');
});

// ---- forms -------------------------------------------------------------------------------------

const good = () => answerXml(words());
const forms: [says: string, make: () => string, why: RegExp][] = [
  ['another key', () => answerXml(words(), { ...BOTH, key: otherIdpKey }), /signature/],
  ['SHA-1', () => answerXml(words(), { ...BOTH, algorithm: 'sha1' }), /algorithm/],
  ['a name changed after signing', () => good().replace('>person@', '>admin@'), /signature/],
  ['a comment in the name', () => good().replace('>person@', '>person<!-- -->@'), /a comment/],
  ['a comment anywhere', () => good().replace('<p:Status>', '<!-- --><p:Status>'), /a comment/],
  [
    'a processing instruction in the name',
    () => good().replace('>person@', '>person<?x y?>@'),
    /processing instruction/,
  ],
  [
    'a DOCTYPE with an entity',
    () => `<!DOCTYPE x [<!ENTITY e "admin">]>${good().replace('>person@', '>&e;@')}`,
    /DOCTYPE/,
  ],
  [
    'an external entity',
    () => `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${good()}`,
    /DOCTYPE/,
  ],
  ['an entity nobody declared', () => good().replace('>person@', '>&e;@'), /well-formed/],
  ['two assertions', () => withAssertions(2), /a second assertion/],
  ['no assertion', () => withAssertions(0), /no assertion/],
  ['a second root', () => `${good()}${good()}`, /well-formed/],
  ['an assertion alone', () => sign(assertionXml(words()), 'Assertion', BOTH), /not a Response/],
  ['a page', () => '<html><body>no</body></html>', /not a Response/],
  ['nothing', () => ' ', /well-formed/],
  [
    'deep nesting',
    () => answerXml(words(), BOTH, '<x>'.repeat(100) + '</x>'.repeat(100)),
    /deeper/,
  ],
  ['an encrypted assertion', () => withInner('<a:EncryptedAssertion/>'), /encrypted/],
  [
    'a signature elsewhere',
    () =>
      withInner(
        '<p:Extensions><Signature xmlns="http://www.w3.org/2000/09/xmldsig#"/></p:Extensions>',
      ),
    /out of place/,
  ],
  ['two statuses', () => good().replace('<p:Status>', '<p:Status/><p:Status>'), /Status/],
];

function withAssertions(count: number): string {
  const assertions = Array.from({ length: count }, () =>
    sign(assertionXml(words()), 'Assertion', BOTH),
  );
  return answerXml(words(), BOTH, assertions.join(''));
}

function withInner(inner: string): string {
  return sign(responseXml(words(), inner), 'Response', BOTH);
}

for (const [says, make, why] of forms)
  test(`refused: ${says}`, async (t) => {
    t.regex(await refusal(t, examine(make())), why);
    t.regex(await refusal(t, examine(make(), LAX)), why);
  });

test('a text that is not base64 of UTF-8, or too long, is refused before it is parsed', async (t) => {
  const post = (text: string) => refusal(t, checkResponse(setup, text, new Date()));
  t.regex(await post(''), /not base64/);
  t.regex(await post('%3Cxml%3E'), /not base64/);
  t.regex(await post(Buffer.from([0xff, 0xfe]).toString('base64')), /not UTF-8/);
  t.regex(await post('A'.repeat(800_000)), /too long/);
});

test('base64 may hold line breaks', async (t) => {
  const wrapped = base64(good()).replaceAll(/(.{76})/g, '$1\r\n');
  t.is((await checkResponse(setup, wrapped, new Date())).kind, 'proven');
});

test('a signature of SHA-512 is accepted', async (t) => {
  t.is((await examine(answerXml(words(), { ...BOTH, algorithm: 'sha512' }))).kind, 'proven');
});

// ---- the e-mail --------------------------------------------------------------------------------

const mail = (name: string, value: string) =>
  `<a:AttributeStatement><a:Attribute Name="${name}"><a:AttributeValue>${value}</a:AttributeValue></a:Attribute></a:AttributeStatement>`;
const emails: [says: string, said: Partial<Said>, email: string | null][] = [
  ['a name that is an address', { attributes: mail('mail', 'other@x') }, 'person@example.com'],
  [
    'the attribute mail',
    { format: PERSISTENT, nameId: '4711', attributes: mail('mail', 'a@b') },
    'a@b',
  ],
  [
    'the attribute Email',
    { format: PERSISTENT, nameId: '4711', attributes: mail('Email', 'a@b') },
    'a@b',
  ],
  [
    'the claim of Microsoft',
    {
      format: PERSISTENT,
      nameId: '4711',
      attributes: mail('http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress', 'a@b'),
    },
    'a@b',
  ],
  [
    'the object id',
    {
      format: PERSISTENT,
      nameId: '4711',
      attributes: mail('urn:oid:0.9.2342.19200300.100.1.3', 'a@b'),
    },
    'a@b',
  ],
  ['a name that looks like one', { format: PERSISTENT, nameId: 'a@b' }, 'a@b'],
  ['none', { format: PERSISTENT, nameId: '4711', attributes: mail('cn', 'a@b') }, null],
  [
    'a value that is no text',
    { format: PERSISTENT, nameId: '4711', attributes: mail('mail', 'a<a:b/>@b') },
    null,
  ],
];
for (const [says, said, email] of emails)
  test(`the e-mail comes from ${says}`, async (t) => {
    const verdict = await examine(answerXml(words(said)));
    t.is(verdict.kind === 'proven' ? verdict.assertion.email : '', email);
  });

test('a name that changes at each sign-in is marked as such', async (t) => {
  const verdict = await examine(answerXml(words({ format: TRANSIENT, nameId: '_x' })));
  t.true(verdict.kind === 'proven' && verdict.assertion.isTransient);
});

// ---- refusals by the provider ------------------------------------------------------------------

const signedResponse: Signing = { ...BOTH, assertion: false };
const denied = (status: string, signing: Partial<Signing> = {}, said: Partial<Said> = {}) =>
  examine(answerXml(words({ status, ...said }), { ...signedResponse, ...signing }, ''), LAX);

test('a denial counts if it is signed and answers our request', async (t) => {
  for (const word of ['AuthnFailed', 'RequestDenied', 'UnknownPrincipal'])
    t.deepEqual(await denied(denial(word)), { kind: 'denied', status: word });
  t.is(
    await refusal(t, denied(denial('AuthnFailed'), { response: false })),
    'provider_refused: AuthnFailed',
  );
  t.is(
    await refusal(t, denied(denial('AuthnFailed'), { key: otherIdpKey })),
    'provider_refused: AuthnFailed',
  );
  const other = denied(denial('AuthnFailed'), {}, { responseInResponseTo: '_other' });
  t.is(await refusal(t, other), 'answer_invalid: InResponseTo');
});

// docs/bugs-of-others.md#bug-21: answers that disable nobody.
test('errors of the provider itself, or about the request, deny nobody', async (t) => {
  const top = '<p:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"/>';
  t.is(await refusal(t, denied(top)), 'provider_refused: Responder');
  for (const word of ['NoPassive', 'RequestUnsupported', 'InvalidNameIDPolicy'])
    t.is(await refusal(t, denied(denial(word))), `provider_refused: ${word}`);
  const odd = '<p:StatusCode Value="&lt;script&gt;"/>';
  t.is(await refusal(t, denied(odd)), 'provider_refused: unknown');
});

test('an assertion does not count if the status is no success', async (t) => {
  const xml = answerXml(words({ status: denial('AuthnFailed') }));
  const verdict = await examine(xml).catch((error: unknown) => error);
  t.false((verdict as { kind?: string }).kind === 'proven');
});

test('the log holds nothing of the answer', async (t) => {
  const error = await t.throwsAsync(examine(answerXml(words({ audience: 'the-secret-text' }))), {
    instanceOf: ProviderRefusal,
  });
  t.false(`${error?.message} ${error?.text} ${error?.detail}`.includes('the-secret-text'));
});
