// The search for everything, for administrators: the first of each kind whose name holds what was
// typed. It finds no keys, no tokens and no entries of the audit trail, and leaves no trace: the
// text is in the address alone, which the log does not hold.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  type Database,
  readDevices,
  readRules,
  readUsers,
  type Searchable,
  searchIds,
} from '../../../models/index.ts';
import { consoleEntries, type NamedEntry } from '../kit/navigation.ts';
import { adminPage } from '../kit/route.ts';
import { inOrder } from '../../kit/records/in-order.ts';
import { readAddress } from '../../kit/validation/network.ts';
import { queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { ownerEmails, ownersOfRules } from '../parts/owners.ts';
import { ruleInWords, whoseRule } from '../parts/rule-words.ts';
import { settingEntries } from './settings.ts';
import { whoHref } from './who.ts';

/** What is shown of each kind. */
const FOUND_MAX = 5;
/** Characters that are searched for; what is longer is cut. */
const TEXT_MAX = 100;

/** Pages that the navigation does not name. */
const MORE_PAGES: readonly Omit<NamedEntry, 'icon'>[] = [
  { path: '/users/enrol', label: 'Invite people' },
  { path: '/users/new', label: 'Add a user without an invitation' },
  { path: '/devices/new', label: 'Add a device' },
  { path: '/rules/new', label: 'Add a rule' },
  { path: '/users/groups/new', label: 'Add a group' },
  { path: '/api_tokens/new', label: 'Add an API token' },
  { path: '/flows/ended', label: 'Ended lately' },
  { path: '/explain/who', label: 'Who may reach an address?' },
  { path: '/gateways#backups', label: 'Backups' },
];

interface Found {
  readonly href: string;
  readonly text: string;
  readonly help?: string | null;
}

interface Kind {
  readonly title: string;
  readonly icon: string;
  readonly list: readonly Found[];
  /** Where all of them are; null where the list is whole. */
  readonly all: string | null;
}

/** The route. */
export function searchPages(web: Web): ServerRoute[] {
  return [adminPage('GET', '/search', (request, h) => showFound(web, request, h))];
}

async function showFound(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const text = queryText(request, 'q').slice(0, TEXT_MAX);
  const kinds = text === '' ? [] : await findKinds(web, text);
  return web.pages.show(request, h, 'search', {
    title: 'Search',
    searched: text,
    kinds: kinds.filter(({ list }) => list.length > 0),
  });
}

async function findKinds(web: Web, text: string): Promise<Kind[]> {
  const { database, config } = web.services;
  return [
    questionsOf(text),
    await findKind(database, text, 'users', peopleOf),
    await findKind(database, text, 'devices', devicesOf),
    await findKind(database, text, 'rules', rulesOf),
    await findKind(database, text, 'user_groups', groupsOf),
    entriesOf('Settings', 'settings', settingEntries(config), text),
    entriesOf('Pages', 'layout-dashboard', [...consoleEntries(), ...MORE_PAGES], text),
  ];
}

const KINDS = {
  users: { title: 'People', icon: 'user', path: '/users' },
  devices: { title: 'Devices', icon: 'laptop', path: '/devices' },
  rules: { title: 'Rules', icon: 'shield', path: '/rules' },
  user_groups: { title: 'Groups', icon: 'users', path: '/users/groups' },
} as const satisfies Partial<Record<Searchable, object>>;

/** One more than is shown is looked for: it says whether there are others. */
async function findKind(
  database: Database,
  text: string,
  table: keyof typeof KINDS,
  read: (database: Database, ids: readonly string[]) => Promise<Found[]>,
): Promise<Kind> {
  const wish = { text, byName: true, offset: 0, limit: FOUND_MAX + 1 };
  const ids = await searchIds(database, table, wish);
  const { title, icon, path } = KINDS[table];
  const list = ids.length === 0 ? [] : await read(database, ids.slice(0, FOUND_MAX));
  const all = `${path}?${new URLSearchParams({ q: text }).toString()}`;
  return { title, icon, list, all: ids.length > FOUND_MAX ? all : null };
}

/** What may be asked of an address. */
function questionsOf(text: string): Kind {
  const address = readAddress(text)?.text;
  const list =
    address === undefined ? [] : [{ href: whoHref(address), text: `Who may reach ${address}?` }];
  return { title: 'Would it pass?', icon: 'route', list, all: null };
}

async function peopleOf(database: Database, ids: readonly string[]): Promise<Found[]> {
  const users = inOrder(ids, await readUsers(database, { ids: [...ids] }));
  return users.map(({ id, email, name, role }) => ({
    href: `/users/${id}`,
    text: email,
    help: [name, role === 'admin' ? 'Administrator' : null].filter(Boolean).join(' · ') || null,
  }));
}

async function devicesOf(database: Database, ids: readonly string[]): Promise<Found[]> {
  const devices = inOrder(ids, await readDevices(database, { ids: [...ids] }));
  const owners = await ownerEmails(database, devices);
  return devices.map(({ id, name, user_id, ipv4, ipv6 }) => ({
    href: `/devices/${id}`,
    text: name,
    help: [owners.get(user_id), ipv4, ipv6].filter(Boolean).join(' · '),
  }));
}

async function rulesOf(database: Database, ids: readonly string[]): Promise<Found[]> {
  const rules = inOrder(ids, await readRules(database, { ids: [...ids] }));
  const owners = await ownersOfRules(database, rules);
  return rules.map((rule) => ({
    href: `/rules/${rule.id}`,
    text: ruleInWords(rule),
    help: [`for ${whoseRule(rule, owners)}`, rule.description].filter(Boolean).join(' · '),
  }));
}

async function groupsOf({ models }: Database, ids: readonly string[]): Promise<Found[]> {
  const groups = inOrder(ids, await models.Group.findAll({ where: { id: [...ids] } }));
  return groups.map(({ id, name, description }) => ({
    href: `/users/groups/${id}`,
    text: name,
    help: description,
  }));
}

/** Pages, and fields of pages, whose names hold the text. */
function entriesOf(
  title: string,
  icon: string,
  entries: readonly { readonly path: string; readonly label: string; readonly page?: string }[],
  text: string,
): Kind {
  const lower = text.toLowerCase();
  const list = entries
    .filter(({ label, page = '' }) => `${label} ${page}`.toLowerCase().includes(lower))
    .slice(0, FOUND_MAX)
    .map(({ path, label, page }) => ({ href: path, text: label, help: page ?? null }));
  return { title, icon, list, all: null };
}
