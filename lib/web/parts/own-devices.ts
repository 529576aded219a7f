// What a person may do with devices, and the devices with the files of their clients. A user finds
// only their own devices here; administrators find those of everybody.

import type { Request } from '@hapi/hapi';
import { type DeviceRow, noteClientFile, readDevices } from '../../../models/index.ts';
import { validateDevice } from '../../domain/devices/devices.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import type { Errors } from '../../kit/validation/validate.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { actorId } from '../../kit/http/request-caller.ts';
import { clientFileHash } from '../../domain/devices/client-config.ts';
import { type FiledDevice, filedDevices } from '../../domain/devices/old-files.ts';
import { defaultSettings, type SettingValues } from '../../domain/devices/settings.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import { textOf } from '../kit/form-token.ts';
import { say } from '../kit/texts.ts';
import type { FormRights } from './device-form.ts';
import type { RoomWrite } from './effect.ts';
import { PageError } from '../../kit/http/page-error.ts';
import type { Web } from '../kit/web.ts';

/** What a person may do with their devices besides seeing them. */
export interface DeviceRights extends FormRights {
  /** Add, change and delete devices. */
  readonly mayManage: boolean;
}

/** What the person who sent a request may do with their devices at this moment. */
export async function deviceRights({ recall }: Web, request: Request): Promise<DeviceRights> {
  await recall.refresh();
  const {
    allow_unprivileged_device_management: management,
    allow_unprivileged_device_configuration: configuration,
  } = await recall.configuration();
  const isAdministrator = request.auth.credentials.user?.role === 'admin';
  const mayManage = isAdministrator || management;
  const maySetNetwork = mayManage && (isAdministrator || configuration);
  return { mayManage, maySetNetwork, isAdministrator };
}

/** The rights of a person who may manage their devices. Throws a PageError for others. */
export async function rightsToManage(web: Web, request: Request): Promise<DeviceRights> {
  const rights = await deviceRights(web, request);
  if (rights.mayManage) return rights;
  throw new PageError('forbidden', {
    title: say('my_devices.managed'),
    text: say('my_devices.managed_more'),
  });
}

/** The devices of the person who sent a request, oldest first. */
export async function ownDevices(web: Web, request: Request): Promise<FiledDevice[]> {
  const userId = actorId(request);
  return withFiles(web, await readDevices(web.services.database, { userId }));
}

/** The device that the path of a request names. Throws not_found if it is not the person's own. */
export async function ownDevice(web: Web, request: Request): Promise<FiledDevice> {
  const id = String(request.params['id']).toLowerCase();
  const devices = isUuid(id) ? await ownDevices(web, request) : [];
  const device = devices.find(({ row }) => row.id === id);
  if (device === undefined) throw new ApiError('not_found');
  return device;
}

/** The write that changes a device of the caller; whose it is, is asked in its transaction. */
export function changesOwn(
  caller: Caller,
  id: string,
  record: object,
  errors: Errors = {},
): RoomWrite {
  const validated = validateDevice(record, 'update');
  const input = { ...validated, errors: { ...errors, ...validated.errors } };
  return ({ devices }) => devices.updateOwn(caller, id, input);
}

/** The device that the path of a request names, of any owner; for administrators. */
export function anyDevice(web: Web, request: Request): Promise<FiledDevice> {
  return deviceOf(web, String(request.params['id']).toLowerCase());
}

/** Notes that the file of a device was made with the present values. */
export async function noteFile(web: Web, id: string): Promise<void> {
  const { row, client } = await deviceOf(web, id);
  await noteClientFile(web.services.database, row.id, clientFileHash(client));
}

/**
 * The id of the device that the same form made when it was sent before; null if there is none. A
 * browser that got no answer sends the form again, with the same key and the field `again`.
 */
export async function madeBefore(
  { services }: Web,
  request: Request,
  { public_key, user_id }: { public_key: string; user_id: string },
): Promise<string | null> {
  if (textOf(request, 'again') === '' || public_key === '' || !isUuid(user_id)) return null;
  const where = { public_key, user_id };
  return (await services.database.models.Device.findOne({ where }))?.id ?? null;
}

async function deviceOf(web: Web, id: string): Promise<FiledDevice> {
  const rows = isUuid(id) ? await readDevices(web.services.database, { ids: [id] }) : [];
  const [device] = await withFiles(web, rows);
  // It may have been removed by another request in between.
  if (device === undefined) throw new ApiError('not_found');
  return device;
}

/** The settings of devices that use the defaults. */
export async function settingDefaults({ recall, services }: Web): Promise<SettingValues> {
  await recall.refresh();
  return defaultSettings(await recall.configuration(), services.config);
}

/** How long VPN sessions are at present. */
export async function sessionRules({ recall, services }: Web): Promise<SessionRules> {
  await recall.refresh();
  return { configuration: await recall.configuration(), config: services.config };
}

/** Devices with their files. */
export async function withFiles(web: Web, rows: readonly DeviceRow[]): Promise<FiledDevice[]> {
  await web.recall.refresh();
  return filedDevices(web.services, await web.recall.configuration(), rows);
}
