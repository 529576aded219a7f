// One user, for administrators: what is known of them, on pages that are tabs. What changes a user
// is in user.ts.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  type DeviceRow,
  readDevices,
  readGroups,
  readUsers,
  type UserRow,
} from '../../../models/index.ts';
import { readWaits } from '../../auth/attempts.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { actorId } from '../../kit/http/request-caller.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { adminPage } from '../kit/route.ts';
import { queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { counted, minutesUntil } from '../kit/words.ts';
import { historyView } from '../parts/history-view.ts';
import { addressesOf } from '../parts/named-device.ts';
import { methodWords, userBadge } from '../parts/live-users.ts';
import { providerNames } from '../parts/provider-names.ts';
import { quotaView } from '../parts/quota.ts';
import { tabsOf } from '../parts/record-tabs.ts';
import { sessionsOf } from '../parts/session-rows.ts';
import { linkView } from './enrolment.ts';
import { linksOf } from './relink.ts';
import { roleWords } from './users.ts';

const USER = '/users/{id}';
/** Devices that the page shows; the table of all devices has the rest. */
const DEVICES_SHOWN = 20;

/** The pages of a user, by their path behind that of the user. */
const PAGES = [
  ['', 'Overview'],
  ['/traffic', 'Traffic'],
  ['/sign_in', 'Sign-in'],
  ['/edit', 'Settings'],
] as const;

type UserPage = (typeof PAGES)[number][0];

/** The routes of the pages of one user. */
export function oneUserPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', USER, (request, h) => showOverview(web, request, h)),
    adminPage('GET', `${USER}/traffic`, (request, h) => showTraffic(web, request, h)),
    adminPage('GET', `${USER}/sign_in`, (request, h) => showSignIn(web, request, h)),
  ];
}

/** The user whom the path of a request names. */
export async function findUser(web: Web, request: Request): Promise<UserRow> {
  const id = String(request.params['id']).toLowerCase();
  const [user] = isUuid(id) ? await readUsers(web.services.database, { ids: [id] }) : [];
  if (user === undefined) throw new ApiError('not_found');
  return user;
}

/** What all pages of a user begin with, for partials/user-head. */
export async function userHead(web: Web, request: Request, user: UserRow, page: UserPage) {
  const { models } = web.services.database;
  const where = { user_id: user.id };
  const waitsUntil = (await readWaits(web.services.database, [user])).get(user.id);
  const here = `/users/${user.id}`;
  const nameOf = await providerNames(web);
  return {
    here,
    id: user.id,
    email: user.email,
    name: user.name,
    isSelf: user.id === actorId(request),
    isDisabled: user.disabled_at !== null,
    badge: userBadge(user, nameOf, waitsUntil),
    role: roleWords(user, nameOf),
    wait:
      waitsUntil === undefined
        ? null
        : { until: waitsUntil.toISOString(), left: minutesUntil(waitsUntil) },
    link: await linkView(web, user),
    factors: await models.SecondFactor.count({ where }),
    tokens: await models.ApiToken.count({ where }),
    sessions: await models.Session.count({ where }),
    devicesOn: await models.Device.count({ where: { ...where, disabled_at: null } }),
    deviceWords: counted(await models.Device.count({ where }), 'device'),
    tabs: tabsOf(here, PAGES, page),
  };
}

async function showOverview(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { database } = web.services;
  const user = await findUser(web, request);
  // The traffic was on this page once; links to it are in people's notes.
  const range = queryText(request, 'range');
  if (range !== '') {
    const query = new URLSearchParams({ range }).toString();
    return web.pages.redirect(h, `/users/${user.id}/traffic?${query}`);
  }
  const devices = await readDevices(database, { userId: user.id, limit: DEVICES_SHOWN + 1 });
  return web.pages.show(request, h, 'user', {
    title: user.email,
    person: {
      ...(await userHead(web, request, user, '')),
      disabledAt: user.disabled_at?.toISOString() ?? null,
      lastSignedInAt: user.last_signed_in_at?.toISOString() ?? null,
      method: methodWords(user, await providerNames(web)),
      insertedAt: user.inserted_at.toISOString(),
      rules: await database.models.Rule.count({ where: { user_id: user.id } }),
    },
    quota: await quotaView(web, user),
    groups: await readGroups(database, { memberId: user.id }),
    devices: devices.slice(0, DEVICES_SHOWN).map(deviceCells),
    hasMoreDevices: devices.length > DEVICES_SHOWN,
  });
}

function deviceCells(device: DeviceRow): unknown[] {
  return [
    { text: device.name, href: `/devices/${device.id}`, description: device.description },
    { lines: addressesOf(device) },
    device.latest_handshake === null ? 'never' : { time: device.latest_handshake.toISOString() },
  ];
}

async function showTraffic(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const user = await findUser(web, request);
  const of = { kind: 'user', id: user.id, page: '/traffic' } as const;
  return web.pages.show(request, h, 'user-traffic', {
    title: `Traffic of ${user.email}`,
    scripts: ['history.js'],
    person: await userHead(web, request, user, '/traffic'),
    history: await historyView(web, request, `/users/${user.id}`, of),
  });
}

/** How the user gets in: sessions, second factors, links, accounts at providers. */
async function showSignIn(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const user = await findUser(web, request);
  const person = await userHead(web, request, user, '/sign_in');
  return web.pages.show(request, h, 'user-sign-in', {
    title: `Sign-in of ${user.email}`,
    person,
    links: await linksOf(web, user),
    sessions: person.isSelf ? [] : await sessionsOf(web, user.id, ''),
  });
}
