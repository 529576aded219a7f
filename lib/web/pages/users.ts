// Users, for administrators: the table of all, and the form that adds one. The page of one user is
// in user.ts.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { countDevices, type Database, readUsers, type UserRow } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { readWaits } from '../../auth/attempts.ts';
import { shownMethod } from '../../auth/identity/method.ts';
import { formView, inputOf, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { performs, saveForm } from '../kit/save.ts';
import { inOrder } from '../kit/searched.ts';
import {
  askedIn,
  everyOf,
  findPage,
  type MenuItem,
  menuOf,
  sendFile,
  type TablePlan,
} from '../kit/table-page.ts';
import type { Web } from '../kit/web.ts';
import { agoInWords, minutesUntil } from '../kit/words.ts';
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
];

/** Words for the roles. */
export const ROLES = [
  ['unprivileged', 'User: manages their own devices'],
  ['admin', 'Administrator: can do everything'],
] as const;

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
  return [
    adminPage('GET', USERS, (request, h) => showUsers(web, request, h)),
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

/** The state of a user, as a badge. */
export function userBadge(
  { disabled_at, disabled_by, disabled_provider }: UserRow,
  waitsUntil?: Date,
): { readonly text: string; readonly badge: string; readonly help?: string } {
  if (disabled_at === null && waitsUntil !== undefined)
    return { text: 'Locked', badge: 'bad', help: `for ${minutesUntil(waitsUntil)}` };
  if (disabled_at === null) return { text: 'Enabled', badge: 'good' };
  const badge = { text: 'Disabled', badge: 'bad' };
  return disabled_by === 'provider'
    ? { ...badge, help: `by ${shownMethod(disabled_provider ?? 'a provider')}` }
    : badge;
}

async function showUsers(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database } = web.services;
  const found = await findPage(database, request, plan, await quotaFacts(web));
  const users = inOrder(found.ids, await readUsers(database, { ids: [...found.ids] }));
  const counts = await countDevices(database, found.ids);
  const waits = await readWaits(database, users);
  return web.pages.show(request, h, 'users', {
    title: 'Users',
    finder: found.view,
    rows: users.map((user) => userCells(user, counts.get(user.id) ?? 0, waits.get(user.id))),
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

function userCells(user: UserRow, devices: number, waitsUntil: Date | undefined): unknown[] {
  const { badge, text, help } = userBadge(user, waitsUntil);
  const signedIn = user.last_signed_in_at;
  return [
    { text: user.email, href: `${USERS}/${user.id}`, dot: badge, below: roleWords(user) },
    { text, help },
    String(devices),
    signedIn === null
      ? 'never'
      : {
          time: signedIn.toISOString(),
          ago: agoInWords(signedIn, Date.now()),
          help: methodOf(user),
        },
  ];
}

function roleWords({ role, role_provider: provider }: UserRow): string {
  if (role !== 'admin') return 'User';
  return provider === null ? 'Administrator' : `Administrator, by ${shownMethod(provider)}`;
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
  ]);
}

/** The way in which a user signed in last, in words. */
export function methodOf({ last_signed_in_method: method }: UserRow): string {
  if (method === null) return '';
  return method === 'email' ? 'by password' : `through ${method}`;
}

function showNew(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  typed: Typed,
  errors: FormErrors = {},
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'user-new', {
    title: 'Add a user',
    form: formView(newUser, typed, {
      action: `${USERS}/new`,
      submit: 'Add the user',
      cancel: USERS,
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
