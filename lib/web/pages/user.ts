// One user, for administrators: what is known of them, their devices, the form that changes them,
// and what cannot be undone.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  type Database,
  type DeviceRow,
  readDevices,
  readGroups,
  readUsers,
  type User,
  type UserRow,
} from '../../../models/index.ts';
import { ApiError } from '../../http/errors.ts';
import { isUuid } from '../../judge/fields.ts';
import type { FormFaults } from '../kit/plain-words.ts';
import { sentences } from '../../judge/messages.ts';
import type { Caller } from '../../process/caller.ts';
import { disablingFault, Users } from '../../users/users.ts';
import { refuseFaults, saveChanges, type Work } from '../../records/writes.ts';
import { endWait, switchedUser, takeSecondFactors } from '../../auth/accounts.ts';
import { readWaits } from '../../auth/attempts.ts';
import { actorId, callerOf } from '../../http/request-caller.ts';
import { attempt, faultLine } from '../kit/attempt.ts';
import { quotedFaults } from '../kit/entry-words.ts';
import { formView, inputOf, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { type Deed, jobRoute, type ManyPlan, manyRoute } from '../kit/many.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { changedMeanwhile, seenOf } from '../kit/seen.ts';
import type { Web } from '../kit/web.ts';
import { askFirst, effectView, isBack } from '../parts/effect.ts';
import { historyView } from '../parts/history-view.ts';
import { quotaFacts, quotaView } from '../parts/quota.ts';
import { linkView } from './enrolment.ts';
import { linksOf } from './relink.ts';
import { minutesUntil } from '../kit/words.ts';
import { methodOf, passwordSection, ROLES, userBadge } from './users.ts';

const USER = '/users/{id}';
/** Devices that the page shows; the table of all devices has the rest. */
const DEVICES_SHOWN = 20;

const LIMIT = {
  kind: 'number',
  help: 'For example 10000000 for 10 Mbit/s. A device may have another limit. Empty: what the settings say.',
} as const;

const userForm: readonly Section[] = [
  {
    fields: [
      { name: 'email', label: 'E-mail', kind: 'email', isRequired: true },
      { name: 'role', label: 'Role', kind: 'choice', choices: ROLES },
      { name: 'limit_down', label: 'Limit to each device (bits per second)', ...LIMIT },
      { name: 'limit_up', label: 'Limit from each device (bits per second)', ...LIMIT },
      {
        name: 'quota',
        label: 'Quota of a calendar month (bytes)',
        kind: 'number',
        help: 'For example 100000000000 for 100 GB: all devices, both ways, added up. Empty: what the settings say.',
      },
    ],
  },
  passwordSection(
    'Leave it empty to keep the present one. A new one signs the user out, and ends a wait after wrong passwords.',
  ),
];

/** The routes of one user. */
export function userPages(web: Web): ServerRoute[] {
  const users = new Users(web);
  return [
    adminPage('GET', USER, (request, h) => showUser(web, request, h)),
    recently(adminPage('POST', USER, (request, h) => changeUser(web, users, request, h))),
    recently(
      adminPage('POST', `${USER}/enable`, (request, h) => switchUser(web, request, h, true)),
      USER,
    ),
    recently(
      adminPage('POST', `${USER}/reset_second_factors`, (request, h) =>
        resetFactors(web, request, h),
      ),
      USER,
    ),
    recently(
      adminPage('POST', `${USER}/unlock`, (request, h) => unlockUser(web, request, h)),
      USER,
    ),
    // These two only take rights away, which may be urgent.
    adminPage('POST', `${USER}/disable`, (request, h) => switchUser(web, request, h, false)),
    adminPage('POST', `${USER}/delete`, (request, h) => removeUser(web, request, h)),
    jobRoute(web, '/users'),
    manyRoute(
      web,
      manyPlan(web, ({ disable, remove }) => ({ disable, remove })),
    ),
    // This one gives rights back.
    recently(
      manyRoute(web, {
        ...manyPlan(web, ({ enable }) => ({ enable })),
        action: 'many_enabled',
      }),
      '/users',
    ),
  ];
}

async function showUser(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  refused?: { typed: Typed; faults: FormFaults },
): Promise<ResponseObject> {
  const { database } = web.services;
  const user = await findUser(web, request);
  const where = { user_id: user.id };
  const devices = await readDevices(database, { userId: user.id, limit: DEVICES_SHOWN + 1 });
  const isSelf = user.id === actorId(request);
  const waitsUntil = (await readWaits(database, [user])).get(user.id);
  const { typed = typedFrom(user, userForm), faults = {} } = refused ?? {};
  return web.pages.show(request, h, 'user', {
    title: user.email,
    styles: ['lib/uplot.css'],
    scripts: ['history.js'],
    history: await historyView(web, request, `/users/${user.id}`, { kind: 'user', id: user.id }),
    person: {
      id: user.id,
      email: user.email,
      isSelf,
      roleProvider: user.role_provider,
      isDisabled: user.disabled_at !== null,
      badge: userBadge(user, waitsUntil),
      wait:
        waitsUntil === undefined
          ? null
          : { until: waitsUntil.toISOString(), left: minutesUntil(waitsUntil) },
      disabledAt: user.disabled_at?.toISOString() ?? null,
      lastSignedInAt: user.last_signed_in_at?.toISOString() ?? null,
      method: methodOf(user),
      insertedAt: user.inserted_at.toISOString(),
      factors: await database.models.SecondFactor.count({ where }),
      tokens: await database.models.ApiToken.count({ where }),
      rules: await database.models.Rule.count({ where }),
    },
    quota: await quotaView(web, user),
    links: await linksOf(web, user),
    link: await linkView(web, user),
    groups: await readGroups(database, { memberId: user.id }),
    devices: devices.slice(0, DEVICES_SHOWN).map(deviceCells),
    hasMoreDevices: devices.length > DEVICES_SHOWN,
    form: formView(userForm, typed, {
      action: `/users/${user.id}`,
      submit: 'Save',
      seen: seenOf(typedFrom(user, userForm)),
      faults,
      locked: lockedFor(isSelf),
    }),
  });
}

function lockedFor(isSelf: boolean): (name: string) => string | null {
  return (name) => (isSelf && name === 'role' ? `${sentences.ownRole}.` : null);
}

function deviceCells(device: DeviceRow): unknown[] {
  const addresses = [device.ipv4, device.ipv6].filter((address) => address !== null);
  return [
    { text: device.name, href: `/devices/${device.id}`, description: device.description },
    addresses.join(', '),
    device.latest_handshake === null ? 'never' : { time: device.latest_handshake.toISOString() },
  ];
}

async function changeUser(
  web: Web,
  users: Users,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const user = await findUser(web, request);
  const { id } = user;
  const typed = typedIn(request, userForm);
  const locked = lockedFor(id === actorId(request));
  const present = typedFrom(user, userForm);
  const refused = changedMeanwhile(request, { typed, present }, userForm);
  if (refused !== null)
    return (await showUser(web, request, h, { typed, faults: refused })).code(422);
  if (isBack(request)) return showUser(web, request, h, { typed, faults: {} });
  const input = users.judge(inputOf(typed, userForm, locked), 'update');
  const asked = { label: 'Save the user', back: `/users/${id}`, isForm: true };
  const write = (context: Web) => new Users(context).update(callerOf(request), id, input);
  const question = await askFirst(web, request, h, asked, write);
  if (question !== null) return question;
  const changed = await attempt(() => write(web));
  if (changed.faults !== null) {
    const faults = quotedFaults(changed.faults, typed);
    return (await showUser(web, request, h, { typed, faults })).code(422);
  }
  web.pages.flash(h, 'done', 'The changes are in force.');
  return web.pages.redirect(h, `/users/${id}`);
}

function manyPlan(
  web: Web,
  choose: (all: typeof deeds) => Partial<Record<string, Deed>>,
): ManyPlan {
  const chosen = choose(deeds);
  return {
    table: 'users',
    path: '/users',
    nouns: ['user', 'users'],
    names: async (ids) => {
      const found = await readUsers(web.services.database, { ids: [...ids] });
      return new Map(found.map(({ id, email }) => [id, email]));
    },
    deed: (name) => chosen[name] ?? 'Nothing was chosen.',
    effect: effectView,
    facts: () => quotaFacts(web),
  };
}

/** What is done with many users at once. */
const deeds: Readonly<Record<'enable' | 'disable' | 'remove', Deed>> = {
  enable: {
    done: 'enabled',
    question: {
      title: 'Enable these users?',
      text: 'They may sign in again, and their devices pass packets.',
      label: 'Enable',
    },
    isHarmless: true,
    run: (web, caller, id) => web.writes.run(caller, switchWork(web, caller, id, true)),
  },
  disable: {
    done: 'disabled',
    question: {
      title: 'Disable these users?',
      text: 'Their devices pass no packet from then on; sessions and API tokens are void. You can enable them again.',
      label: 'Disable',
    },
    run: (web, caller, id) => web.writes.run(caller, switchWork(web, caller, id, false)),
  },
  remove: {
    done: 'deleted, with devices, rules, tokens and sessions',
    question: {
      title: 'Delete these users?',
      text: 'Devices, rules, API tokens and sessions of these users go too. This cannot be undone.',
      label: 'Delete for good',
    },
    run: (web, caller, id) => new Users(web).remove(caller, id),
  },
};

async function switchUser(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  isEnabled: boolean,
): Promise<ResponseObject> {
  const done = isEnabled
    ? 'is enabled: sign-in and devices serve again.'
    : 'is disabled: their devices pass no packet, sessions and tokens are void.';
  const { id } = await findUser(web, request);
  const asked = { label: 'Disable the user', back: `/users/${id}` };
  const question = isEnabled
    ? null
    : await askFirst(web, request, h, asked, (tried) =>
        tried.writes.run(callerOf(request), switchWork(tried, callerOf(request), id, false)),
      );
  if (question !== null) return question;
  return act(web, request, h, done, switchWork(web, callerOf(request), idOf(request), isEnabled));
}

/** An administrator's switch; the own one stays on, or nobody could switch it back. */
function switchWork(web: Web, caller: Caller, id: string, isEnabled: boolean): Work<User, unknown> {
  const { database } = web.services;
  return {
    scopes: { configuration: true },
    judge: async (transaction) => {
      const user = await lockUser(database, id, transaction);
      const fault = isEnabled ? null : await disablingFault(web, user, caller, transaction);
      if (fault !== null) refuseFaults({ base: [fault] });
      return user;
    },
    write: (transaction, user) => saveChanges(user, switchedUser(user, isEnabled), transaction),
  };
}

async function resetFactors(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { database } = web.services;
  return act(web, request, h, 'has no second factor any more, and is signed out.', {
    judge: (transaction) => lockUser(database, idOf(request), transaction),
    write: (transaction, user) => takeSecondFactors(database, user.id, transaction),
  });
}

async function unlockUser(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database } = web.services;
  return act(web, request, h, 'may try to sign in at once.', {
    judge: (transaction) => lockUser(database, idOf(request), transaction),
    write: (transaction, user) => endWait(database, user, transaction),
  });
}

async function removeUser(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { id, email } = await findUser(web, request);
  const asked = { label: 'Delete the user', back: `/users/${id}` };
  const remove = (context: Web) => new Users(context).remove(callerOf(request), id);
  const question = await askFirst(web, request, h, asked, remove);
  if (question !== null) return question;
  const { faults } = await attempt(() => remove(web));
  if (faults !== null) {
    web.pages.flash(h, 'failed', `${faultLine(faults)}.`);
    return web.pages.redirect(h, `/users/${id}`);
  }
  web.pages.flash(h, 'done', `${email} is deleted, with devices, rules, tokens and sessions.`);
  return web.pages.redirect(h, '/users');
}

/** Runs a work on the user of the path, and tells on their page what came of it. */
async function act<Plan, Result>(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  done: string,
  work: Work<Plan, Result>,
): Promise<ResponseObject> {
  const { id, email } = await findUser(web, request);
  const { faults } = await attempt(() => web.writes.run(callerOf(request), work));
  if (faults === null) web.pages.flash(h, 'done', `${email} ${done}`);
  else web.pages.flash(h, 'failed', `${faultLine(faults)}.`);
  return web.pages.redirect(h, `/users/${id}`);
}

async function findUser(web: Web, request: Request): Promise<UserRow> {
  const id = idOf(request);
  const [user] = isUuid(id) ? await readUsers(web.services.database, { ids: [id] }) : [];
  if (user === undefined) throw new ApiError('not_found');
  return user;
}

async function lockUser(
  { models }: Database,
  id: string,
  transaction: Parameters<Work<User, unknown>['judge']>[0],
): Promise<User> {
  const user = await models.User.findByPk(id, { transaction, lock: true });
  if (user === null) throw new ApiError('not_found');
  return user;
}

function idOf(request: Request): string {
  return String(request.params['id']).toLowerCase();
}
