// What was carried over time as files for spreadsheets, for administrators: the charts of the
// dashboard and of devices, users, groups and rules offer them. docs/api.md#history.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { type TrafficOf, trafficCsv } from '../../observe/history/traffic.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { adminPage } from '../kit/route.ts';
import type { Web } from '../kit/web.ts';
import { chosenTraffic, TRAFFIC_FILE } from '../parts/history-view.ts';

/** The routes of the files. */
export function trafficFilePages(web: Web): ServerRoute[] {
  const { Device, User, Group, Rule } = web.services.database.models;
  const ofOne = (
    path: string,
    kind: Exclude<TrafficOf, 'all'>,
    isThere: (id: string) => Promise<object | null>,
  ): ServerRoute =>
    adminPage('GET', `${path}/{id}${TRAFFIC_FILE}`, async (request, h) => {
      const id = String(request.params['id']).toLowerCase();
      if (!isUuid(id) || (await isThere(id)) === null) throw new ApiError('not_found');
      return sendTraffic(web, request, h, { kind, id });
    });
  return [
    adminPage('GET', `/dashboard${TRAFFIC_FILE}`, (request, h) =>
      sendTraffic(web, request, h, { kind: 'all', id: '' }),
    ),
    ofOne('/devices', 'device', (id) => Device.findByPk(id)),
    ofOne('/users', 'user', (id) => User.findByPk(id)),
    ofOne('/users/groups', 'group', (id) => Group.findByPk(id)),
    ofOne('/rules', 'rule', (id) => Rule.findByPk(id)),
  ];
}

async function sendTraffic(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  of: { readonly kind: TrafficOf; readonly id: string },
): Promise<ResponseObject> {
  const chosen = await chosenTraffic(web, request, of);
  if (chosen === null) throw new ApiError('not_found');
  return h
    .response(trafficCsv(of.kind, chosen.traffic))
    .type('text/csv; charset=utf-8')
    .header('content-disposition', 'attachment; filename="traffic.csv"');
}
