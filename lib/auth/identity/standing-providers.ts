// Which identity providers may say what of groups, as the configuration is now.
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
import type { Chore } from '../../process/hourly.ts';
import { methodOf } from './method.ts';

/** The lists of the configuration. */
export interface ProviderLists {
  readonly openid_connect_providers: readonly OpenidConnectProvider[];
  readonly saml_identity_providers: readonly SamlIdentityProvider[];
}

/**
 * The entries of both lists, as `oidc/okta`. Those that were `turned` to another provider said
 * nothing yet.
 */
export function standingProviders(
  { openid_connect_providers: openid, saml_identity_providers: saml }: ProviderLists,
  turned: ReadonlySet<string> = new Set(),
): StandingProviders {
  const entries = [
    ...openid.map((entry) => ({ kind: 'oidc', where: entry.groups_claim, entry }) as const),
    ...saml.map((entry) => ({ kind: 'saml', where: entry.groups_attribute, entry }) as const),
  ];
  const namesOf = (some: typeof entries) => some.map(({ kind, entry }) => methodOf(kind, entry.id));
  const naming = entries.filter(
    ({ kind, where, entry }) => where !== undefined && !turned.has(methodOf(kind, entry.id)),
  );
  return {
    all: namesOf(entries),
    naming: namesOf(naming),
    administering: namesOf(naming.filter(({ entry }) => entry.admin_group !== undefined)),
  };
}

/** Runs a write in its transaction, and notes what it does to policy tests. */
export type WatchWrite = (transaction: Transaction, write: () => Promise<void>) => Promise<void>;

/**
 * Removes what entries said that are gone: the environment may have fixed them, and then no request
 * took them away.
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
