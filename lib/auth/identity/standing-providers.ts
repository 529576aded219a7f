// Which groups each identity provider may decide about, by the present configuration.
// docs/api.md#groups-of-providers.

import {
  actAs,
  type Database,
  forgetGroupsOfOthers,
  GATEWAY,
  lockScopes,
  type OpenidConnectProvider,
  type SamlIdentityProvider,
  type StandingProviders,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import type { Chore } from '../../kit/process/hourly.ts';
import { methodOf } from './method.ts';

/** The lists of the configuration. */
export interface ProviderLists {
  readonly openid_connect_providers: readonly OpenidConnectProvider[];
  readonly saml_identity_providers: readonly SamlIdentityProvider[];
}

/** The entries of both lists: their names, as `oidc/okta`, and where they find names of groups. */
export function entriesOf({
  openid_connect_providers: openid,
  saml_identity_providers: saml,
}: ProviderLists) {
  return [
    ...openid.map((entry) => ({
      name: methodOf('oidc', entry.id),
      where: entry.groups_claim,
      entry,
    })),
    ...saml.map((entry) => ({
      name: methodOf('saml', entry.id),
      where: entry.groups_attribute,
      entry,
    })),
  ];
}

/**
 * The entries of both lists, by name. Entries that were `turned` to another provider have not named
 * a group yet.
 */
export function standingProviders(
  lists: ProviderLists,
  turned: ReadonlySet<string> = new Set(),
): StandingProviders {
  const entries = entriesOf(lists);
  const namesOf = (some: typeof entries) => some.map(({ name }) => name);
  const naming = entries.filter(({ name, where }) => where !== undefined && !turned.has(name));
  return {
    all: namesOf(entries),
    naming: namesOf(naming),
    administering: namesOf(naming.filter(({ entry }) => entry.admin_group !== undefined)),
  };
}

/** Runs a write in its transaction, and notes what it does to policy tests. */
export type WatchWrite = (transaction: Transaction, write: () => Promise<void>) => Promise<void>;

/**
 * Removes memberships whose entry is gone. The environment may have fixed the entry, and then no
 * request removed it.
 */
export function forgetGroups(
  database: Database,
  lists: () => Promise<ProviderLists>,
  watch: WatchWrite,
): Chore {
  return {
    failure: 'groups of identity providers that are gone were not forgotten',
    run: async () => {
      const standing = standingProviders(await lists());
      await writeTransaction(database, async (transaction) => {
        actAs(transaction, GATEWAY);
        await lockScopes(database, transaction, { configuration: true });
        await watch(transaction, () => forgetGroupsOfOthers(database, standing, transaction));
      });
    },
  };
}
