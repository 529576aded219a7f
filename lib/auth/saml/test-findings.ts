// What an administrator reads after a test sign-in through SAML: what the provider signs and says,
// and which fields of the entry do not fit. Flags and fields are named as in the form.

import type { SamlIdentityProvider, SignedParts, TestReport } from '../../../models/index.ts';
import { readEmail } from '../identity/provision.ts';
import { makeReport } from '../identity/test-report.ts';
import { findGroups } from '../identity/groups-findings.ts';
import { bad, doubtful, type Finding, findRequired, good } from '../identity/finding.ts';
import type { SamlMetadata } from '../saml-metadata.ts';
import { type Assertion, checkRequired } from './assertion.ts';
import type { Examined, SignedPart } from './examine.ts';

/** The flags that ask for signatures of the provider. */
export type SignatureFlags = Pick<
  SamlIdentityProvider,
  'signed_assertion_in_resp' | 'signed_envelopes_in_resp'
>;

/** Each part with its flag, and with the words of the box in the form. */
const FLAGS = [
  { part: 'response', flag: 'signed_envelopes_in_resp', box: '“Responses must be signed”' },
  { part: 'assertion', flag: 'signed_assertion_in_resp', box: '“Assertions must be signed”' },
] as const;

/** Which parts are signed, in the form that the database keeps; null if none is. */
export function signedBy(parts: readonly SignedPart[]): SignedParts | null {
  return parts.length > 1 ? 'both' : (parts[0]?.name ?? null);
}

/** The flags that ask for exactly the parts that are signed. */
export function flagsFor(signed: SignedParts): SignatureFlags {
  return {
    signed_assertion_in_resp: signed !== 'response',
    signed_envelopes_in_resp: signed !== 'assertion',
  };
}

/** Reports what the answer to a test was. */
export function samlReport(
  { refusal, signed, assertion }: Examined,
  { provider, metadata }: { provider: SamlIdentityProvider; metadata: SamlMetadata },
): TestReport {
  const findings = [
    checkAdmission(refusal),
    ...(refusal?.reason === 'provider_refused' ? [] : checkSigned(signed, provider)),
    ...(assertion === null ? [] : checkPerson(assertion, provider)),
    checkLogout(metadata),
  ];
  return makeReport(findings, assertion === null ? [] : claimsIn(assertion));
}

function checkAdmission(refusal: Examined['refusal']): Finding {
  if (refusal === null) return good('The entry as it is saved admits this answer.');
  const { reason, detail } = refusal;
  if (reason === 'provider_refused') return bad(`The provider did not let you in (${detail}).`);
  const why = detail === null ? reason : `${reason} ${detail}`;
  return bad(
    `The entry as it is saved refuses this answer. For a sign-in the log would say: ${why}`,
  );
}

function checkSigned(signed: readonly SignedPart[], provider: SignatureFlags): Finding[] {
  if (signed.length === 0)
    return [
      bad(
        'Neither the response nor the assertion has a good signature: by a certificate of the metadata, with RSA and SHA-256 or SHA-512.',
      ),
    ];
  const parts = signed.map(({ name, algorithm }) => `the ${name} (${algorithm})`).join(' and ');
  const isSigned = (part: SignedPart['name']) => signed.some(({ name }) => name === part);
  const wrong = FLAGS.flatMap(({ part, flag, box }) => {
    if (provider[flag] === isSigned(part)) return [];
    return provider[flag]
      ? [bad(`The ${part} is not signed, and ${flag} asks for it: untick ${box}.`)]
      : [doubtful(`The ${part} is signed, and ${flag} does not ask for it: tick ${box}.`)];
  });
  return [
    good(`The provider signs ${parts}${signed.length === 1 ? ', and nothing else' : ''}.`),
    ...(wrong.length === 0 ? [good('The flags ask for just that.')] : wrong),
  ];
}

function checkPerson(assertion: Assertion, provider: SamlIdentityProvider): Finding[] {
  const { isTransient, nameIdFormat, sessionIndex } = assertion;
  return [
    isTransient
      ? doubtful(
          'The NameID is another one at each sign-in (transient): people are found by their e-mail address each time.',
        )
      : good(`The NameID has the format ${nameIdFormat ?? 'that is not specified'}.`),
    checkEmail(assertion, provider),
    ...findRequired('attribute', provider.required_attribute, () =>
      checkRequired(assertion.attributes, provider),
    ),
    ...findGroups(groupsPlace(provider), assertion.groups),
    ...(sessionIndex === null
      ? [doubtful('There is no SessionIndex: a sign-out there ends all sessions of the person.')]
      : []),
  ];
}

function groupsPlace({ groups_attribute: name }: SamlIdentityProvider): string | undefined {
  return name === undefined ? undefined : `the attribute ${name}`;
}

function checkEmail(
  { email, emailFrom }: Assertion,
  { email_attribute: chosen }: SamlIdentityProvider,
): Finding {
  if (email === null || emailFrom === null)
    return bad(
      chosen === undefined
        ? 'No e-mail address was found: let the provider send one, or name its attribute below (email_attribute).'
        : `There is no attribute ${chosen}, which the entry names as that of the e-mail address (email_attribute).`,
    );
  return readEmail(email) === null
    ? bad(`There is no e-mail address in ${emailFrom}.`)
    : good(`The e-mail address is in ${emailFrom}.`);
}

function checkLogout({ logoutUrls }: SamlMetadata): Finding {
  return logoutUrls.redirect === undefined
    ? doubtful(
        'The metadata name no single logout address for HTTP-Redirect: the provider’s sign-outs are not answered.',
      )
    : good(
        'The metadata name a single logout address. A sign-out there ends the session here, if its request is signed; signing out here does not sign out there.',
      );
}

function claimsIn({ nameId, nameIdFormat, attributes }: Assertion): TestReport['claims'] {
  const format = nameIdFormat === null ? [] : [{ name: 'NameID format', values: [nameIdFormat] }];
  return [{ name: 'NameID', values: [nameId] }, ...format, ...attributes];
}
