// Changes the entries of identity providers when a group is renamed: entries find groups by their
// names, so each entry that means the group must get its new name. Else members would leave the
// group, and rules that refuse them something would no longer apply to them.
// docs/api.md#groups-of-providers.

import type { OpenidConnectProvider, SamlIdentityProvider } from '../../../models/index.ts';
import { methodOf } from './method.ts';
import type { ProviderLists } from './standing-providers.ts';

/** A group that is to have another name. */
export interface RenamedGroup {
  /** The entry that made it, as `oidc/okta`. */
  readonly provider: string | null;
  readonly before: string;
  readonly after: string;
}

type Entry = OpenidConnectProvider | SamlIdentityProvider;

/** A list with an entry that means the group. */
export interface FollowedList {
  /** The entries that change, as `oidc/okta`. */
  readonly changed: readonly string[];
  readonly entries: readonly Entry[];
}

/** The lists that change, with their entries as they mean the group by its new name. */
export function followGroup(
  { openid_connect_providers: openid, saml_identity_providers: saml }: ProviderLists,
  renamed: RenamedGroup,
): Partial<Record<keyof ProviderLists, FollowedList>> {
  const follow = (kind: 'oidc' | 'saml', entries: readonly Entry[]): FollowedList => {
    const changed: string[] = [];
    const after = entries.map((entry) => {
      const method = methodOf(kind, entry.id);
      const changes = changesOf(entry, method, renamed);
      if (changes === null) return entry;
      changed.push(method);
      return { ...entry, ...changes };
    });
    return { changed, entries: after };
  };
  const lists = {
    openid_connect_providers: follow('oidc', openid),
    saml_identity_providers: follow('saml', saml),
  };
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.changed.length > 0));
}

/** What changes of an entry that means the group; null where it does not. */
function changesOf(
  entry: Entry,
  method: string,
  { provider, before, after }: RenamedGroup,
): Pick<Entry, 'groups_map' | 'groups_unmapped'> | null {
  const pairs = Object.entries(entry.groups_map ?? {});
  if (pairs.some(([, here]) => here === before)) {
    const followed = pairs.map(([there, here]) => [there, here === before ? after : here]);
    return { groups_map: Object.fromEntries(followed) as Record<string, string> };
  }
  const isOpen = entry.groups_map === undefined || entry.groups_unmapped === true;
  const isByName = provider === method && isOpen && !pairs.some(([there]) => there === before);
  if (!isByName || whereOf(entry) === undefined) return null;
  // Other names go on meaning what they meant without a map.
  return {
    groups_map: Object.fromEntries([...pairs, [before, after]]) as Record<string, string>,
    groups_unmapped: true,
  };
}

/** Where an entry finds the names of groups. */
function whereOf(entry: Entry): string | undefined {
  return 'discovery_document_uri' in entry ? entry.groups_claim : entry.groups_attribute;
}
