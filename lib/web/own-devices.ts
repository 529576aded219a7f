// What a person may do with their own devices, and the devices themselves: whoever asks for another
// one's device hears that there is none.

import type { Request } from '@hapi/hapi';
import { type DeviceRow, readClientFiles, readDevices } from '../../models/index.ts';
import { isUuid } from '../api/fields.ts';
import { ApiError } from '../api/errors.ts';
import { actorId } from '../auth/index.ts';
import { type ClientConfig, clientConfigOf, clientFileHash } from '../devices/client-config.ts';
import { defaultSettings, type SettingValues } from '../devices/settings.ts';
import { PageError } from './page-error.ts';
import type { Web } from './web.ts';

/** What a person may do besides looking. */
export interface DeviceRights {
  /** Add, change and delete devices. */
  readonly mayManage: boolean;
  /** Say more of them than name, description and keys. */
  readonly maySetNetwork: boolean;
}

/** A device of the person who asks. */
export interface OwnDevice {
  readonly row: DeviceRow;
  /** What its client's file holds at present. */
  readonly client: ClientConfig;
  /** True where the file was made with something else; false also where nobody knows. */
  readonly isFileOld: boolean;
}

/** What the person of a request may do; as of this very moment. */
export async function deviceRights({ recall }: Web, request: Request): Promise<DeviceRights> {
  await recall.refresh();
  const {
    allow_unprivileged_device_management: management,
    allow_unprivileged_device_configuration: configuration,
  } = await recall.configuration();
  const isAdmin = request.auth.credentials.user?.role === 'admin';
  const mayManage = isAdmin || management;
  return { mayManage, maySetNetwork: mayManage && (isAdmin || configuration) };
}

/** As `deviceRights`, for those who may manage; others are refused. */
export async function rightsToManage(web: Web, request: Request): Promise<DeviceRights> {
  const rights = await deviceRights(web, request);
  if (rights.mayManage) return rights;
  throw new PageError('forbidden', {
    title: 'Managed by an administrator',
    text: 'Here administrators add, change and remove devices. Ask one of them.',
  });
}

/** The devices of the person of a request, oldest first. */
export async function ownDevices(web: Web, request: Request): Promise<OwnDevice[]> {
  const { database } = web.services;
  const userId = actorId(request);
  const [rows, files, defaults] = [
    await readDevices(database, { userId }),
    await readClientFiles(database, userId),
    await settingDefaults(web),
  ];
  return rows.map((row) => {
    const client = clientConfigOf(row, defaults, web.services);
    const noted = files.get(row.id);
    return { row, client, isFileOld: noted !== undefined && noted !== clientFileHash(client) };
  });
}

/** The device that the path of a request names, if it is the person's own. */
export async function ownDevice(web: Web, request: Request): Promise<OwnDevice> {
  const id = String(request.params['id']).toLowerCase();
  const devices = isUuid(id) ? await ownDevices(web, request) : [];
  const device = devices.find(({ row }) => row.id === id);
  if (device === undefined) throw new ApiError('not_found');
  return device;
}

/** What devices show whose settings are the defaults. */
export async function settingDefaults({ recall, services }: Web): Promise<SettingValues> {
  await recall.refresh();
  return defaultSettings(await recall.configuration(), services.config);
}
