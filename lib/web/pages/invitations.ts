// Invitations, for administrators: whose one-time link waits, is over or was used, and what became
// of its mail. No page holds a link but the one that follows its making (enrolment.ts).

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { type Database, findLinksOf, type OneTimeLink, readUsers } from '../../../models/index.ts';
import { LINK_HOURS } from '../../auth/one-time-links.ts';
import { stateOf } from '../../domain/enrolment/enrolment.ts';
import { type Change, jobRoute, type ManyPlan, manyRoute } from '../kit/many.ts';
import { recentlyForOwn } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { performs } from '../kit/save.ts';
import { inOrder } from '../../kit/records/in-order.ts';
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
import { agoInWords, awayInWords } from '../kit/words.ts';

const INVITATIONS = '/users/invitations';
const SEND = { name: 'send', label: 'Send again', action: `${INVITATIONS}/send` } as const;

const plan: TablePlan = {
  table: 'invitations',
  path: INVITATIONS,
  states: {
    open: 'Waiting for the person',
    unsent: 'Mail not sent',
    over: 'Over before it was used',
    used: 'Used',
  },
};

const STATES = {
  open: { text: 'Waiting', badge: 'warning' },
  used: { text: 'Used', badge: 'good' },
  expired: { text: 'Over', badge: 'bad' },
} as const;

const FILE_HEAD = [
  'user_id',
  'email',
  'state',
  'made_at',
  'expires_at',
  'used_at',
  'mailed_at',
  'mail_fault',
];

/** The routes. */
export function invitationPages(web: Web): ServerRoute[] {
  const { database } = web.services;
  return [
    adminPage('GET', INVITATIONS, (request, h) => showInvitations(web, request, h)),
    adminPage('GET', `${INVITATIONS}.csv`, (request, h) =>
      sendFile(h, 'invitations', database, plan, askedIn(request, plan), FILE_HEAD, (ids) =>
        fileLines(database, ids),
      ),
    ),
    jobRoute(web, INVITATIONS),
    // This only takes a way in away, which may be urgent.
    manyRoute(web, manyPlan(web, { revoke })),
    recentlyForOwn(
      manyRoute(web, {
        ...manyPlan(web, web.services.mails === undefined ? {} : { send }),
        action: 'send',
      }),
      INVITATIONS,
    ),
  ];
}

async function showInvitations(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { database, mails } = web.services;
  const found = await findPage(database, request, plan);
  const list = await readInvitations(database, found.ids);
  const isMailing = mails !== undefined;
  return web.pages.show(request, h, 'invitations', {
    title: 'Invitations',
    isMailing,
    hours: LINK_HOURS.default,
    finder: found.view,
    rows: list.map(cellsOf),
    ids: list.map(({ id }) => id),
    menu: menuOf(request, plan, found.view, menuItems(isMailing)),
    kinds: list.map(({ state }) => (state === 'open' ? null : 'off')),
    many: {
      action: `${INVITATIONS}/many`,
      back: found.view.here,
      every: everyOf(found, 'invitations'),
      changes: [...(isMailing ? [SEND] : []), { name: 'revoke', label: 'Revoke…', tone: 'danger' }],
    },
  });
}

/** An invitation, of a user whose id it has. */
interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly link: OneTimeLink;
  readonly state: keyof typeof STATES;
}

async function readInvitations(
  database: Database,
  ids: readonly string[],
): Promise<readonly Invitation[]> {
  const links = await findLinksOf(database, ids, 'enrolment');
  return inOrder(ids, await readUsers(database, { ids: [...ids] })).flatMap(({ id, email }) => {
    const link = links.get(id);
    return link === undefined ? [] : [{ id, email, link, state: stateOf(link) }];
  });
}

function menuItems(isMailing: boolean): readonly MenuItem[] {
  return [
    ...(isMailing ? [{ ...SEND, change: SEND.name }] : []),
    { label: 'Make a link to hand over', path: '/users/enrol?user=*' },
    { label: 'Revoke…', change: 'revoke', tone: 'danger', only: 'on' },
  ];
}

function cellsOf({ id, email, link, state }: Invitation): unknown[] {
  const { text, badge } = STATES[state];
  const { mailed_at: mailedAt, used_at: usedAt, inserted_at: madeAt } = link;
  return [
    { text: email, href: `/users/${id}`, dot: badge, below: mailInWords(link) },
    { text, help: usedAt === null ? undefined : agoInWords(usedAt) },
    mailedAt === null ? 'not sent' : timeCell(mailedAt),
    timeCell(madeAt),
    timeCell(link.expires_at),
  ];
}

function timeCell(time: Date): object {
  return { time: time.toISOString(), ago: awayInWords(time) };
}

function mailInWords({ mailed_at: mailedAt, mail_fault: error }: OneTimeLink): string {
  if (mailedAt !== null) return 'Mail sent';
  return error ?? 'Handed over without a mail';
}

async function fileLines(
  database: Database,
  ids: readonly string[],
): Promise<(string | number | null)[][]> {
  return (await readInvitations(database, ids)).map(({ id, email, link, state }) => [
    id,
    email,
    state,
    link.inserted_at.toISOString(),
    link.expires_at.toISOString(),
    link.used_at?.toISOString() ?? null,
    link.mailed_at?.toISOString() ?? null,
    link.mail_fault,
  ]);
}

function manyPlan(web: Web, changes: Readonly<Record<string, Change>>): ManyPlan {
  return {
    table: 'invitations',
    path: INVITATIONS,
    nouns: ['invitation', 'invitations'],
    names: async (ids) => {
      const found = await readUsers(web.services.database, { ids: [...ids] });
      return new Map(found.map(({ id, email }) => [id, email]));
    },
    change: (name) => changes[name] ?? 'Nothing was chosen.',
    // A link carries no packets.
    effect: () => Promise.resolve(null),
  };
}

const send: Change = {
  done: 'made anew; what became of each mail is in this list',
  question: {
    title: ['Send this invitation again?', 'Send these invitations again?'],
    text: [
      'The person gets another link by e-mail. The link before ends at once.',
      'Each person gets another link by e-mail. The links before end at once.',
    ],
    label: 'Send again',
  },
  isHarmless: true,
  write:
    (caller, id) =>
    ({ enrolments }) =>
      enrolments.sendAgain(caller, id),
};

const revoke: Change = {
  done: 'revoked',
  question: {
    title: ['Revoke this invitation?', 'Revoke these invitations?'],
    text: [
      'The link ends at once. The person stays a user; another invitation makes another link.',
      'The links end at once. The people stay users; another invitation makes another link.',
    ],
    label: 'Revoke',
  },
  write: (caller, id) => performs(caller, 'deleteEnrolment', { params: { id } }),
};
