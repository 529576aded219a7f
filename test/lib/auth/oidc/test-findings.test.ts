// What a test sign-in through OpenID Connect shows to the administrator.

import test from 'ava';
import {
  type OidcAnswer,
  oidcRefusalReport,
  oidcReport,
} from '../../../../lib/auth/oidc/test-findings.ts';
import { emailOf } from '../../../../lib/auth/oidc/claims.ts';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import type { OpenidConnectProvider } from '../../../../models/index.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';

const idToken = `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.claims.signature`;
const claims = { sub: 's', email: 'ann@example.com', email_verified: true };

function report(answer: Partial<OidcAnswer>, changes: Partial<OpenidConnectProvider> = {}) {
  const { sources = [claims] } = answer;
  const { isEmailVerified } = emailOf(changes, sources);
  const has = { hasRefreshToken: true, hasEndSession: true };
  const all = { sources, isEmailVerified, idToken, ...has, ...answer };
  const { findings, claims: shown } = oidcReport(all, oidcEntry(changes));
  return { shown, lines: findings.map(({ verdict, text }) => `${verdict}: ${text}`) };
}

test('a sign-in without errors has only good findings', (t) => {
  const { lines, shown } = report({
    sources: [claims, { email: 'other@example.com', groups: ['vpn', 7], address: { city: 'X' } }],
  });
  t.true(
    lines.every((line) => line.startsWith('good: ')),
    lines.join('\n'),
  );
  t.true(lines.includes('good: The ID token is signed (ES256).'));
  const values = Object.fromEntries(shown.map((one) => [one.name, one.values]));
  t.deepEqual(values, {
    sub: ['s'],
    email: ['ann@example.com'],
    email_verified: ['true'],
    groups: ['vpn', '7'],
    address: ['{"city":"X"}'],
  });
});

const others: [says: string, given: Parameters<typeof report>, line: RegExp][] = [
  ['no e-mail', [{ sources: [{ sub: 's' }] }], /^bad: There is no claim email/],
  ['another claim', [{}, { email_claim: 'upn' }], /^bad: There is no claim upn/],
  [
    'an e-mail that is none',
    [{ sources: [{ email: 'ann' }] }],
    /^bad: The claim email is not an e-mail address/,
  ],
  [
    'not verified',
    [{ sources: [{ ...claims, email_verified: false }] }],
    /^doubtful: The provider says that it is not verified/,
  ],
  [
    'nothing is said of it',
    [{ sources: [{ email: 'ann@example.com' }] }],
    /^doubtful: The provider does not say that it is verified/,
  ],
  [
    'the claim is not there',
    [{}, { required_claim: { name: 'hd', value: 'example.com' } }],
    /^bad: The entry as it is saved refuses this answer/,
  ],
  [
    'which claim it is',
    [{}, { required_claim: { name: 'hd', value: 'example.com' } }],
    /^bad: You lack the required claim hd=example.com/,
  ],
  [
    'the claim is there',
    [{}, { required_claim: { name: 'sub', value: 's' } }],
    /^good: You have the required claim sub=s/,
  ],
  ['no refresh token', [{ hasRefreshToken: false }], /^doubtful: There is no refresh token/],
  ['no sign-out', [{ hasEndSession: false }], /^doubtful: The provider has no end-session/],
];
for (const [says, given, line] of others)
  test(`found: ${says}`, (t) => {
    const { lines } = report(...given);
    t.true(
      lines.some((one) => line.test(one)),
      lines.join('\n'),
    );
  });

test('a refusal has the same words as in the log', (t) => {
  const { findings, claims } = oidcRefusalReport(
    new ProviderRefusal('answer_invalid', 'signature'),
  );
  t.deepEqual(claims, []);
  t.regex(String(findings[0]?.text), /^The answer is refused: answer_invalid signature\. People /);
});

test('a token from a clock that is ahead is doubtful, within the tolerance it is not', (t) => {
  const linesOf = (aheadS: number): string[] =>
    report({ sources: [{ ...claims, iat: Math.floor(Date.now() / 1_000) + aheadS }] }).lines;
  t.true(
    linesOf(400).some((line) => /^doubtful: The ID token was issued \d+ seconds from/.test(line)),
  );
  for (const aheadS of [-400, 0, 50])
    t.true(
      linesOf(aheadS).every((line) => line.startsWith('good: ')),
      String(aheadS),
    );
});
