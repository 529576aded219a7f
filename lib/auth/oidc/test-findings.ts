// What an administrator reads after a test sign-in through OpenID Connect: what the provider says
// about the person, and which fields of the entry do not fit. No sentence contains a token.

import type { OpenidConnectProvider, TestReport } from '../../../models/index.ts';
import { readEmail } from '../identity/provision.ts';
import type { ProviderRefusal } from '../identity/refusal.ts';
import { makeReport } from '../identity/test-report.ts';
import { findGroups } from '../identity/groups-findings.ts';
import { bad, doubtful, type Finding, findRequired, good } from '../identity/finding.ts';
import { CLOCK_TOLERANCE_S } from './client.ts';
import { checkRequiredClaim, type Claims, EMAIL_CLAIMS, emailOf, groupsOf } from './claims.ts';

/** The answer of a provider to a test. */
export interface OidcAnswer {
  /** The claims; the ID token comes before userinfo. */
  readonly sources: readonly Claims[];
  /** Whether the e-mail address is verified; userinfo was asked if the ID token does not say it. */
  readonly isEmailVerified: boolean | null;
  readonly idToken: string;
  readonly hasRefreshToken: boolean;
  readonly hasEndSession: boolean;
}

/** Reports an answer that is good apart from the claims that the entry needs. */
export function oidcReport(answer: OidcAnswer, provider: OpenidConnectProvider): TestReport {
  const claim = findRequired('claim', provider.required_claim, () =>
    checkRequiredClaim(provider, answer.sources),
  );
  const { groups_claim: path } = provider;
  const isAdmitted = claim.every(({ verdict }) => verdict === 'good');
  const findings = [
    isAdmitted
      ? good('The entry as it is saved admits this answer.')
      : bad('The entry as it is saved refuses this answer.'),
    good(`The ID token is signed (${algorithmOf(answer.idToken)}).`),
    ...checkClock(answer, Date.now()),
    ...checkEmail(answer, provider),
    ...claim,
    ...findGroups(
      path === undefined ? path : `the claim ${path}`,
      groupsOf(provider, answer.sources),
    ),
    answer.hasRefreshToken
      ? good('There is a refresh token: accounts that the provider closes are noticed.')
      : doubtful(
          'There is no refresh token (offline_access in the scope makes most providers give one): accounts that the provider closes are noticed at the next sign-in only.',
        ),
    answer.hasEndSession
      ? good('Signing out here leads to the provider’s end-session endpoint.')
      : doubtful('The provider has no end-session endpoint: signing out here leaves its session.'),
  ];
  return makeReport(findings, claimsIn(answer.sources));
}

/** Reports an answer that was refused; the detail is a word of ours, as in the log. */
export function oidcRefusalReport({ reason, detail, text, said }: ProviderRefusal): TestReport {
  const why = detail === null ? reason : `${reason} ${detail}`;
  const description = said === null ? '' : ` The provider says: “${said}”`;
  const finding = bad(`The answer is refused: ${why}. People read: “${text}”${description}`);
  return makeReport([finding], []);
}

/** A sign-in takes such a token; one whose validity begins so late would be refused. */
function checkClock({ sources: [claims = {}] }: OidcAnswer, nowMs: number): Finding[] {
  const { iat } = claims;
  const ahead = typeof iat === 'number' ? Math.round(iat - nowMs / 1_000) : 0;
  if (ahead <= CLOCK_TOLERANCE_S) return [];
  return [
    doubtful(
      `The ID token was issued ${ahead} seconds from now: the clock of the provider, or that of this host, is wrong. Set it, or sign-ins may be refused.`,
    ),
  ];
}

function checkEmail(
  { sources, isEmailVerified }: OidcAnswer,
  provider: OpenidConnectProvider,
): Finding[] {
  const { email_claim: claim = EMAIL_CLAIMS[0] } = provider;
  const { email } = emailOf(provider, sources);
  if (email === null)
    return [bad(`There is no claim ${claim}, which the entry takes for the e-mail address.`)];
  if (readEmail(email) === null) return [bad(`The claim ${claim} is not an e-mail address.`)];
  const found = good(`The e-mail address is in the claim ${claim}.`);
  if (isEmailVerified === true) return [found, good('The provider says that it is verified.')];
  return [
    found,
    doubtful(
      isEmailVerified === false
        ? 'The provider says that it is not verified: such people are refused at their first sign-in, unless you trust the entry.'
        : 'The provider does not say that it is verified: administrators and users with a password are linked only where you trust the entry.',
    ),
  ];
}

/** The header of a token whose signature was verified. */
function algorithmOf(idToken: string): string {
  const [header = ''] = idToken.split('.');
  const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg?: unknown };
  return String(alg);
}

/** All claims; those of userinfo only where the ID token lacks them. */
function claimsIn(sources: readonly Claims[]): TestReport['claims'] {
  const claims = Object.entries(Object.assign({}, ...sources.toReversed()) as Claims);
  return claims.map(([name, value]) => ({
    name,
    values: (Array.isArray(value) ? value : [value]).map((one: unknown) =>
      typeof one === 'string' ? one : JSON.stringify(one),
    ),
  }));
}
