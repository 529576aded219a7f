// What a test sign-in through SAML shows to the administrator: which flags are right, and whether
// the answer has all that a sign-in needs.

import test from 'ava';
import type { Assertion } from '../../../../lib/auth/saml/assertion.ts';
import type { Examined } from '../../../../lib/auth/saml/examine.ts';
import { flagsFor, samlReport, signedBy } from '../../../../lib/auth/saml/test-findings.ts';
import { parseSamlMetadata } from '../../../../lib/auth/saml-metadata.ts';
import type { SamlIdentityProvider } from '../../../../models/index.ts';
import { idpMetadata } from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const LOGOUT = `<SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo"/>`;
const RSA = { algorithm: 'rsa-sha256' } as const;
const PARTS = {
  response: { name: 'response', ...RSA },
  assertion: { name: 'assertion', ...RSA },
} as const;

const assertion: Assertion = {
  id: '_a',
  issuer: 'https://idp.example',
  nameId: 'n-1',
  nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  isTransient: false,
  email: 'ann@example.com',
  emailFrom: 'the attribute mail',
  attributes: [{ name: 'mail', values: ['ann@example.com'] }],
  personName: undefined,
  groups: undefined,
  sessionIndex: 's1',
  signedInAt: null,
  expiresAt: new Date(),
};

function report(
  examined: Partial<Examined>,
  changes: Partial<SamlIdentityProvider> = {},
  services = signOnService(),
) {
  const provider = samlEntry({ metadata: idpMetadata(services), ...changes });
  const metadata = parseSamlMetadata(provider.metadata);
  const all = { refusal: null, signed: [PARTS.response, PARTS.assertion], assertion, ...examined };
  const { findings, claims } = samlReport(all, { provider, metadata });
  return { claims, lines: findings.map(({ verdict, text }) => `${verdict}: ${text}`) };
}

test('a sign-in without errors has only good findings', (t) => {
  const { lines, claims } = report({}, {}, signOnService() + LOGOUT);
  t.deepEqual(
    lines.map((line) => line.split(':')[0]),
    lines.map(() => 'good'),
  );
  const text = lines.join('\n');
  for (const words of [
    'admits this answer',
    'signs the response (rsa-sha256) and the assertion (rsa-sha256).',
    'format urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    'in the attribute mail',
    'single logout address',
  ])
    t.true(text.includes(words), words);
  t.deepEqual(claims, [
    { name: 'NameID', values: ['n-1'] },
    { name: 'NameID format', values: [assertion.nameIdFormat] },
    { name: 'mail', values: ['ann@example.com'] },
  ]);
});

const flags: [says: string, examined: Partial<Examined>, on: [boolean, boolean], line: string][] = [
  [
    'the response is not signed',
    { signed: [PARTS.assertion] },
    [true, true],
    'bad: The response is not signed, and signed_envelopes_in_resp asks for it: untick “Responses must be signed”.',
  ],
  [
    'the assertion is not signed',
    { signed: [PARTS.response] },
    [true, true],
    'bad: The assertion is not signed, and signed_assertion_in_resp asks for it: untick “Assertions must be signed”.',
  ],
  [
    'one signature is enough where the flags say so',
    { signed: [PARTS.response] },
    [false, true],
    'good: The flags ask for just that.',
  ],
  [
    'more is signed than asked for',
    {},
    [false, true],
    'doubtful: The assertion is signed, and signed_assertion_in_resp does not ask for it: tick “Assertions must be signed”.',
  ],
  [
    'nothing is signed',
    { signed: [], assertion: null },
    [true, true],
    'bad: Neither the response nor the assertion has a good signature: by a certificate of the metadata, with RSA and SHA-256 or SHA-512.',
  ],
];
for (const [says, examined, [ofAssertion, ofResponse], line] of flags)
  test(`the flags: ${says}`, (t) => {
    const wanted = {
      signed_assertion_in_resp: ofAssertion,
      signed_envelopes_in_resp: ofResponse,
    };
    const { lines } = report(examined, wanted);
    t.true(lines.includes(line), lines.join('\n'));
  });

const others: [says: string, given: Parameters<typeof report>, line: RegExp][] = [
  [
    'refused for its flags',
    [{ refusal: { reason: 'answer_invalid', detail: 'signature: …' } }],
    /^bad: The entry as it is saved refuses this answer\. .*: answer_invalid signature: …$/,
  ],
  [
    'denied',
    [{ refusal: { reason: 'provider_refused', detail: 'AuthnFailed' }, assertion: null }],
    /^bad: The provider did not let you in \(AuthnFailed\)\.$/,
  ],
  [
    'a name that changes',
    [{ assertion: { ...assertion, isTransient: true } }],
    /^doubtful: The NameID is another one/,
  ],
  [
    'no e-mail',
    [{ assertion: { ...assertion, email: null, emailFrom: null } }],
    /^bad: No e-mail address was found/,
  ],
  [
    'no such attribute of the e-mail',
    [{ assertion: { ...assertion, email: null, emailFrom: null } }, { email_attribute: 'x' }],
    /^bad: There is no attribute x/,
  ],
  [
    'an e-mail that is none',
    [{ assertion: { ...assertion, email: 'ann' } }],
    /^bad: There is no e-mail address in the attribute mail\./,
  ],
  [
    'the attribute is there',
    [{}, { required_attribute: { name: 'MAIL', value: 'ann@example.com' } }],
    /^good: You have the required attribute MAIL=ann@example.com\.$/,
  ],
  [
    'the attribute is not there',
    [{}, { required_attribute: { name: 'groups', value: 'vpn' } }],
    /^bad: You lack the required attribute groups=vpn/,
  ],
  ['no single logout', [{}], /^doubtful: The metadata name no single logout address/],
  [
    'no session',
    [{ assertion: { ...assertion, sessionIndex: null } }],
    /^doubtful: There is no SessionIndex/,
  ],
];
for (const [says, given, line] of others)
  test(`found: ${says}`, (t) => {
    const { lines } = report(...given);
    t.true(
      lines.some((one) => line.test(one)),
      lines.join('\n'),
    );
  });

test('each flag requires what it names to be signed', (t) => {
  t.is(signedBy([]), null);
  for (const [parts, signed, ofAssertion, ofResponse] of [
    [[PARTS.response], 'response', false, true],
    [[PARTS.assertion], 'assertion', true, false],
    [[PARTS.response, PARTS.assertion], 'both', true, true],
  ] as const) {
    t.is(signedBy(parts), signed);
    t.deepEqual(flagsFor(signed), {
      signed_assertion_in_resp: ofAssertion,
      signed_envelopes_in_resp: ofResponse,
    });
  }
});
