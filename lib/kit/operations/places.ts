// The names of operations that commands perform, and where each is: its method and path. They are
// apart from the operations, because a command with `--dry-run` names one to the gateway that runs,
// and loads no room of the domain for that.

import type { Method } from './operation.ts';

/** Where an operation is. */
export interface Place {
  readonly method: Method;
  readonly path: string;
}

/** A place, with the name of its operation. */
export interface NamedPlace<Name extends string = string> extends Place {
  readonly id: Name;
}

/** What can be written of records of a kind. */
type Verb = 'create' | 'update' | 'delete';

const METHODS = { create: 'POST', update: 'PATCH', delete: 'DELETE' } as const;

/** Where the records of a kind are made, changed or deleted: `rules`, `Rule`. */
export function recordPlace<Title extends string, One extends Verb>(
  verb: One,
  name: string,
  title: Title,
): NamedPlace<`${One}${Title}`> {
  const path = verb === 'create' ? `/v0/${name}` : `/v0/${name}/{id}`;
  return { id: `${verb}${title}`, method: METHODS[verb], path };
}

function recordPlaces<Title extends string>(
  name: string,
  title: Title,
): Readonly<Record<`${Verb}${Title}`, Place>> {
  const all = (['create', 'update', 'delete'] as const).map((verb) => {
    const { id, ...place } = recordPlace(verb, name, title);
    return [id, place];
  });
  return Object.fromEntries(all) as Record<`${Verb}${Title}`, Place>;
}

/** Every operation that a command performs. */
export const places = {
  ...recordPlaces('devices', 'Device'),
  ...recordPlaces('users', 'User'),
  ...recordPlaces('rules', 'Rule'),
  ...recordPlaces('groups', 'Group'),
  ...recordPlaces('policy_tests', 'PolicyTest'),
  deleteApiToken: { method: 'DELETE', path: '/v0/api_tokens/{id}' },
  enrolPeople: { method: 'POST', path: '/v0/enrolments' },
  changeGroupMembers: { method: 'POST', path: '/v0/groups/{id}/members' },
  ensureAdministrator: { method: 'PUT', path: '/v0/accounts/administrator' },
  unlockUser: { method: 'POST', path: '/v0/accounts/{id}/unlock' },
  removeSecondFactors: { method: 'DELETE', path: '/v0/accounts/{id}/second_factors' },
  createTokenOfUser: { method: 'POST', path: '/v0/accounts/{id}/api_tokens' },
  updateConfiguration: { method: 'PATCH', path: '/v0/configuration' },
  updateTrustedProvider: { method: 'PATCH', path: '/v0/trusted_providers/{kind}/{id}' },
  updateRelink: { method: 'PATCH', path: '/v0/trusted_providers/{kind}/{id}/relink' },
  updateSamlMetadata: { method: 'PATCH', path: '/v0/saml_metadata/{id}' },
} as const satisfies Readonly<Record<string, Place>>;

/** The name of such an operation. */
export type OperationName = keyof typeof places;

/** The name of an operation with its place, as the operation says them. */
export function placed<Name extends OperationName>(name: Name): NamedPlace<Name> {
  return { id: name, ...places[name] };
}
