// How a way to sign in is called: inside, a provider's kind stands before its id, since an OpenID
// and a SAML provider may share one id, and an id may be `email`; outside, it is the id alone.
// docs/api.md#sign-in.

import type { ProviderKind } from '../../../models/index.ts';

/** The method of a provider: `oidc/okta`. Ids hold no slash. */
export function methodOf(kind: ProviderKind, providerId: string): string {
  return `${kind}/${providerId}`;
}

/** Reads a method; null for one that is no provider's. */
export function providerOf(method: string): { kind: ProviderKind; providerId: string } | null {
  const [kind, providerId] = method.split('/');
  if ((kind !== 'oidc' && kind !== 'saml') || providerId === undefined) return null;
  return { kind, providerId };
}

/** A method as `last_signed_in_method` shows it: a provider's id, or `email`. */
export function shownMethod(method: string): string {
  return providerOf(method)?.providerId ?? method;
}
