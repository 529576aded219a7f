// The client's file of a device, for its owner or for an administrator: shown with a line for the
// private key, which the browser alone fills in; downloaded; and made again with another key pair.
// No private key comes here.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { noteClientFile, readUsers } from '../../../models/index.ts';
import {
  clientFile,
  clientFileHash,
  clientFileName,
  PRIVATE_KEY_BLANK,
} from '../../domain/devices/client-config.ts';
import { sessionSeconds } from '../../domain/devices/vpn-session.ts';
import { actorId, callerOf } from '../../kit/http/request-caller.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { FiledDevice } from '../../domain/devices/old-files.ts';
import { textOf } from '../kit/form-token.ts';
import type { RoomWrite } from '../parts/effect.ts';
import { firstHandshake } from '../parts/first-handshake.ts';
import { fileProblems } from '../parts/gateway-problems.ts';
import {
  anyDevice,
  changesOwn,
  deviceRights,
  noteFile,
  ownDevice,
  rightsToManage,
  sessionRules,
} from '../parts/own-devices.ts';
import { adminPage, page } from '../kit/route.ts';
import { performs, saveForm } from '../kit/save.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { OWN_DEVICES } from './user-devices.ts';

/** Where files are shown: to owners, or to administrators. */
interface Place {
  readonly path: string;
  readonly route: typeof page;
  readonly find: (web: Web, request: Request) => Promise<FiledDevice>;
  /** The write that changes such a device. */
  readonly write: (caller: Caller, id: string, record: object) => RoomWrite;
}

const places: readonly Place[] = [
  { path: OWN_DEVICES, route: page, find: ownDevice, write: changesOwn },
  {
    path: '/devices',
    route: adminPage,
    find: anyDevice,
    write: (caller, id, record) => performs(caller, 'updateDevice', { params: { id }, record }),
  },
];

/** The routes of the file. */
export function deviceFilePages(web: Web): ServerRoute[] {
  return places.flatMap((place) => {
    const { path, route } = place;
    return [
      route('GET', `${path}/{id}/file`, (request, h) => showFile(web, place, request, h)),
      route('GET', `${path}/{id}/file/download`, async (request, h) => {
        const { row, client } = await place.find(web, request);
        const response = h.response(clientFile(client)).type('text/plain; charset=utf-8');
        // The name holds nothing but what wg-quick takes, so no header can be made of it.
        const name = clientFileName(row.name);
        return response.header('content-disposition', `attachment; filename="${name}"`);
      }),
      route('GET', `${path}/{id}/handshake`, async (request, h) => {
        const { row } = await place.find(web, request);
        return h.response(await firstHandshake(web, row, path === OWN_DEVICES));
      }),
      route('POST', `${path}/{id}/file`, (request, h) => noteUse(web, place, request, h)),
      route('POST', `${path}/{id}/key`, (request, h) => changeKey(web, place, request, h)),
    ];
  });
}

async function showFile(
  web: Web,
  place: Place,
  request: Request,
  h: ResponseToolkit,
  values: { publicKey?: string; keyErrors?: readonly unknown[] } = {},
): Promise<ResponseObject> {
  const { row, client, isFileOld } = await place.find(web, request);
  const { publicKey = '', keyErrors = [] } = values;
  const isOwn = place.path === OWN_DEVICES;
  const [owner] = isOwn ? [] : await readUsers(web.services.database, { ids: [row.user_id] });
  return web.pages.show(request, h, 'device-file', {
    title: say('file.of', { name: row.name }),
    scripts: ['device-keys.js'],
    here: `${place.path}/${row.id}`,
    /** Null on the owner's own page. */
    owner: owner?.email ?? null,
    device: row,
    isFileOld,
    handshake: row.latest_handshake === null ? await firstHandshake(web, row, isOwn) : null,
    file: clientFile(client),
    hash: clientFileHash(client),
    problems: fileProblems(web.services, client.endpoint),
    doSessionsEnd: sessionSeconds((await sessionRules(web)).configuration) > 0,
    hasDns: (client.dns ?? []).length > 0,
    fileName: clientFileName(row.name),
    blank: PRIVATE_KEY_BLANK,
    rights: await deviceRights(web, request),
    publicKey,
    keyErrors,
  });
}

/** The person says that the device has the file that they were shown, which may be old by now. */
async function noteUse(
  web: Web,
  { path, find }: Place,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  await rightsToManage(web, request);
  const { row } = await find(web, request);
  const hash = textOf(request, 'hash');
  const ownerId = path === OWN_DEVICES ? actorId(request) : null;
  if (/^[0-9a-f]{64}$/.test(hash))
    await noteClientFile(web.services.database, row.id, hash, ownerId);
  return web.pages.redirect(h, `${path}/${row.id}`);
}

/** Sent twice with one key, it does nothing the second time: a browser may miss the answer. */
async function changeKey(
  web: Web,
  place: Place,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  await rightsToManage(web, request);
  const { row } = await place.find(web, request);
  const publicKey = textOf(request, 'public_key').trim();
  return saveForm(web, request, h, {
    write: place.write(callerOf(request), row.id, { public_key: publicKey }),
    again: ({ public_key: keyErrors = [] }) =>
      showFile(web, place, request, h, { publicKey, keyErrors }),
    done: async () => {
      await noteFile(web, row.id);
      const said = say('file.key_is_new', { name: row.name });
      return { said, to: `${place.path}/${row.id}/file` };
    },
  });
}
