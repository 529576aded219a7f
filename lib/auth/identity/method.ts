// The names of the ways to sign in. Inside the gateway a name is the provider's kind and its id,
// because an OpenID and a SAML provider may have the same id, and an id may be `email`. People and
// programs see only the id. docs/api.md#sign-in.

import type { ProviderKind } from '../../../models/index.ts';

export { methodOf } from '../../../models/index.ts';

/** Reads a method; null if it is not the method of a provider. */
export function providerOf(method: string): { kind: ProviderKind; providerId: string } | null {
  const [kind, providerId] = method.split('/');
  if ((kind !== 'oidc' && kind !== 'saml') || providerId === undefined) return null;
  return { kind, providerId };
}

/** A method as `last_signed_in_method` shows it: a provider's id, or `email`. */
export function shownMethod(method: string): string {
  return providerOf(method)?.providerId ?? method;
}
