// One device, for administrators: what is known of it, on pages that are its tabs. What changes it
// is in devices.ts, its file in device-file.ts.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { type DeviceRow, readDevices, readUsers } from '../../../models/index.ts';
import { settingNames, shownSettings } from '../../domain/devices/settings.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { formView, type Section, textOfValue } from '../kit/form.ts';
import { adminPage, streamed } from '../kit/route.ts';
import { queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { connectionRows } from '../parts/connection-rows.ts';
import { textsOf } from '../parts/device-form.ts';
import { deviceHead } from '../parts/device-head.ts';
import { limitLines } from '../parts/device-limits.ts';
import { switchView } from '../parts/device-status.ts';
import { diagnosisView } from '../parts/diagnosis.ts';
import { problemOf } from '../parts/gateway-problems.ts';
import { historyView } from '../parts/history-view.ts';
import { isOneOfSeveral } from '../parts/live-status.ts';
import { settingDefaults, withFiles } from '../parts/own-devices.ts';
import { serviceFields } from '../parts/service-fields.ts';

const DEVICE = '/devices/{id}';

/** What is asked of a packet of the device; _Would it pass?_ answers. */
const packetForm: readonly Section[] = [
  { fields: [{ name: 'destination', label: 'To', isRequired: true }, ...serviceFields] },
];

/** The routes of the pages of one device. */
export function oneDevicePages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', DEVICE, (request, h) => showOverview(web, request, h)),
    adminPage('GET', `${DEVICE}/live`, async (request, h) => {
      const { id } = await findDevice(web, request);
      return streamed(request, h, (viewer) => web.live.follow(id, viewer));
    }),
    adminPage('GET', `${DEVICE}/connections`, (request, h) => showConnections(web, request, h)),
    adminPage('GET', `${DEVICE}/packets`, async (request, h) => {
      const device = await findDevice(web, request);
      return web.pages.show(request, h, 'device-packets', {
        title: `Packets of ${device.name}`,
        head: await deviceHead(web, device, '/packets'),
        form: formView(packetForm, { destination: '', protocol: 'tcp', port: '' }, FORM),
      });
    }),
    adminPage('GET', `${DEVICE}/network`, (request, h) => showNetwork(web, request, h)),
  ];
}

const FORM = { action: '/explain', submit: 'Ask' };

/** The device that the path of a request names. */
export async function findDevice(web: Web, request: Request): Promise<DeviceRow> {
  const id = String(request.params['id']).toLowerCase();
  const [device] = isUuid(id) ? await readDevices(web.services.database, { ids: [id] }) : [];
  if (device === undefined) throw new ApiError('not_found');
  return device;
}

async function showOverview(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const device = await findDevice(web, request);
  const here = `/devices/${device.id}`;
  // The chart of a longer time was on this page once; links to it are in people's notes.
  const range = queryText(request, 'range');
  if (range !== '')
    return web.pages.redirect(
      h,
      `${here}/connections?${new URLSearchParams({ range }).toString()}`,
    );
  const [filed] = await withFiles(web, [device]);
  return web.pages.show(request, h, 'device', {
    title: device.name,
    scripts: ['device-live.js'],
    head: await deviceHead(web, device, ''),
    device: { insertedAt: device.inserted_at.toISOString(), ...switchView(device) },
    problem: problemOf(web.services, device.id),
    isOneOfSeveral: await isOneOfSeveral(web.services),
    diagnosis: await diagnosisView(web, device),
    isFileOld: filed?.isFileOld ?? false,
  });
}

/** What the device carried, and when it was connected. */
async function showConnections(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const device = await findDevice(web, request);
  const { id, name } = device;
  const of = { kind: 'device', id, page: '/connections' } as const;
  const history = await historyView(web, request, `/devices/${id}`, of);
  return web.pages.show(request, h, 'device-connections', {
    title: `Connections of ${name}`,
    scripts: ['history.js'],
    head: await deviceHead(web, device, '/connections'),
    history,
    connections: history === null ? [] : await connectionRows(web, id),
  });
}

async function showNetwork(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const device = await findDevice(web, request);
  const [owner] = await readUsers(web.services.database, { ids: [device.user_id] });
  const shown = shownSettings(device, await settingDefaults(web));
  return web.pages.show(request, h, 'device-network', {
    title: `Network of ${device.name}`,
    head: await deviceHead(web, device, '/network'),
    device: { ...textsOf(device), publicKey: device.public_key },
    settings: settingNames.map((name) => ({
      name,
      text: textOfValue(shown[name]),
      isDefault: device[`use_default_${name}`],
    })),
    limits: limitLines(device, owner, await web.recall.configuration()),
  });
}
