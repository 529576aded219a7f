// Identity providers as pages name them: by the label that people read on the button.

import { methodOf, shownMethod } from '../../auth/identity/method.ts';
import type { Web } from '../kit/web.ts';

/**
 * Names the provider of a method, such as `oidc/okta`, or of an id that one provider alone has; one
 * that is removed has its id as its name.
 */
export type NameOfProvider = (method: string) => string;

/** The names of all providers. */
export async function providerNames({ recall }: Pick<Web, 'recall'>): Promise<NameOfProvider> {
  await recall.refresh();
  const { openid_connect_providers: openid, saml_identity_providers: saml } =
    await recall.configuration();
  const labels = new Map([
    ...openid.map(({ id, label }) => [methodOf('oidc', id), label] as const),
    ...saml.map(({ id, label }) => [methodOf('saml', id), label] as const),
  ]);
  const byId = Map.groupBy([...openid, ...saml], ({ id }) => id);
  return (method) => {
    const [one, other] = byId.get(method) ?? [];
    const label = other === undefined ? one?.label : undefined;
    return labels.get(method) ?? label ?? shownMethod(method);
  };
}
