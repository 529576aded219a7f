// Groups whose members are administrators: only a provider that is marked as trusted may name one.
// Every sign-in checks this again; here it becomes an error for the administrator. When an entry is
// changed to another provider, the marks and roles of the old one are removed here.
// docs/api.md#administrators-by-group.

import {
  type Database,
  isTrusted,
  markTrusted,
  type OpenidConnectProvider,
  type SamlIdentityProvider,
  type Transaction,
} from '../../../models/index.ts';
import { authorityOf } from '../../auth/identity/authority.ts';
import { methodOf } from '../../auth/identity/method.ts';
import type { ProviderLists } from '../../auth/identity/standing-providers.ts';
import type { SamlValues } from './providers.ts';

/** Which of these entries name a group of administrators and are not trusted, by their place. */
export async function untrustedPlaces(
  database: Database,
  entries: readonly [place: number, entry: OpenidConnectProvider | SamlValues][],
): Promise<Set<number>> {
  const places = new Set<number>();
  for (const [place, entry] of entries) {
    // An id that cannot be read is an error already, and has no mark.
    if ((entry.admin_group ?? null) === null || (entry.id ?? null) === null) continue;
    // Metadata do not depend on our own address.
    const authority = await authorityOf(database, entry as SamlIdentityProvider);
    if (authority === null || !(await isTrusted(database, authority))) places.add(place);
  }
  return places;
}

/**
 * Removes the marks of entries that are gone or lead elsewhere, so that none comes back with an
 * entry of the same name.
 */
export async function forgetTrust(
  database: Database,
  { openid_connect_providers: openid, saml_identity_providers: saml }: ProviderLists,
  transaction: Transaction,
): Promise<void> {
  const marks = await database.models.TrustedProvider.findAll({ transaction, lock: true });
  for (const mark of marks) {
    const entries = mark.kind === 'oidc' ? openid : saml;
    const entry = entries.find(({ id }) => id === mark.provider_id);
    // If metadata cannot be read now, the mark stays: it counts only for the authority for which it
    // was set.
    const authority =
      entry === undefined ? undefined : await authorityOf(database, entry, transaction);
    if (authority === null || authority?.authority === mark.authority) continue;
    await markTrusted(database, mark, false, transaction);
  }
}

/** The entries, as `oidc/okta`, that lead to another provider than before. */
export async function turnedElsewhere(
  database: Database,
  before: ProviderLists,
  after: ProviderLists,
  transaction: Transaction,
): Promise<Set<string>> {
  const turned = new Set<string>();
  for (const [kind, list] of Object.entries(LISTS))
    for (const entry of after[list]) {
      const former = before[list].find(({ id }) => id === entry.id);
      if (former === undefined) continue;
      const from = await authorityOf(database, former, transaction);
      const to = await authorityOf(database, entry, transaction);
      // Whose metadata cannot be read now is not known to be another.
      if (from !== null && to !== null && from.authority !== to.authority)
        turned.add(methodOf(kind as keyof typeof LISTS, entry.id));
    }
  return turned;
}

const LISTS = { oidc: 'openid_connect_providers', saml: 'saml_identity_providers' } as const;
