// Letting people in, for administrators: e-mails become users with one-time links, which are shown
// once. The command line does the same. docs/api.md#enrolment.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { findLinkOf, isTakable, readUsers, type UserRow } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { LINK_HOURS } from '../../auth/one-time-links.ts';
import { namesGroups } from '../../domain/enrolment/joining.ts';
import {
  type Enrolled,
  enrolledFile,
  hoursError,
  queueMails,
} from '../../domain/enrolment/many.ts';
import {
  ENROLLED_MAX,
  errorsInOne,
  groupNames,
  type NamedGroup,
  type Person,
  readPeople,
} from '../../domain/enrolment/people-list.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { hasNoErrors } from '../../kit/validation/validate.ts';
import { type FormError, type FormErrors, plainWords } from '../kit/plain-words.ts';
import { formView, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { takesLongForm, textOf } from '../kit/form-token.ts';
import { qrCode } from '../kit/qr-code.ts';
import { recentlyForOwn } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs, saveForm } from '../kit/save.ts';
import { queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { isBack } from '../parts/effect.ts';
import { OFFERED_GROUPS } from '../parts/owners.ts';

const PATH = '/users/enrol';

/** The questions; whether mails are to go out is asked only where they can. */
function enrolForm({ services }: Web): readonly Section[] {
  return services.mails === undefined ? [asked] : [asked, mailing];
}

const mailing: Section = {
  fields: [
    {
      name: 'mail',
      label: 'Send the links by e-mail',
      kind: 'box',
      help: 'They are also shown, for mails that do not arrive.',
    },
  ],
};

const asked: Section = {
  fields: [
    {
      name: 'emails',
      label: 'E-mails',
      kind: 'area',
      rows: 8,
      isRequired: true,
      help: `One e-mail in a line, or a CSV file with the e-mails in its first column; ${ENROLLED_MAX} at most. Everybody who is no user yet becomes one. A column with the heading groups puts each person into the groups that it names, with | between them.`,
    },
    {
      name: 'groups',
      label: 'Groups for everybody',
      help: 'Names of groups, with | between them. All these people become members.',
      combobox: OFFERED_GROUPS,
    },
    {
      name: 'hours',
      label: 'Good for hours',
      kind: 'number',
      isRequired: true,
      help: `${LINK_HOURS.min} to ${LINK_HOURS.max}.`,
    },
  ],
};

/** The routes. */
export function enrolmentPages(web: Web): ServerRoute[] {
  return [
    recentlyForOwn(
      adminPage('GET', PATH, async (request, h) => {
        const emails = await emailIn(web, request);
        const groups = queryText(request, 'groups');
        // Pages that name a person lead here for a link to hand over.
        const mail = emails === '' || groups !== '';
        const begun = { emails, groups, hours: LINK_HOURS.default, mail };
        return showForm(web, request, h, typedFrom(begun, enrolForm(web)));
      }),
    ),
    recentlyForOwn(
      adminPage('POST', PATH, (request, h) => enrol(web, request, h), { payload: takesLongForm }),
    ),
    // This only takes a way in away, which may be urgent.
    adminPage('POST', '/users/{id}/revoke_link', (request, h) => {
      const id = String(request.params['id']);
      return act(web, request, h, {
        write: performs(callerOf(request), 'deleteEnrolment', { params: { id } }),
        back: `/users/${encodeURIComponent(id)}`,
        done: () => 'The one-time link is revoked.',
      });
    }),
  ];
}

/** The e-mail that an address names, or that of the user whom it names. */
async function emailIn({ services }: Web, request: Request): Promise<string> {
  const id = queryText(request, 'user');
  const [user] = isUuid(id) ? await readUsers(services.database, { ids: [id] }) : [];
  return user?.email ?? queryText(request, 'email');
}

/** The one-time link of a user, as their page shows it; null where there is none. */
export async function linkView({ services }: Web, { id }: Pick<UserRow, 'id'>) {
  const link = await findLinkOf(services.database, id, 'enrolment');
  if (link === null) return null;
  return {
    isOpen: isTakable(link, new Date()),
    usedAt: link.used_at?.toISOString() ?? null,
    mailedAt: link.mailed_at?.toISOString() ?? null,
    mailError: link.mail_fault,
    until: link.expires_at.toISOString(),
  };
}

async function showForm(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  typed: Typed,
  errors: FormErrors = {},
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'enrol', {
    title: 'Invite people',
    scripts: ['combobox.js'],
    form: formView(enrolForm(web), typed, {
      action: PATH,
      submit: 'Make the links',
      cancel: '/users/invitations',
      errors,
    }),
    // Policy tests alone say something that is about no field.
    others:
      errors['base'] === undefined
        ? []
        : [{ name: 'do', value: 'force', label: 'Invite them anyway' }],
  });
}

/** What a person asks for, if it can be read. */
interface Read {
  readonly people: readonly Person[];
  readonly groups: readonly NamedGroup[];
  readonly hours: number;
  readonly errors: FormErrors;
}

function readForm(typed: Typed): Read {
  const hours = Number((typed['hours'] ?? '').trim() || Number.NaN);
  const { people, error } = readPeople(typed['emails'] ?? '');
  const groups = groupNames(typed['groups'] ?? '', '|', null);
  const errors: FormErrors = {};
  if (error !== null) errors['emails'] = [error];
  const wrong = hoursError(hours);
  if (wrong !== null) errors['hours'] = [wrong];
  return { people, groups, hours, errors };
}

async function enrol(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const typed = typedIn(request, enrolForm(web));
  if (isBack(request)) return showForm(web, request, h, typed);
  const { people, groups, hours, errors } = readForm(typed);
  if (!hasNoErrors(errors)) return (await showForm(web, request, h, typed, errors)).code(422);
  const { mails, database } = web.services;
  const isMailed = mails !== undefined && typed['mail'] === 'true';
  const asked = { people, groups, force: textOf(request, 'do') === 'force' };
  return saveForm(web, request, h, {
    ...(namesGroups(asked) && { asked: { label: 'Make the links', back: PATH, isForm: true } }),
    write: ({ enrolments }) => enrolments.enrol(callerOf(request), asked, { hours, isMailed }),
    again: (refused) => showForm(web, request, h, typed, eachInOne(refused)),
    done: async (made) => {
      const isQueued = isMailed && (await queueMails(database, mails, made.links));
      const mailed = isMailed ? (isQueued ? 'queued' : 'full') : null;
      return showMade(web, request, h, made.people, mailed);
    },
  });
}

/** A list may have hundreds of errors: each field says the first ones in one sentence. */
function eachInOne({ base, ...others }: FormErrors): FormErrors {
  const said = Object.entries(others).map(([name, errors]) => [
    name,
    [errorsInOne((errors as FormError[]).map(plainWords))],
  ]);
  return { ...(base === undefined ? {} : { base }), ...Object.fromEntries(said) };
}

/** The links are shown only once, in this answer. A redirect would lose them. */
async function showMade(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  people: readonly Enrolled[],
  mailed: 'queued' | 'full' | null,
): Promise<ResponseObject> {
  const only = people.length === 1 ? (people[0]?.url ?? null) : null;
  return web.pages.show(request, h, 'enrolled', {
    title: people.length === 1 ? 'The link is made' : 'The links are made',
    list: people.map(cellsOf),
    file: enrolledFile(people),
    mailed,
    only,
    qr: only === null ? null : await qrCode(only),
  });
}

function cellsOf({ user_id: id, email, was_there: wasThere, url }: Enrolled): unknown[] {
  const state = wasThere ? 'was here' : { text: 'new', badge: 'good' };
  return [
    { text: email, href: `/users/${id}` },
    url === null ? { text: 'disabled', badge: 'bad' } : state,
    url ?? 'no link',
  ];
}
