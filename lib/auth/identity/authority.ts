// The provider that an entry of the configuration leads to. An administrator marks it as trusted;
// an entry that is changed to another address or another entity loses the mark.
// docs/api.md#trusted-providers.

import type {
  Authority,
  Database,
  OpenidConnectProvider,
  SamlIdentityProvider,
  Transaction,
} from '../../../models/index.ts';
import { metadataOf } from '../saml/provider-metadata.ts';
import { ProviderRefusal } from './refusal.ts';

/** The authority of an OpenID provider: the address of its discovery document. */
export function oidcAuthority({
  id,
  discovery_document_uri,
}: Pick<OpenidConnectProvider, 'id' | 'discovery_document_uri'>): Authority {
  return { kind: 'oidc', provider_id: id, authority: discovery_document_uri };
}

/**
 * The authority of a SAML provider: its entity id; throws ProviderRefusal if its metadata are
 * unfit.
 */
export async function samlAuthority(
  database: Database,
  provider: SamlIdentityProvider,
  transaction?: Transaction,
): Promise<Authority> {
  const { entityId } = await metadataOf(database, provider, transaction);
  return { kind: 'saml', provider_id: provider.id, authority: entityId };
}

/** The authority of an entry of either list; null if its metadata cannot be read. */
export async function authorityOf(
  database: Database,
  entry: OpenidConnectProvider | SamlIdentityProvider,
  transaction?: Transaction,
): Promise<Authority | null> {
  if ('discovery_document_uri' in entry) return oidcAuthority(entry);
  try {
    return await samlAuthority(database, entry, transaction);
  } catch (error) {
    if (error instanceof ProviderRefusal) return null;
    throw error;
  }
}

/** An entry of either list; its authority is null where its metadata cannot be read. */
export interface EntryAuthority extends Pick<OpenidConnectProvider, 'id' | 'label'> {
  readonly kind: Authority['kind'];
  readonly authority: Authority | null;
}

/** All entries of the configuration, and who each leads to. */
export async function authoritiesOf(
  database: Database,
  configuration: {
    readonly openid_connect_providers: readonly OpenidConnectProvider[];
    readonly saml_identity_providers: readonly SamlIdentityProvider[];
  },
): Promise<EntryAuthority[]> {
  const entries: EntryAuthority[] = configuration.openid_connect_providers.map((entry) => ({
    kind: 'oidc',
    id: entry.id,
    label: entry.label,
    authority: oidcAuthority(entry),
  }));
  for (const entry of configuration.saml_identity_providers) {
    const authority = await authorityOf(database, entry);
    entries.push({ kind: 'saml', id: entry.id, label: entry.label, authority });
  }
  return entries;
}
