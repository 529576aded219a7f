// Why a sign-in through a provider came to nothing: a word for counters and log, and a sentence for
// the person in front of the browser. Text that a provider sent is not quoted, because it may hold
// codes, tokens and text of strangers; only administrators read the error text of its token
// endpoint. docs/api.md#sign-in.

/** Whom a page blames: nobody (404), the sign-in (403), the provider (502) or us (503). */
type Blamed = 'nobody' | 'person' | 'provider' | 'gateway';

/** What each reason tells the person, and who is to blame. */
const refusals = {
  unknown_provider: ['nobody', 'There is no such identity provider.'],
  request_invalid: ['person', 'This sign-in is not complete. Please begin again.'],
  request_unknown: [
    'person',
    'This sign-in took too long, was used already or began elsewhere; or too many others began since. Please begin again.',
  ],
  other_browser: ['person', 'This sign-in began in another browser. Please begin again.'],
  provider_unreachable: [
    'provider',
    'The identity provider cannot be reached. Please try again later.',
  ],
  provider_failing: [
    'provider',
    'The identity provider answers with an error of its own. Please try again later.',
  ],
  provider_misconfigured: [
    'provider',
    'The identity provider is not set up rightly. An administrator can test it in the settings.',
  ],
  provider_refused: ['person', 'The identity provider did not let you in.'],
  answer_invalid: [
    'provider',
    'The answer of the identity provider is not valid. An administrator finds the reason in the log.',
  ],
  signed_out_here: [
    'person',
    'You are signed out of this gateway in this browser. Nothing else ended: the identity provider’s request to sign out could not be verified. It must be signed, with RSA and SHA-256; an administrator can turn that on at the provider.',
  ],
  sign_out_refused: [
    'person',
    'The identity provider’s request to sign out could not be verified, so nobody was signed out here: use “Sign out” on a page of this gateway. The request must be signed, with RSA and SHA-256; an administrator can turn that on at the provider.',
  ],
  too_busy: ['gateway', 'Too many people sign in at this moment. Please try again.'],
  answer_used: ['person', 'This sign-in was used already. Please begin again.'],
  email_unverified: [
    'person',
    'Error signing in: the identity provider has not verified your e-mail address.',
  ],
  email_missing: [
    'person',
    'Error signing in: the identity provider did not say which e-mail address is yours.',
  ],
  claim_required: [
    'person',
    'Error signing in: this gateway does not admit your account at the identity provider. An administrator finds in the log which claim it lacks.',
  ],
  not_linked: [
    'person',
    'Error signing in: the identity provider does not vouch for this e-mail address. An administrator can mark the provider as trusted.',
  ],
  issuer_changed: [
    'person',
    'Error signing in: the entry of this identity provider leads to another issuer than when you were linked to it. An administrator can let your next sign-in link you anew: “postern provider relink”, or in the console “Link anew” on your page. For an administrator the provider must be marked as trusted instead.',
  ],
  name_format_changed: [
    'person',
    'Error signing in: the identity provider names you in another form (NameID format) than when you were linked to it. An administrator can let the provider send the former one, or let your next sign-in link you anew: “postern provider relink”, or in the console “Link anew” on your page. For an administrator the provider must be marked as trusted instead.',
  ],
  other_person: [
    'person',
    'This link is for somebody else than the person whom the identity provider named. Sign in there with the account that has the e-mail of the link, or ask your administrator.',
  ],
  user_unknown: [
    'person',
    'Error signing in: user not found and auto_create_users disabled. That means: nobody here has your e-mail address. Please ask an administrator to add you.',
  ],
} as const satisfies Record<string, readonly [Blamed, string]>;

/** Names what happened; a word of the code, never of a request. */
export type RefusalReason = keyof typeof refusals;

/** A sign-in through a provider that was refused. */
export class ProviderRefusal extends Error {
  override name = 'ProviderRefusal';
  readonly reason: RefusalReason;
  /** For the person. */
  readonly text: string;
  readonly blamed: Blamed;
  /** For the log: a word or two, of ours or of a library, never of the provider. */
  readonly detail: string | null;

  /** For log and test: how the provider's token endpoint describes the error, without secrets. */
  readonly said: string | null;

  constructor(
    reason: RefusalReason,
    detail: string | null = null,
    { said = null, ...options }: ErrorOptions & { readonly said?: string | null } = {},
  ) {
    super(detail === null ? reason : `${reason}: ${detail}`, options);
    this.said = said;
    this.reason = reason;
    [this.blamed, this.text] = refusals[reason];
    this.detail = detail;
  }
}
