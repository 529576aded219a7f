// Users, for administrators: the table of all, and the form that adds one. The page of one user is
// in user.ts.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { countDevices, type Database, readUsers, type UserRow } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { formView, inputOf, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { performs, saveForm } from '../kit/save.ts';
import { inOrder } from '../../kit/records/in-order.ts';
import {
  askedIn,
  everyOf,
  findPage,
  idsOfPage,
  type MenuItem,
  menuOf,
  sendFile,
  type TablePlan,
} from '../kit/table-page.ts';
import type { Web } from '../kit/web.ts';
import { agoInWords } from '../kit/words.ts';
import { liveView, recordList, rowName } from '../parts/live-list.ts';
import { liveRoute } from '../parts/live-routes.ts';
import { type ListedUser, readListedUsers, type UserRules } from '../parts/live-users.ts';
import { sessionRules } from '../parts/own-devices.ts';
import { type NameOfProvider, providerNames } from '../parts/provider-names.ts';
import { quotaFacts } from '../parts/quota.ts';

const USERS = '/users';

const plan: TablePlan = {
  table: 'users',
  path: USERS,
  states: {
    enabled: 'Enabled',
    disabled: 'Disabled',
    administrators: 'Administrators',
    invited: 'One-time link not used',
    unsent: 'Mail with link not sent',
    over_quota: 'Over the quota of this month',
  },
};

const FILE_HEAD = [
  'id',
  'email',
  'role',
  'state',
  'devices',
  'last_signed_in_at',
  'last_signed_in_method',
  'added_at',
  'name',
];

/** Words for the roles. */
export const ROLES = [
  ['unprivileged', 'User: manages their own devices'],
  ['admin', 'Administrator: can do everything'],
] as const;

/** The field for the name of a person. */
export const NAME_FIELD = {
  name: 'name',
  label: 'Name',
  autocomplete: 'off',
  help: 'What people call them; shown beside the e-mail. Empty: a provider may say it.',
} as const;

/** The two fields for a password; `help` says whether the user needs one. */
export function passwordSection(help: string): Section {
  return {
    legend: 'Signing in by password',
    help,
    fields: [
      { name: 'password', label: 'Password', kind: 'secret', autocomplete: 'new-password' },
      {
        name: 'password_confirmation',
        label: 'Password again',
        kind: 'secret',
        autocomplete: 'new-password',
      },
    ],
  };
}

const newUser: readonly Section[] = [
  {
    fields: [
      { name: 'email', label: 'E-mail', kind: 'email', isRequired: true },
      NAME_FIELD,
      { name: 'role', label: 'Role', kind: 'choice', choices: ROLES },
    ],
  },
  passwordSection(
    '12 to 64 characters. Leave it empty for a user who signs in through a provider.',
  ),
];

/** The routes of the users. */
export function usersPages(web: Web): ServerRoute[] {
  const { database } = web.services;
  const live = recordList({
    cellsOf: async (ids, nowMs) => {
      const listed = await readListedUsers(database, ids, await userRules(web), nowMs);
      return new Map(listed.map(({ user, cells }) => [user.id, cells]));
    },
    idsAt: async (request) => idsOfPage(database, request, plan, await quotaFacts(web)),
  });
  return [
    adminPage('GET', USERS, (request, h) => showUsers(web, request, h)),
    liveRoute(web, USERS, live),
    adminPage('GET', `${USERS}.csv`, async (request, h) => {
      const asked = askedIn(request, plan, await quotaFacts(web));
      return sendFile(h, 'users', database, plan, asked, FILE_HEAD, (ids) =>
        fileLines(database, ids),
      );
    }),
    recently(
      adminPage('GET', `${USERS}/new`, (request, h) =>
        showNew(web, request, h, typedFrom({ role: 'unprivileged' }, newUser)),
      ),
    ),
    recently(adminPage('POST', `${USERS}/new`, (request, h) => addUser(web, request, h))),
  ];
}

/** What the list needs beside the rows. */
async function userRules(web: Web): Promise<UserRules> {
  const nameOf = await providerNames(web);
  const sessions = await sessionRules(web);
  return { sessions, defaultQuota: (await web.recall.configuration()).default_quota, nameOf };
}

async function showUsers(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database } = web.services;
  const found = await findPage(database, request, plan, await quotaFacts(web));
  const rules = await userRules(web);
  const read = await readListedUsers(database, found.ids, rules);
  const listed = inOrder(
    found.ids,
    read.map((one) => ({ id: one.user.id, ...one })),
  );
  const users = listed.map(({ user }) => user);
  return web.pages.show(request, h, 'users', {
    title: 'Users',
    scripts: ['live-list.js'],
    finder: found.view,
    rows: listed.map((one) => userCells(one, rules.nameOf)),
    live: liveView(
      USERS,
      found.view.query,
      listed.map(({ cells }) => rowName('', cells)),
    ),
    ids: users.map(({ id }) => id),
    menu: menuOf(request, plan, found.view, menuItems),
    kinds: users.map(({ disabled_at: disabledAt }) => (disabledAt === null ? null : 'off')),
    many: {
      action: `${USERS}/many`,
      back: found.view.here,
      every: everyOf(found, 'users'),
      changes: [
        { name: 'enable', label: 'Enable', action: `${USERS}/many_enabled` },
        { name: 'disable', label: 'Disable…' },
        { name: 'remove', label: 'Delete…', tone: 'danger' },
      ],
    },
  });
}

const menuItems: readonly MenuItem[] = [
  { label: 'Devices', path: '/devices?owner=*' },
  { label: 'Add a rule', path: '/rules/new?user=*' },
  { label: 'Enable', change: 'enable', action: `${USERS}/many_enabled`, only: 'off' },
  { label: 'Disable…', change: 'disable', only: 'on' },
  { label: 'Delete…', change: 'remove', tone: 'danger' },
];

function userCells({ user, cells }: ListedUser, nameOf: NameOfProvider): unknown[] {
  const [email, state, devices, month, signedIn] = cells;
  const at = user.last_signed_in_at;
  return [
    { ...email, text: user.email, href: `${USERS}/${user.id}`, below: belowEmail(user, nameOf) },
    state,
    devices,
    month,
    { ...signedIn, ...(at === null ? {} : { ago: agoInWords(at) }) },
  ];
}

/** What is under the e-mail in a list. */
function belowEmail(user: UserRow, nameOf: NameOfProvider): string {
  const role = roleWords(user, nameOf);
  return user.name === null ? role : `${user.name} · ${role}`;
}

/** The role of a user, and the provider that gave it. */
export function roleWords(
  { role, role_provider: provider }: UserRow,
  nameOf: NameOfProvider,
): string {
  if (role !== 'admin') return 'User';
  return provider === null ? 'Administrator' : `Administrator, by ${nameOf(provider)}`;
}

async function fileLines(
  database: Database,
  ids: readonly string[],
): Promise<(string | number | null)[][]> {
  const counts = await countDevices(database, ids);
  return inOrder(ids, await readUsers(database, { ids: [...ids] })).map((user) => [
    user.id,
    user.email,
    user.role,
    user.disabled_at === null ? 'enabled' : 'disabled',
    counts.get(user.id) ?? 0,
    user.last_signed_in_at?.toISOString() ?? null,
    user.last_signed_in_method,
    user.inserted_at.toISOString(),
    user.name,
  ]);
}

function showNew(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  typed: Typed,
  errors: FormErrors = {},
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'user-new', {
    title: 'Add a user without an invitation',
    form: formView(newUser, typed, {
      action: `${USERS}/new`,
      submit: 'Add the user',
      cancel: '/users/enrol',
      errors,
    }),
  });
}

function addUser(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const typed = typedIn(request, newUser);
  return saveForm(web, request, h, {
    write: performs(callerOf(request), 'createUser', { record: inputOf(typed, newUser) }),
    again: (errors) => showNew(web, request, h, typed, errors),
    done: ({ id, email }) => ({
      said: `${String(email)} is added.`,
      to: `${USERS}/${String(id)}`,
    }),
  });
}
