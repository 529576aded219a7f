// Who an entry of the configuration leads to: what an administrator marks as trusted. An entry that
// is turned to another address or another entity is not the one that was marked. api.md, section 8.

import type {
  Authority,
  OpenidConnectProvider,
  SamlIdentityProvider,
} from '../../../models/index.ts';
import { metadataOf } from '../saml/provider-metadata.ts';

/** Of an OpenID provider: the address of its discovery document. */
export function oidcAuthority({
  id,
  discovery_document_uri,
}: Pick<OpenidConnectProvider, 'id' | 'discovery_document_uri'>): Authority {
  return { kind: 'oidc', provider_id: id, authority: discovery_document_uri };
}

/** Of a SAML provider: its entity id; throws ProviderRefusal where its metadata are unfit. */
export async function samlAuthority(provider: SamlIdentityProvider): Promise<Authority> {
  const { entityId } = await metadataOf(provider);
  return { kind: 'saml', provider_id: provider.id, authority: entityId };
}
