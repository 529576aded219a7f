// The entries of the navigation: what everyone sees of their own, and what administrators see
// besides. The first entry that a user sees is where `/` leads after signing in.

import type { Role } from '../../../models/index.ts';

/** One entry. */
export interface Entry {
  readonly path: string;
  readonly label: string;
}

interface Place extends Entry {
  readonly part: 'console' | 'portal';
}

/** In the order in which they are shown; `console` is for administrators alone. */
const places: readonly Place[] = [
  { part: 'console', path: '/dashboard', label: 'Dashboard' },
  { part: 'console', path: '/users', label: 'Users' },
  { part: 'console', path: '/devices', label: 'Devices' },
  { part: 'console', path: '/rules', label: 'Rules' },
  { part: 'console', path: '/settings', label: 'Settings' },
  { part: 'console', path: '/api_tokens', label: 'API tokens' },
  { part: 'console', path: '/audit', label: 'Audit log' },
  { part: 'portal', path: '/user_devices', label: 'My devices' },
  { part: 'portal', path: '/user_account', label: 'Account' },
];

/** The entries of a user, by part. */
export interface Navigation {
  readonly console: readonly ShownEntry[];
  readonly portal: readonly ShownEntry[];
}

/** An entry, and whether the page that is shown lies behind it. */
export interface ShownEntry extends Entry {
  readonly isCurrent: boolean;
}

/** What a user with a role sees beside the page of a path. */
export function navigationOf(role: Role, path: string): Navigation {
  const shown = (part: Place['part']): ShownEntry[] =>
    places
      .filter((place) => place.part === part && maySee(role, place))
      .map((place) => ({
        path: place.path,
        label: place.label,
        isCurrent: path === place.path || path.startsWith(`${place.path}/`),
      }));
  return { console: shown('console'), portal: shown('portal') };
}

/** Where a user with a role begins. */
export function homeOf(role: Role): string {
  return places.find((place) => maySee(role, place))?.path ?? '/user_account';
}

function maySee(role: Role, { part }: Place): boolean {
  return part === 'portal' || role === 'admin';
}
