// The navigation, by what people do: what everyone sees of their own, and what administrators see
// besides. The first entry that a user sees is where `/` leads after signing in.

import type { Role } from '../../../models/index.ts';

/** One entry; `icon` names a class of static/icons.css. */
export interface Entry {
  readonly path: string;
  readonly label: string;
  readonly icon: string;
  /** Pages elsewhere that lie behind it. */
  readonly also?: string;
}

interface Part {
  /** Null: no title. */
  readonly title: string | null;
  readonly entries: readonly Entry[];
}

/** For administrators alone, in the order in which they are shown. */
const adminParts: readonly Part[] = [
  {
    title: null,
    entries: [{ path: '/dashboard', label: 'Overview', icon: 'layout-dashboard' }],
  },
  {
    title: 'People',
    entries: [
      { path: '/users', label: 'Users', icon: 'user' },
      { path: '/users/groups', label: 'Groups', icon: 'users' },
      { path: '/users/invitations', label: 'Invitations', icon: 'mail', also: '/users/enrol' },
    ],
  },
  {
    title: 'Network',
    entries: [
      { path: '/devices', label: 'Devices', icon: 'laptop' },
      { path: '/rules', label: 'Rules', icon: 'shield' },
      { path: '/rules/policy_tests', label: 'Policy tests', icon: 'list-checks' },
    ],
  },
  {
    title: 'Watch',
    entries: [
      { path: '/flows', label: 'Traffic', icon: 'activity' },
      { path: '/refusals', label: 'Refused', icon: 'ban' },
      { path: '/explain', label: 'Would it pass?', icon: 'route' },
      { path: '/audit', label: 'Audit log', icon: 'scroll-text' },
    ],
  },
  {
    title: 'Gateway',
    entries: [
      { path: '/settings', label: 'Settings', icon: 'settings' },
      { path: '/api_tokens', label: 'API tokens', icon: 'key-round' },
      { path: '/gateways', label: 'Gateways', icon: 'server' },
    ],
  },
];

/** What everyone has of their own. */
const own: readonly Entry[] = [
  { path: '/user_devices', label: 'My devices', icon: 'smartphone', also: '/user_refusals' },
  { path: '/user_account', label: 'Account', icon: 'circle-user' },
];

/** What is one touch away in a narrow window, beside everything else behind *More*. */
const QUICK: readonly string[] = ['/dashboard', '/users', '/devices', '/rules'];

/** An entry, and whether the page that is shown lies behind it. */
export interface ShownEntry extends Entry {
  readonly isCurrent: boolean;
}

/** The entries of a user; those who do not see the console have `own` alone. */
export interface Navigation {
  readonly parts: readonly { readonly title: string | null; readonly list: ShownEntry[] }[];
  readonly quick: readonly ShownEntry[];
  readonly own: readonly ShownEntry[];
}

/** What a user with a role sees beside the page of a path. */
export function navigationOf(role: Role, path: string): Navigation {
  const parts = role === 'admin' ? adminParts : [];
  const seen = [...parts.flatMap(({ entries }) => entries), ...own];
  // Of two entries around a page the nearer one: the page of a group is no page of users.
  const [current] = seen
    .filter((entry) => isBehind(entry, path))
    .toSorted((a, b) => b.path.length - a.path.length);
  const shown = (entry: Entry): ShownEntry => ({ ...entry, isCurrent: entry === current });
  return {
    parts: parts.map(({ title, entries }) => ({ title, list: entries.map(shown) })),
    quick: seen.filter((entry) => parts.length > 0 && QUICK.includes(entry.path)).map(shown),
    own: own.map(shown),
  };
}

function isBehind(entry: Entry, path: string): boolean {
  return path === entry.path || path === entry.also || path.startsWith(`${entry.path}/`);
}

/** The pages that the console's search finds by their names. */
export function consoleEntries(): readonly Entry[] {
  return [...adminParts.flatMap(({ entries }) => entries), ...own];
}

/** Where a user with a role begins. */
export function homeOf(role: Role): string {
  const [first] = role === 'admin' ? consoleEntries() : own;
  return first?.path ?? '/user_account';
}
