// Letting people in, for administrators: e-mails become users with one-time links, which are shown
// once. The work is that of the command line. docs/api.md#enrolment.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { findLinkOf, type UserRow } from '../../../models/index.ts';
import { actorId } from '../../auth/index.ts';
import { LINK_HOURS } from '../../auth/one-time-links.ts';
import { Enrolments } from '../../enrolment/enrolment.ts';
import {
  ENROLLED_MAX,
  type Enrolled,
  enrolledFile,
  enrolMany,
  hoursFault,
  queueMails,
  readEmails,
} from '../../enrolment/many.ts';
import { addFault, type Faults, isFaultless } from '../../judge/judge.ts';
import { formView, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import type { Web } from '../kit/web.ts';

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
      help: `One in a line, or a CSV file whose first column they are; ${ENROLLED_MAX} at most. Who is not here yet is made a user.`,
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
  const enrolments = new Enrolments(web);
  return [
    recently(
      adminPage('GET', PATH, (request, h) => {
        const email: unknown = request.query['email'];
        const emails = typeof email === 'string' ? email : '';
        const typed = typedFrom({ emails, hours: LINK_HOURS.default }, enrolForm(web));
        return showForm(web, request, h, typed);
      }),
    ),
    recently(adminPage('POST', PATH, (request, h) => enrol(web, request, h))),
    // This only takes a way in away, which may be urgent.
    adminPage('POST', '/users/{id}/revoke_link', async (request, h) => {
      const id = String(request.params['id']);
      await enrolments.revoke(request, id);
      web.pages.flash(h, 'done', 'The one-time link is revoked.');
      return web.pages.redirect(h, `/users/${encodeURIComponent(id)}`);
    }),
  ];
}

/** The one-time link of a user, as their page shows it; null where there is none. */
export async function linkView({ services }: Web, { id }: Pick<UserRow, 'id'>) {
  const link = await findLinkOf(services.database, id, 'enrolment');
  if (link === null) return null;
  return {
    isOpen: link.used_at === null && link.expires_at > new Date(),
    usedAt: link.used_at?.toISOString() ?? null,
    mailedAt: link.mailed_at?.toISOString() ?? null,
    mailFault: link.mail_fault,
    until: link.expires_at.toISOString(),
  };
}

function showForm(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  typed: Typed,
  faults: Faults = {},
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'enrol', {
    title: 'Let people in',
    form: formView(enrolForm(web), typed, {
      action: PATH,
      submit: 'Make the links',
      cancel: '/users',
      faults,
    }),
  });
}

async function enrol(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database, config } = web.services;
  const typed = typedIn(request, enrolForm(web));
  const hours = Number((typed['hours'] ?? '').trim() || Number.NaN);
  const { emails, fault } = readEmails(typed['emails'] ?? '');
  const faults: Faults = {};
  if (fault !== null) addFault(faults, 'emails', fault);
  const wrong = hoursFault(hours);
  if (wrong !== null) addFault(faults, 'hours', wrong);
  if (!isFaultless(faults)) return (await showForm(web, request, h, typed, faults)).code(422);
  const { mails } = web.services;
  const isMailed = mails !== undefined && typed['mail'] === 'true';
  const createdBy = actorId(request);
  const wish = { hours, createdBy, isMailed, externalUrl: config.externalUrl };
  const { people, links } = await web.writes.run(request, {
    judge: async () => null,
    write: (transaction) => enrolMany(database, emails, wish, transaction),
  });
  const isQueued = isMailed && (await queueMails(database, mails, links));
  // The links are shown only once, in this answer. A redirect would lose them.
  return web.pages.show(request, h, 'enrolled', {
    title: people.length === 1 ? 'The link is made' : 'The links are made',
    list: people.map(cellsOf),
    file: enrolledFile(people),
    mailed: isMailed ? (isQueued ? 'queued' : 'full') : null,
    only: people.length === 1 ? (people[0]?.url ?? null) : null,
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
