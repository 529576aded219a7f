// One user, for administrators: the form that changes them, and what cannot be undone. What is
// known of them is in user-view.ts.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { readUsers, type UserRow } from '../../../models/index.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { sentences } from '../../kit/validation/messages.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { textOf } from '../kit/form-token.ts';
import { actorId, callerOf } from '../../kit/http/request-caller.ts';
import { errorLine } from '../kit/attempt.ts';
import { quotedErrors } from '../kit/entry-words.ts';
import { formView, inputOf, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { type Change, jobRoute, type ManyPlan, manyRoute } from '../kit/many.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs, saveForm } from '../kit/save.ts';
import { changedMeanwhile, seenOf } from '../kit/seen.ts';
import type { Web } from '../kit/web.ts';
import { measureText } from '../../kit/validation/units.ts';
import { inheritedLimits } from '../parts/device-limits.ts';
import { effectView, type RoomWrite } from '../parts/effect.ts';
import { quotaFacts } from '../parts/quota.ts';

import { counted } from '../kit/words.ts';
import { findUser, userHead } from './user-view.ts';
import { NAME_FIELD, passwordSection, ROLES } from './users.ts';

const USER = '/users/{id}';

const LIMIT = {
  kind: 'speed',
  help: 'For example 10 Mbit/s. A device may have another limit.',
} as const;

const userForm: readonly Section[] = [
  {
    fields: [
      { name: 'email', label: 'E-mail', kind: 'email', isRequired: true },
      NAME_FIELD,
      { name: 'role', label: 'Role', kind: 'choice', choices: ROLES },
      { name: 'limit_down', label: 'Download limit of each device', ...LIMIT },
      { name: 'limit_up', label: 'Upload limit of each device', ...LIMIT },
      {
        name: 'quota',
        label: 'Quota of a calendar month',
        kind: 'amount',
        help: 'For example 100 GB: all devices, both ways, added up.',
      },
    ],
  },
  passwordSection(
    'Leave it empty to keep the present one. A new one signs the user out, and ends a wait after wrong passwords.',
  ),
];

/** The routes of one user. */
export function userPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', `${USER}/edit`, async (request, h) =>
      showSettings(web, request, h, await findUser(web, request)),
    ),
    recently(adminPage('POST', `${USER}/edit`, (request, h) => changeUser(web, request, h))),
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
    // These only take rights away, which may be urgent.
    adminPage('POST', `${USER}/disable`, (request, h) => switchUser(web, request, h, false)),
    adminPage('POST', `${USER}/left`, (request, h) => endAll(web, request, h)),
    adminPage('POST', `${USER}/sessions/end`, (request, h) => endSessions(web, request, h)),
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

async function showSettings(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  user: UserRow,
  refused?: { typed: Typed; errors: FormErrors },
): Promise<ResponseObject> {
  const { typed = typedFrom(user, userForm), errors = {} } = refused ?? {};
  return web.pages.show(request, h, 'user-settings', {
    title: `Settings of ${user.email}`,
    person: await userHead(web, request, user, '/edit'),
    form: formView(userForm, typed, {
      action: `/users/${user.id}/edit`,
      submit: 'Save',
      seen: seenOf(typedFrom(user, userForm)),
      errors,
      locked: lockedFor(user.id === actorId(request)),
      inherited: await inheritedFrom(web),
    }),
  });
}

function lockedFor(isSelf: boolean): (name: string) => string | null {
  return (name) => (isSelf && name === 'role' ? `${sentences.ownRole}.` : null);
}

/** What the settings say where a user has no value of their own. */
async function inheritedFrom({ recall }: Web): Promise<Record<string, string>> {
  await recall.refresh();
  const settings = await recall.configuration();
  const { default_quota: quota } = settings;
  return {
    ...inheritedLimits(undefined, settings),
    quota: quota === null ? 'no quota' : `${measureText(quota, 'amount')} · by default`,
  };
}

async function changeUser(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const user = await findUser(web, request);
  const { id } = user;
  const typed = typedIn(request, userForm);
  const locked = lockedFor(id === actorId(request));
  const present = typedFrom(user, userForm);
  return saveForm(web, request, h, {
    refused: changedMeanwhile(request, { typed, present }, userForm),
    asked: { label: 'Save the user', back: `/users/${id}/edit`, isForm: true },
    write: performs(callerOf(request), 'updateUser', {
      params: { id },
      record: inputOf(typed, userForm, locked),
    }),
    again: (errors) =>
      showSettings(web, request, h, user, { typed, errors: quotedErrors(errors, typed) }),
    done: () => ({ said: 'The changes are in force.', to: `/users/${id}` }),
  });
}

function manyPlan(
  web: Web,
  choose: (all: typeof changes) => Partial<Record<string, Change>>,
): ManyPlan {
  const chosen = choose(changes);
  return {
    table: 'users',
    path: '/users',
    nouns: ['user', 'users'],
    names: async (ids) => {
      const found = await readUsers(web.services.database, { ids: [...ids] });
      return new Map(found.map(({ id, email }) => [id, email]));
    },
    change: (name) => chosen[name] ?? 'Nothing was chosen.',
    effect: effectView,
    facts: () => quotaFacts(web),
  };
}

/** What is done with many users at once. */
const changes: Readonly<Record<'enable' | 'disable' | 'remove', Change>> = {
  enable: {
    done: 'enabled',
    question: {
      title: ['Enable this user?', 'Enable these users?'],
      text: 'They may sign in again, and their devices pass packets.',
      label: 'Enable',
    },
    isHarmless: true,
    about: 'enabled',
    write: (caller, id) => switchedTo(true, caller, id),
  },
  disable: {
    done: 'disabled',
    question: {
      title: ['Disable this user?', 'Disable these users?'],
      text: 'Their devices pass no packet from then on; sessions and API tokens are void. You can enable them again.',
      label: 'Disable',
    },
    about: 'enabled',
    write: (caller, id) => switchedTo(false, caller, id),
  },
  remove: {
    done: 'deleted, with devices, rules, tokens and sessions',
    question: {
      title: ['Delete this user?', 'Delete these users?'],
      text: [
        'Devices, rules, API tokens and sessions of this user go too. This cannot be undone.',
        'Devices, rules, API tokens and sessions of these users go too. This cannot be undone.',
      ],
      label: 'Delete for good',
    },
    write: (caller, id) => performs(caller, 'deleteUser', { params: { id } }),
  },
};

async function switchUser(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  isEnabled: boolean,
): Promise<ResponseObject> {
  const { id, email } = await findUser(web, request);
  const done = isEnabled
    ? 'is enabled: they may sign in, and their devices work again.'
    : 'is disabled: their devices pass no packet, sessions and tokens are void.';
  return act(web, request, h, {
    ...(isEnabled ? {} : { asked: 'Disable the user' }),
    write: switchedTo(isEnabled, callerOf(request), id),
    back: `/users/${id}`,
    done: () => `${email} ${done}`,
    failed: (errors) => `${errorLine(errors, 'enabled')}.`,
  });
}

/** An administrator's switch; the own one stays on, or nobody could switch it back. */
function switchedTo(enabled: boolean, caller: Caller, id: string): RoomWrite {
  return performs(caller, 'updateUser', { params: { id }, record: { enabled } });
}

/** What is to be done for a person who has left; its question names what there is to end. */
async function endAll(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { id, email } = await findUser(web, request);
  return act(web, request, h, {
    asked: 'This person has left',
    write: ({ enrolments }) => enrolments.leave(callerOf(request), id),
    back: `/users/${id}`,
    done: ({ devices, tokens, sessions }) =>
      `${email} is disabled. Switched off: ${counted(devices, 'device')}. Ended: ${counted(sessions, 'session')}, ${counted(tokens, 'API token')}.`,
    failed: (errors) => `${errorLine(errors, 'enabled')}.`,
  });
}

async function endSessions(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { id } = await findUser(web, request);
  const session = textOf(request, 'session');
  return act(web, request, h, {
    write: ({ accounts }) =>
      accounts.endSessions(callerOf(request), id, session === '' ? {} : { id: session }),
    back: `/users/${id}/sign_in`,
    done: (count) => `Signed out: ${counted(count, 'session')}.`,
  });
}

async function resetFactors(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { id, email } = await findUser(web, request);
  return act(web, request, h, {
    write: ({ accounts }) => accounts.removeSecondFactors(callerOf(request), id),
    back: `/users/${id}`,
    done: () => `${email} has no second factor any more, and is signed out.`,
  });
}

async function unlockUser(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { id, email } = await findUser(web, request);
  return act(web, request, h, {
    write: ({ accounts }) => accounts.unlock(callerOf(request), id),
    back: `/users/${id}`,
    done: () => `${email} may try to sign in at once.`,
  });
}

async function removeUser(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { id, email } = await findUser(web, request);
  return act(web, request, h, {
    asked: 'Delete the user',
    write: performs(callerOf(request), 'deleteUser', { params: { id } }),
    back: `/users/${id}`,
    to: '/users',
    done: () => `${email} is deleted, with devices, rules, tokens and sessions.`,
  });
}
