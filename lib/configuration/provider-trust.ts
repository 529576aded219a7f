// Groups whose members are administrators: only a provider that is marked as trusted may name one.
// It is looked at again at every sign-in; here an administrator learns of it.
// docs/api.md#administrators-by-group.

import {
  type Authority,
  type Database,
  isTrusted,
  type OpenidConnectProvider,
  type SamlIdentityProvider,
} from '../../models/index.ts';
import { oidcAuthority, samlAuthority } from '../auth/identity/authority.ts';
import { ProviderRefusal } from '../auth/identity/refusal.ts';
import type { SamlValues } from './providers.ts';

/** Which of these entries name a group of administrators and are not trusted, by their place. */
export async function untrustedPlaces(
  database: Database,
  entries: readonly [place: number, entry: OpenidConnectProvider | SamlValues][],
): Promise<Set<number>> {
  const places = new Set<number>();
  for (const [place, entry] of entries) {
    if ((entry.admin_group ?? null) === null) continue;
    const authority = await authorityOf(database, entry);
    if (authority === null || !(await isTrusted(database, authority))) places.add(place);
  }
  return places;
}

async function authorityOf(
  database: Database,
  entry: OpenidConnectProvider | SamlValues,
): Promise<Authority | null> {
  if ('discovery_document_uri' in entry) return oidcAuthority(entry);
  try {
    // Metadata do not depend on our own address.
    return await samlAuthority(database, entry as SamlIdentityProvider);
  } catch (error) {
    if (error instanceof ProviderRefusal) return null;
    throw error;
  }
}
