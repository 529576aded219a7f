// The navigation, by what people do: what everyone sees of their own, and what administrators see
// besides. The first entry that a user sees is where `/` leads after signing in.

import type { Role } from '../../../models/index.ts';
import { say, type TextKey } from './texts.ts';

/** One entry, whose label is a text by its key; `icon` names a class of static/icons.css. */
interface Entry {
  readonly path: string;
  readonly label: TextKey;
  readonly icon: string;
  /** Pages elsewhere that lie behind it. */
  readonly also?: string;
}

interface Part {
  /** Null: no title. */
  readonly title: TextKey | null;
  readonly entries: readonly Entry[];
}

/** For administrators alone, in the order in which they are shown. */
const adminParts: readonly Part[] = [
  {
    title: null,
    entries: [{ path: '/dashboard', label: 'nav.overview', icon: 'layout-dashboard' }],
  },
  {
    title: 'nav.people',
    entries: [
      { path: '/users', label: 'nav.users', icon: 'user' },
      { path: '/users/groups', label: 'nav.groups', icon: 'users' },
      { path: '/users/invitations', label: 'nav.invitations', icon: 'mail', also: '/users/enrol' },
    ],
  },
  {
    title: 'nav.network',
    entries: [
      { path: '/devices', label: 'nav.devices', icon: 'laptop' },
      { path: '/rules', label: 'nav.rules', icon: 'shield' },
      { path: '/rules/policy_tests', label: 'nav.policy_tests', icon: 'list-checks' },
    ],
  },
  {
    title: 'nav.watch',
    entries: [
      { path: '/flows', label: 'nav.traffic', icon: 'activity' },
      { path: '/refusals', label: 'nav.refused', icon: 'ban' },
      { path: '/explain', label: 'nav.explain', icon: 'route' },
      { path: '/audit', label: 'nav.audit', icon: 'scroll-text' },
    ],
  },
  {
    title: 'nav.gateway',
    entries: [
      { path: '/settings', label: 'nav.settings', icon: 'settings' },
      { path: '/api_tokens', label: 'nav.api_tokens', icon: 'key-round' },
      { path: '/gateways', label: 'nav.gateways', icon: 'server' },
    ],
  },
];

/** What everyone has of their own. */
const own: readonly Entry[] = [
  { path: '/user_devices', label: 'my_devices.title', icon: 'smartphone', also: '/user_refusals' },
  { path: '/user_account', label: 'account.title', icon: 'circle-user' },
];

/** What is one touch away in a narrow window, beside everything else behind *More*. */
const QUICK: readonly string[] = ['/dashboard', '/users', '/devices', '/rules'];

/** An entry in words. */
export interface NamedEntry extends Omit<Entry, 'label'> {
  readonly label: string;
}

/** An entry, and whether the page that is shown lies behind it. */
export interface ShownEntry extends NamedEntry {
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
  const shown = (entry: Entry): ShownEntry => ({
    ...named(entry),
    isCurrent: entry === current,
  });
  return {
    parts: parts.map(({ title, entries }) => ({
      title: title === null ? null : say(title),
      list: entries.map(shown),
    })),
    quick: seen.filter((entry) => parts.length > 0 && QUICK.includes(entry.path)).map(shown),
    own: own.map(shown),
  };
}

function named(entry: Entry): NamedEntry {
  return { ...entry, label: say(entry.label) };
}

function isBehind(entry: Entry, path: string): boolean {
  return path === entry.path || path === entry.also || path.startsWith(`${entry.path}/`);
}

/** The pages that the console's search finds by their names. */
export function consoleEntries(): readonly NamedEntry[] {
  return [...adminParts.flatMap(({ entries }) => entries), ...own].map(named);
}

/** Where a user with a role begins. */
export function homeOf(role: Role): string {
  const [first] = role === 'admin' ? consoleEntries() : own;
  return first?.path ?? '/user_account';
}
