// The devices of the person who is signed in: the list, one device with its live values, and the
// forms that change it. The client's file is in device-file.ts. docs/api.md#devices.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { readUsers, type UserRow } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { sentences } from '../../kit/validation/messages.ts';
import { actorId, callerOf } from '../../kit/http/request-caller.ts';
import { settingNames } from '../../domain/devices/settings.ts';
import { vpnSessionOf } from '../../domain/devices/vpn-session.ts';
import {
  deviceFormView,
  deviceInput,
  flatDevice,
  hostErrorsOf,
  textsOf,
  typedDevice,
  type TypedDevice,
  typedFrom,
  UNTYPED,
} from '../parts/device-form.ts';
import { inheritedLimits, limitLines } from '../parts/device-limits.ts';
import { deviceStatusView, switchView, stopOf } from '../parts/device-status.ts';
import { quotaView } from '../parts/quota.ts';
import { textOfValue, type Typed } from '../kit/form.ts';
import { textOf } from '../kit/form-token.ts';
import { problemOf } from '../parts/gateway-problems.ts';
import {
  changesOwn,
  deviceRights,
  type DeviceRights,
  madeBefore,
  noteFile,
  ownDevice,
  ownDevices,
  rightsToManage,
  sessionRules,
  settingDefaults,
} from '../parts/own-devices.ts';
import { recently } from '../kit/recent.ts';
import { page, streamed } from '../kit/route.ts';
import { act, performs, saveForm } from '../kit/save.ts';
import { changedMeanwhile, seenOf } from '../kit/seen.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { liveOwnDevices, ownDeviceCells } from '../parts/live-devices.ts';
import { liveView, rowName } from '../parts/live-list.ts';
import { liveRoute } from '../parts/live-routes.ts';
import { isOneOfSeveral } from '../parts/live-status.ts';
import { ownDiagnosisView } from '../parts/diagnosis.ts';

/** The path of the list. */
export const OWN_DEVICES = '/user_devices';
const ONE = `${OWN_DEVICES}/{id}`;

type Answer = Promise<ResponseObject>;

const SETTING_LABELS = {
  allowed_ips: 'device.allowed_ips',
  dns: 'device.dns',
  endpoint: 'device.endpoint',
  mtu: 'device.mtu',
  persistent_keepalive: 'device.persistent_keepalive',
} as const;

/** The routes of a person's own devices. */
export function userDevicePages(web: Web): ServerRoute[] {
  return [
    page('GET', OWN_DEVICES, (request, h) => showList(web, request, h)),
    liveRoute(
      web,
      OWN_DEVICES,
      liveOwnDevices(web.services.database, () => sessionRules(web)),
    ),
    page('GET', `${OWN_DEVICES}/new`, async (request, h) => {
      const rights = await rightsToManage(web, request);
      return showNew(web, request, h, { rights, typed: UNTYPED });
    }),
    page('POST', `${OWN_DEVICES}/new`, (request, h) => add(web, request, h)),
    page('GET', ONE, (request, h) => showOne(web, request, h)),
    page('GET', `${ONE}/live`, async (request, h) => {
      const { row } = await ownDevice(web, request);
      return streamed(request, h, (viewer) => web.live.follow(row.id, viewer));
    }),
    page('GET', `${ONE}/edit`, async (request, h) => {
      const rights = await rightsToManage(web, request);
      const { row } = await ownDevice(web, request);
      const typed = typedFrom(await web.rooms.devices.show(row.id));
      return showEdit(web, request, h, { rights, typed, present: flatDevice(typed, rights) });
    }),
    page('POST', `${ONE}/edit`, (request, h) => change(web, request, h)),
    page('POST', `${ONE}/delete`, async (request, h) => {
      await rightsToManage(web, request);
      const { row } = await ownDevice(web, request);
      return act(web, request, h, {
        write: ({ devices }) => devices.removeOwn(callerOf(request), row.id),
        back: `${OWN_DEVICES}/${row.id}`,
        to: OWN_DEVICES,
        done: () => say('device.is_removed', { name: row.name }),
      });
    }),
    // A lost device is switched off by whoever owns it, whatever else the settings let them do.
    page('POST', `${ONE}/switch_off`, (request, h) => switchOwn(web, request, h, false)),
    // Whoever found it may be signed in on it.
    recently(
      page('POST', `${ONE}/switch_on`, (request, h) => switchOwn(web, request, h, true)),
      ONE,
    ),
  ];
}

async function showList(web: Web, request: Request, h: ResponseToolkit): Answer {
  const rights = await deviceRights(web, request);
  const devices = await ownDevices(web, request);
  const most = web.services.config.maxDevicesPerUser;
  const owner = await ownerOf(web, request);
  const rules = await sessionRules(web);
  const shown = devices.map(({ row, client, isFileOld }) => ({
    id: row.id,
    ...textsOf(row),
    addresses: [client.ipv4, client.ipv6].filter((address) => address !== null),
    isFileOld,
    status: deviceStatusView(row, stopOf(row, owner, rules)),
    switches: switchView(row),
  }));
  return web.pages.show(request, h, 'user-devices', {
    title: say('my_devices.title'),
    scripts: ['live-list.js'],
    name: owner.name,
    devices: shown,
    live: liveView(
      OWN_DEVICES,
      [],
      shown.map(({ id, status }) => rowName(id, ownDeviceCells(status))),
    ),
    rights,
    most,
    isFull: devices.length >= most,
    fullMessage: sentences.deviceLimit,
    quota: await quotaView(web, owner),
    vpn: await vpnView(web, request),
  });
}

async function showOne(web: Web, request: Request, h: ResponseToolkit): Answer {
  const rights = await deviceRights(web, request);
  const { row, client, isFileOld } = await ownDevice(web, request);
  const owner = await ownerOf(web, request);
  const rules = await sessionRules(web);
  return web.pages.show(request, h, 'user-device', {
    title: row.name,
    scripts: ['device-live.js'],
    device: row,
    isFileOld,
    status: deviceStatusView(row, stopOf(row, owner, rules)),
    switches: switchView(row),
    problem: problemOf(web.services, row.id),
    isOneOfSeveral: await isOneOfSeveral(web.services),
    diagnosis: await ownDiagnosisView(web, row),
    addresses: [client.ipv4, client.ipv6].filter((address) => address !== null),
    settings: settingNames.map((name) => ({
      label: say(SETTING_LABELS[name]),
      text: textOfValue(client[name]),
      isDefault: row[`use_default_${name}`],
    })),
    limits: limitLines(row, owner, await web.recall.configuration()),
    rights,
    vpn: await vpnView(web, request),
  });
}

/** What a form shows. */
interface Filled {
  readonly rights: DeviceRights;
  readonly typed: TypedDevice;
  readonly publicKey?: string;
  readonly errors?: FormErrors;
}

async function showNew(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { rights, typed, publicKey = '', errors = {} }: Filled,
): Answer {
  return web.pages.show(request, h, 'user-device-new', {
    title: say('device.add'),
    scripts: ['device-keys.js'],
    form: deviceFormView(typed, await settingDefaults(web), {
      ...rights,
      errors,
      inherited: await ownLimits(web, request),
    }),
    publicKey,
    keyErrors: errors['public_key'] ?? [],
  });
}

async function add(web: Web, request: Request, h: ResponseToolkit): Answer {
  const rights = await rightsToManage(web, request);
  const typed = typedDevice(request);
  const publicKey = textOf(request, 'public_key').trim();
  const key = { public_key: publicKey, user_id: actorId(request) };
  const before = await madeBefore(web, request, key);
  if (before !== null) return web.pages.redirect(h, `${OWN_DEVICES}/${before}/file`);
  return saveForm(web, request, h, {
    write: performs(callerOf(request), 'createDevice', {
      record: { ...deviceInput(typed, rights), ...key },
      errors: hostErrorsOf(typed),
    }),
    again: (errors) => showNew(web, request, h, { rights, typed, publicKey, errors }),
    done: async ({ id, name }) => {
      await noteFile(web, String(id));
      return {
        said: say('device.is_added', { name: String(name) }),
        to: `${OWN_DEVICES}/${String(id)}/file`,
      };
    },
  });
}

/** What the form of a device shows that exists, and the device as it is now. */
interface FilledAgain extends Filled {
  readonly present: Typed;
}

async function showEdit(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { rights, typed, present, errors = {} }: FilledAgain,
): Answer {
  const { row } = await ownDevice(web, request);
  return web.pages.show(request, h, 'user-device-edit', {
    title: say('device.change', { name: row.name }),
    device: row,
    seen: seenOf(present),
    form: deviceFormView(typed, await settingDefaults(web), {
      ...rights,
      errors,
      inherited: await ownLimits(web, request),
    }),
  });
}

async function change(web: Web, request: Request, h: ResponseToolkit): Answer {
  const rights = await rightsToManage(web, request);
  const { row } = await ownDevice(web, request);
  const typed = typedDevice(request);
  const present = flatDevice(typedFrom(await web.rooms.devices.show(row.id)), rights);
  const record = deviceInput(typed, rights);
  return saveForm(web, request, h, {
    refused: changedMeanwhile(request, { typed: flatDevice(typed, rights), present }),
    write: changesOwn(callerOf(request), row.id, record, hostErrorsOf(typed)),
    again: (errors) => showEdit(web, request, h, { rights, typed, present, errors }),
    done: () => ({ said: say('device.is_changed'), to: `${OWN_DEVICES}/${row.id}` }),
  });
}

async function switchOwn(web: Web, request: Request, h: ResponseToolkit, isOn: boolean): Answer {
  const { row } = await ownDevice(web, request);
  const to = `${OWN_DEVICES}/${row.id}`;
  return saveForm(web, request, h, {
    write: ({ devices }) => devices.switchOwn(callerOf(request), row.id, isOn),
    again: () => showOne(web, request, h),
    done: (isDone) => {
      // An administrator switched off what its owner wanted to switch on.
      if (!isDone) return { said: say('device.not_yours'), to, kind: 'failed' };
      return { said: say(isOn ? 'device.is_on' : 'device.is_off', { name: row.name }), to };
    },
  });
}

/** What an empty limit of an own device means; administrators alone have the fields. */
async function ownLimits(web: Web, request: Request): Promise<ReturnType<typeof inheritedLimits>> {
  const owner = await ownerOf(web, request);
  await web.recall.refresh();
  return inheritedLimits(owner, await web.recall.configuration());
}

/** The person of a request. */
async function ownerOf(web: Web, request: Request): Promise<UserRow> {
  const [owner] = await readUsers(web.services.database, { ids: [actorId(request)] });
  if (owner === undefined) throw new ApiError('not_found');
  return owner;
}

/** When the person's VPN session ends or ended; null if sessions never end. */
async function vpnView(web: Web, request: Request): Promise<object | null> {
  const session = await web.sessions.find(request);
  if (session === null) return null;
  const configuration = await web.recall.configuration();
  const { endsAt, hasEnded } = vpnSessionOf(session.user, configuration, web.services.config);
  if (endsAt === null && !hasEnded) return null;
  const query = new URLSearchParams({ return_to: request.path });
  return {
    endsAt: endsAt?.toISOString() ?? null,
    hasEnded,
    renewal: `/sign_in_again?${query.toString()}`,
  };
}
