// Devices, for administrators: the table of all, the forms that make and change one with every
// field, how one stands, and its switches. api.md, section 5.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { type DeviceRow, readDevices, readUsers, searchIds } from '../../../models/index.ts';
import { ApiError } from '../../api/errors.ts';
import { isUuid } from '../../api/fields.ts';
import type { Faults } from '../../api/judge.ts';
import { Devices } from '../../api/v0/devices.ts';
import { saveChanges } from '../../api/writes.ts';
import { settingNames, shownSettings } from '../../devices/settings.ts';
import { lockDevice, type Switches, switchState, switchValues } from '../../devices/switches.ts';
import { attempt } from '../attempt.ts';
import {
  deviceFormView,
  deviceInput,
  type TypedDevice,
  typedDevice,
  typedFrom as typedDeviceFrom,
  UNTYPED,
} from '../device-form.ts';
import { deviceStatusView, standingView } from '../device-status.ts';
import {
  formView,
  inputOf,
  type Section,
  textOfValue,
  type Typed,
  typedFrom,
  typedIn,
} from '../form.ts';
import { textOf } from '../forms.ts';
import { madeBefore, noteFile, settingDefaults } from '../own-devices.ts';
import { ownerEmails, ownerIdOf } from '../owners.ts';
import { adminPage } from '../route.ts';
import { inOrder, PAGE_RECORDS, pagesAround, queryText, searchedIn } from '../searched.ts';
import type { Web } from '../web.ts';

const DEVICES = '/devices';

/** What administrators set of a device beside what its owner does. */
const addressForm: readonly Section[] = [
  {
    legend: 'Keys and addresses',
    fields: [
      {
        name: 'preshared_key',
        label: 'Preshared key',
        kind: 'secret',
        autocomplete: 'off',
        help: 'Base64 of 32 bytes. Empty: a new device gets a random one, another keeps its own.',
      },
      {
        name: 'ipv4',
        label: 'IPv4 address',
        help: 'A new device gets a free one where it is empty.',
      },
      {
        name: 'ipv6',
        label: 'IPv6 address',
        help: 'A new device gets a free one where it is empty.',
      },
    ],
  },
];

/** The same and the public key, for a device that is there: a new one's is made in the browser. */
const keyForm: readonly Section[] = addressForm.map((section) => ({
  ...section,
  fields: [
    {
      name: 'public_key',
      label: 'Public key',
      help: 'The public half of a key pair that the device made. To hand out a new pair, use “File and QR code”.',
    },
    ...section.fields,
  ],
}));

/** The routes of all devices. */
export function devicePages(web: Web): ServerRoute[] {
  const devices = new Devices(web);
  return [
    adminPage('GET', DEVICES, (request, h) => showDevices(web, request, h)),
    adminPage('GET', `${DEVICES}/new`, (request, h) =>
      showForm(web, request, h, {
        device: null,
        owner: queryText(request, 'user'),
        typed: UNTYPED,
        keys: typedFrom({}, addressForm),
      }),
    ),
    adminPage('POST', `${DEVICES}/new`, (request, h) => addDevice(web, devices, request, h)),
    adminPage('GET', `${DEVICES}/{id}`, (request, h) => showDevice(web, request, h)),
    adminPage('GET', `${DEVICES}/{id}/live`, async (request, h) => {
      const { id } = await findDevice(web, request);
      const sessionId = request.auth.credentials.user?.sessionId ?? '';
      const response = h.response(web.live.follow(id, sessionId));
      return response.type('text/event-stream').header('x-accel-buffering', 'no');
    }),
    adminPage('GET', `${DEVICES}/{id}/edit`, async (request, h) => {
      const device = await findDevice(web, request);
      const shown = await devices.show(device.id);
      const [typed, keys] = [typedDeviceFrom(shown), typedFrom(shown, keyForm)];
      return showForm(web, request, h, { device, owner: '', typed, keys });
    }),
    adminPage('POST', `${DEVICES}/{id}/edit`, (request, h) =>
      changeDevice(web, devices, request, h),
    ),
    adminPage('POST', `${DEVICES}/{id}/switches`, (request, h) => switchDevice(web, request, h)),
    adminPage('POST', `${DEVICES}/{id}/delete`, async (request, h) => {
      const { id, name } = await findDevice(web, request);
      await devices.remove(request, id);
      web.pages.flash(h, 'done', `${name} is deleted. It passes no packet any more.`);
      return web.pages.redirect(h, DEVICES);
    }),
  ];
}

async function showDevices(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { database } = web.services;
  const searched = searchedIn(request);
  const ids = await searchIds(database, 'devices', searched.wish);
  const shown = ids.slice(0, PAGE_RECORDS);
  const devices = inOrder(shown, await readDevices(database, { ids: shown }));
  const emails = await ownerEmails(database, devices);
  return web.pages.show(request, h, 'devices', {
    title: 'Devices',
    searched: searched.text,
    list: devices.map((device) => {
      const status = deviceStatusView(device);
      return [
        { text: device.name, href: `${DEVICES}/${device.id}`, help: device.description },
        { text: emails.get(device.user_id) ?? '', href: `/users/${device.user_id}` },
        addressesOf(device).join(', '),
        stateBadge(device),
        status.handshake === null
          ? 'never'
          : { time: status.handshake, help: `from ${status.remote}` },
        { text: `↓ ${status.downloaded}`, help: `↑ ${status.uploaded}` },
      ];
    }),
    pages: pagesAround(DEVICES, searched, ids.length),
  });
}

/** A device that is off, or ended, is that first. */
function stateBadge(device: DeviceRow): { text: string; badge: string } {
  const state = switchState(device, Date.now());
  if (state === 'off') return { text: 'Switched off', badge: 'bad' };
  if (state === 'ended') return { text: 'Ended', badge: 'bad' };
  const status = deviceStatusView(device);
  return { text: status.state, badge: status.badge };
}

async function showDevice(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  refused?: { readonly expiry: string; readonly faults: readonly string[] },
): Promise<ResponseObject> {
  const device = await findDevice(web, request);
  const [owner] = await readUsers(web.services.database, { ids: [device.user_id] });
  const shown = shownSettings(device, await settingDefaults(web));
  const standing = standingView(device);
  return web.pages.show(request, h, 'device', {
    title: device.name,
    styles: ['lib/uplot.css'],
    scripts: ['device-live.js'],
    device: {
      id: device.id,
      name: device.name,
      description: device.description,
      publicKey: device.public_key,
      insertedAt: device.inserted_at.toISOString(),
      ...standing,
    },
    owner: { id: device.user_id, email: owner?.email ?? '' },
    addresses: addressesOf(device),
    status: deviceStatusView(device),
    settings: settingNames.map((name) => ({
      name,
      text: textOfValue(shown[name]),
      isDefault: device[`use_default_${name}`],
    })),
    expiry: refused?.expiry ?? standing.ends?.slice(0, 16) ?? '',
    expiryFaults: refused?.faults ?? [],
  });
}

interface Filled {
  /** Null for a new one. */
  readonly device: DeviceRow | null;
  /** The e-mail of a new one's owner. */
  readonly owner: string;
  readonly typed: TypedDevice;
  readonly keys: Typed;
  /** Of a new one, where its key pair is not made here. */
  readonly publicKey?: string;
  readonly faults?: Faults;
}

async function showForm(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { device, owner, typed, keys, publicKey = '', faults = {} }: Filled,
): Promise<ResponseObject> {
  const action = device === null ? `${DEVICES}/new` : `${DEVICES}/${device.id}/edit`;
  const form = device === null ? addressForm : keyForm;
  const view = formView(form, keys, { action, submit: '', faults: faultsOfKeys(form, faults) });
  return web.pages.show(request, h, 'device-form', {
    title: device === null ? 'Add a device' : `Change ${device.name}`,
    scripts: device === null ? ['device-keys.js'] : [],
    publicKey,
    keyFaults: faults['public_key'] ?? [],
    deviceId: device?.id ?? null,
    action,
    owner: { value: owner, faults: faults['user_id'] ?? [] },
    form: deviceFormView(typed, await settingDefaults(web), { maySetNetwork: true, faults }),
    keys: view,
  });
}

/** Messages of other fields are shown by the other part of the form. */
function faultsOfKeys(form: readonly Section[], faults: Faults): Faults {
  const names = new Set(form.flatMap(({ fields }) => fields.map(({ name }) => name)));
  return Object.fromEntries(Object.entries(faults).filter(([name]) => names.has(name)));
}

async function addDevice(
  web: Web,
  devices: Devices,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const owner = textOf(request, 'user').trim();
  const [typed, keys] = [typedDevice(request), typedIn(request, addressForm)];
  const publicKey = textOf(request, 'public_key').trim();
  const key = {
    public_key: publicKey,
    user_id: await ownerIdOf(web.services.database, owner),
  };
  const before = await madeBefore(web, request, key);
  if (before !== null) return web.pages.redirect(h, `${DEVICES}/${before}/file`);
  const rest = { ...deviceInput(typed, { maySetNetwork: true }), ...inputOf(keys, addressForm) };
  const input = { ...rest, ...key };
  const made = await attempt(() => devices.create(request, devices.judge(input, 'create')));
  if (made.faults !== null) {
    const filled = { device: null, owner, typed, keys, publicKey, faults: made.faults };
    return (await showForm(web, request, h, filled)).code(422);
  }
  const id = String(made.result['id']);
  await noteFile(web, id);
  web.pages.flash(h, 'done', `${String(made.result['name'])} is added for ${owner}.`);
  return web.pages.redirect(h, `${DEVICES}/${id}/file`);
}

async function changeDevice(
  web: Web,
  devices: Devices,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const device = await findDevice(web, request);
  const [typed, keys] = [typedDevice(request), typedIn(request, keyForm)];
  const { preshared_key, ...sent } = inputOf(keys, keyForm);
  const input = {
    ...deviceInput(typed, { maySetNetwork: true }),
    ...sent,
    ...(preshared_key === '' ? {} : { preshared_key }),
  };
  const judged = devices.judge(input, 'update');
  const { faults } = await attempt(() => devices.update(request, device.id, judged));
  if (faults !== null) {
    const filled = { device, owner: '', typed, keys, faults };
    return (await showForm(web, request, h, filled)).code(422);
  }
  web.pages.flash(h, 'done', 'The changes are in force.');
  return web.pages.redirect(h, `${DEVICES}/${device.id}`);
}

/** Switches a device on or off, or sets when it ends. */
async function switchDevice(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { database } = web.services;
  const { id, name } = await findDevice(web, request);
  const switches = switchesIn(request);
  if (switches === null) {
    const faults = ['is no time such as 2026-12-31T17:00'];
    return (
      await showDevice(web, request, h, { expiry: textOf(request, 'expires_at'), faults })
    ).code(422);
  }
  await web.writes.run(request, {
    judge: async (transaction) => {
      const device = await lockDevice(database, id, transaction);
      if (device === null) throw new ApiError('not_found');
      return device;
    },
    write: (transaction, device) =>
      saveChanges(device, switchValues(device, switches), transaction),
  });
  web.pages.flash(h, 'done', `${name}: ${wordsFor(switches)}`);
  return web.pages.redirect(h, `${DEVICES}/${id}`);
}

function switchesIn(request: Request): Switches | null {
  switch (textOf(request, 'do')) {
    case 'on':
      return { isOn: true };
    case 'off':
      return { isOn: false };
    default: {
      const text = textOf(request, 'expires_at').trim();
      if (text === '') return { expiresAt: null };
      const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/.test(text);
      const time = new Date(`${text}Z`);
      return isTime && !Number.isNaN(time.getTime()) ? { expiresAt: time } : null;
    }
  }
}

function wordsFor({ isOn, expiresAt }: Switches): string {
  if (isOn !== undefined)
    return isOn ? 'switched on.' : 'switched off; it passes no packet any more.';
  if (expiresAt === null || expiresAt === undefined) return 'it does not end by itself.';
  return `it ends on ${expiresAt.toISOString().slice(0, 16).replace('T', ' at ')} UTC.`;
}

async function findDevice(web: Web, request: Request): Promise<DeviceRow> {
  const id = String(request.params['id']).toLowerCase();
  const [device] = isUuid(id) ? await readDevices(web.services.database, { ids: [id] }) : [];
  if (device === undefined) throw new ApiError('not_found');
  return device;
}

function addressesOf({ ipv4, ipv6 }: DeviceRow): string[] {
  return [ipv4, ipv6].filter((address) => address !== null);
}
