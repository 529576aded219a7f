// The client's file of one's own device: shown with a line for the private key, which the browser
// alone fills in; downloaded; and made anew with another key pair. No private key comes here.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { noteClientFile } from '../../../models/index.ts';
import { ApiError } from '../../api/errors.ts';
import { Devices } from '../../api/v0/devices.ts';
import {
  clientFile,
  clientFileHash,
  clientFileName,
  PRIVATE_KEY_BLANK,
} from '../../devices/client-config.ts';
import { textOf } from '../forms.ts';
import { deviceRights, ownDevice, rightsToManage } from '../own-devices.ts';
import { page } from '../route.ts';
import type { Web } from '../web.ts';
import { OWN_DEVICES } from './user-devices.ts';

const FILE = `${OWN_DEVICES}/{id}/file`;

/** The routes of the file. */
export function deviceFilePages(web: Web): ServerRoute[] {
  const devices = new Devices(web);
  return [
    page('GET', FILE, (request, h) => showFile(web, request, h)),
    page('GET', `${FILE}/download`, async (request, h) => {
      const { row, client } = await ownDevice(web, request);
      const response = h.response(clientFile(client)).type('text/plain; charset=utf-8');
      // The name holds nothing but what wg-quick takes, so no header can be made of it.
      const name = clientFileName(row.name);
      return response.header('content-disposition', `attachment; filename="${name}"`);
    }),
    page('POST', FILE, (request, h) => noteUse(web, request, h)),
    page('POST', `${OWN_DEVICES}/{id}/key`, (request, h) => changeKey(web, devices, request, h)),
  ];
}

async function showFile(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  values: { publicKey?: string; keyFaults?: readonly unknown[] } = {},
): Promise<ResponseObject> {
  const { row, client, isFileOld } = await ownDevice(web, request);
  const { publicKey = '', keyFaults = [] } = values;
  return web.pages.show(request, h, 'device-file', {
    title: `File of ${row.name}`,
    scripts: ['device-keys.js'],
    device: row,
    isFileOld,
    file: clientFile(client),
    hash: clientFileHash(client),
    fileName: clientFileName(row.name),
    blank: PRIVATE_KEY_BLANK,
    rights: await deviceRights(web, request),
    publicKey,
    keyFaults,
  });
}

/** The person says that the device has the file that they were shown, which may be old by now. */
async function noteUse(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  await rightsToManage(web, request);
  const { row } = await ownDevice(web, request);
  const hash = textOf(request, 'hash');
  if (/^[0-9a-f]{64}$/.test(hash)) await noteClientFile(web.services.database, row.id, hash);
  return web.pages.redirect(h, `${OWN_DEVICES}/${row.id}`);
}

async function changeKey(
  web: Web,
  devices: Devices,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  await rightsToManage(web, request);
  const { row } = await ownDevice(web, request);
  const publicKey = textOf(request, 'public_key').trim();
  try {
    const input = devices.judge({ public_key: publicKey }, 'update');
    await devices.update(request, row.id, input);
  } catch (error) {
    if (!(error instanceof ApiError) || error.faults === null) throw error;
    const keyFaults = error.faults['public_key'] ?? [];
    return (await showFile(web, request, h, { publicKey, keyFaults })).code(422);
  }
  const { client } = await ownDevice(web, request);
  await noteClientFile(web.services.database, row.id, clientFileHash(client));
  web.pages.flash(h, 'done', `${row.name} has another key pair. The old file serves no more.`);
  return web.pages.redirect(h, `${OWN_DEVICES}/${row.id}/file`);
}
