// Devices, for administrators: the forms that make and change a device with every field, and its
// switches. The table of all is in device-table.ts, what is known of one in device.ts.
// docs/api.md#devices.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { type DeviceRow, readUsers } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import type { Switches } from '../../domain/devices/switches.ts';
import {
  deviceFormView,
  deviceInput,
  flatDevice,
  EVERYTHING,
  hostErrorsOf,
  type TypedDevice,
  typedDevice,
  typedFrom as typedDeviceFrom,
  UNTYPED,
} from '../parts/device-form.ts';
import { deviceHead } from '../parts/device-head.ts';
import { IMPORT } from '../parts/first-steps.ts';
import { inheritedLimits } from '../parts/device-limits.ts';
import { switchView } from '../parts/device-status.ts';
import { quotedErrors } from '../kit/entry-words.ts';
import {
  forgetsSecrets,
  formView,
  inputOf,
  type Section,
  textOfValue,
  type Typed,
  typedFrom,
  typedIn,
} from '../kit/form.ts';
import { textOf } from '../kit/form-token.ts';
import { madeBefore, noteFile, settingDefaults } from '../parts/own-devices.ts';
import { ownerErrors, ownerIdOf } from '../parts/owners.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs, saveForm } from '../kit/save.ts';
import { queryText } from '../kit/searched.ts';
import { changedMeanwhile, seenOf } from '../kit/seen.ts';
import type { Web } from '../kit/web.ts';
import { findDevice } from './device.ts';
import { deviceTablePages, NO_TIME, switchesDevice, switchesIn } from './device-table.ts';

const DEVICES = '/devices';

/** The fields of a device that only administrators set. */
const addressForm: readonly Section[] = [
  {
    legend: 'Keys and addresses',
    fields: [
      {
        name: 'preshared_key',
        label: 'Preshared key',
        kind: 'secret',
        autocomplete: 'off',
        help: 'A key of 44 characters that ends with =. Leave it empty: the device gets a random one.',
      },
      {
        name: 'ipv4',
        label: 'IPv4 address',
        help: 'Leave it empty: the device gets a free address.',
      },
      {
        name: 'ipv6',
        label: 'IPv6 address',
        help: 'Leave it empty: the device gets a free address.',
      },
    ],
  },
];

/** The fields of `addressForm` and the public key, for a device that exists. */
const keyForm: readonly Section[] = addressForm.map((section) => ({
  ...section,
  fields: [
    {
      name: 'public_key',
      label: 'Public key',
      help: 'The public half of a key pair that the device made. To hand out a new pair, use “File and QR code”.',
    },
    ...section.fields.map((field) => ({
      ...field,
      help:
        field.name === 'preshared_key'
          ? 'A key of 44 characters that ends with =. Leave it empty to keep the present one.'
          : 'In the network of the devices.',
    })),
  ],
}));

/** The routes of all devices. */
export function devicePages(web: Web): ServerRoute[] {
  return [
    ...deviceTablePages(web),
    adminPage('GET', `${DEVICES}/new`, (request, h) =>
      showForm(web, request, h, {
        device: null,
        owner: queryText(request, 'user'),
        present: null,
        typed: UNTYPED,
        keys: typedFrom({}, addressForm),
      }),
    ),
    adminPage('POST', `${DEVICES}/new`, (request, h) => addDevice(web, request, h)),
    adminPage('GET', `${DEVICES}/{id}/edit`, async (request, h) =>
      showSettings(web, request, h, await findDevice(web, request)),
    ),
    adminPage('POST', `${DEVICES}/{id}/edit`, (request, h) => changeDevice(web, request, h)),
    adminPage('POST', `${DEVICES}/{id}/switches`, (request, h) => switchDevice(web, request, h)),
    adminPage('POST', `${DEVICES}/{id}/delete`, async (request, h) => {
      const { id, name } = await findDevice(web, request);
      return act(web, request, h, {
        asked: 'Delete the device',
        write: performs(callerOf(request), 'deleteDevice', { params: { id } }),
        back: `${DEVICES}/${id}`,
        to: DEVICES,
        done: () => `${name} is deleted. It passes no packet any more.`,
      });
    }),
  ];
}

/** An end that was typed and is none. */
interface RefusedEnd {
  readonly expiry: string;
  readonly errors: readonly string[];
}

async function showSettings(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  device: DeviceRow,
  refused?: RefusedEnd,
): Promise<ResponseObject> {
  const present = await presentDevice(web, device.id);
  return showForm(web, request, h, { device, owner: '', present, ...present, refused });
}

/** What is in the fields of both parts of the form. */
interface BothParts {
  readonly typed: TypedDevice;
  readonly keys: Typed;
}

interface Filled extends BothParts {
  /** Null for a new device. */
  readonly device: DeviceRow | null;
  /** The e-mail address of the owner of a new device. */
  readonly owner: string;
  /** The device as it is now; null for a new one. */
  readonly present: BothParts | null;
  /** The key that was typed for a new device, if the browser did not make its key pair. */
  readonly publicKey?: string;
  readonly errors?: FormErrors;
  readonly refused?: RefusedEnd | undefined;
}

async function showForm(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { device, owner, present, typed, keys, publicKey = '', errors = {}, refused }: Filled,
): Promise<ResponseObject> {
  const action = device === null ? `${DEVICES}/new` : `${DEVICES}/${device.id}/edit`;
  const form = device === null ? addressForm : keyForm;
  const keyErrors = quotedErrors(errorsOfKeys(form, errors), keys);
  const view = formView(form, keys, { action, submit: '', errors: keyErrors });
  const holderIds = device === null ? [] : [device.user_id];
  const [holder] = await readUsers(web.services.database, { ids: holderIds });
  return web.pages.show(request, h, 'device-form', {
    title: device === null ? 'Add a device' : `Settings of ${device.name}`,
    head: device === null ? null : await deviceHead(web, device, '/edit'),
    expiry: refused?.expiry ?? textOfValue(device && switchView(device).ends, 'time'),
    expiryErrors: refused?.errors ?? [],
    scripts: device === null ? ['device-keys.js', 'combobox.js'] : [],
    publicKey,
    keyErrors: errors['public_key'] ?? [],
    deviceId: device?.id ?? null,
    imports: IMPORT,
    seen: present === null ? null : seenOf(flatParts(present)),
    action,
    owner: {
      value: owner,
      errors: errors['user_id'] ?? [],
    },
    areKeysOpen: device !== null || forgetsSecrets(form, keys) || Object.keys(keyErrors).length > 0,
    form: deviceFormView(typed, await settingDefaults(web), {
      ...EVERYTHING,
      errors,
      inherited: inheritedLimits(holder, await web.recall.configuration()),
    }),
    keys: view,
  });
}

/** A device as it is now, in the fields of its form. */
async function presentDevice(web: Web, id: string): Promise<BothParts> {
  const shown = await web.rooms.devices.show(id);
  return { typed: typedDeviceFrom(shown), keys: typedFrom(shown, keyForm) };
}

function flatParts({ typed, keys }: BothParts): Typed {
  return { ...flatDevice(typed, EVERYTHING), ...keys };
}

/** The messages of the fields of `form`; the other part of the page shows the rest. */
function errorsOfKeys(form: readonly Section[], errors: FormErrors): FormErrors {
  const names = new Set(form.flatMap(({ fields }) => fields.map(({ name }) => name)));
  return Object.fromEntries(Object.entries(errors).filter(([name]) => names.has(name)));
}

async function addDevice(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const owner = textOf(request, 'user').trim();
  const [typed, keys] = [typedDevice(request), typedIn(request, addressForm)];
  const publicKey = textOf(request, 'public_key').trim();
  const key = {
    public_key: publicKey,
    user_id: await ownerIdOf(web.services.database, owner),
  };
  const before = await madeBefore(web, request, key);
  if (before !== null) return web.pages.redirect(h, `${DEVICES}/${before}/file`);
  return saveForm(web, request, h, {
    write: performs(callerOf(request), 'createDevice', {
      record: { ...deviceInput(typed, EVERYTHING), ...inputOf(keys, addressForm), ...key },
      errors: hostErrorsOf(typed),
    }),
    again: (found) => {
      const errors = ownerErrors(found, owner);
      const filled = { device: null, owner, present: null, typed, keys, publicKey, errors };
      return showForm(web, request, h, filled);
    },
    done: async ({ id, name }) => {
      await noteFile(web, String(id));
      return {
        said: `${String(name)} is added for ${owner}.`,
        to: `${DEVICES}/${String(id)}/file`,
      };
    },
  });
}

async function changeDevice(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const device = await findDevice(web, request);
  const [typed, keys] = [typedDevice(request), typedIn(request, keyForm)];
  const { preshared_key, ...sent } = inputOf(keys, keyForm);
  const present = await presentDevice(web, device.id);
  const filled = { device, owner: '', present, typed, keys };
  return saveForm(web, request, h, {
    refused: changedMeanwhile(
      request,
      { typed: flatParts(filled), present: flatParts(present) },
      keyForm,
    ),
    asked: { label: 'Save the device', back: `${DEVICES}/${device.id}`, isForm: true },
    write: performs(callerOf(request), 'updateDevice', {
      params: { id: device.id },
      record: {
        ...deviceInput(typed, EVERYTHING),
        ...sent,
        ...(preshared_key === '' ? {} : { preshared_key }),
      },
      errors: hostErrorsOf(typed),
    }),
    again: (errors) => showForm(web, request, h, { ...filled, errors }),
    done: () => ({ said: 'The changes are in force.', to: `${DEVICES}/${device.id}` }),
  });
}

/** Switches a device on or off, or sets when it ends. */
async function switchDevice(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const device = await findDevice(web, request);
  const { id, name } = device;
  const switches = switchesIn(request);
  if (switches === null) {
    const refused = { expiry: textOf(request, 'expires_at'), errors: [NO_TIME] };
    return (await showSettings(web, request, h, device, refused)).code(422);
  }
  return act(web, request, h, {
    ...(switches.isOn === true
      ? {}
      : { asked: switches.isOn === false ? 'Switch it off' : 'Set its end' }),
    write: switchesDevice(callerOf(request), id, switches),
    back: `${DEVICES}/${id}`,
    done: () => `${name}: ${wordsFor(switches)}`,
  });
}

function wordsFor({ isOn, expiresAt }: Switches): string {
  if (isOn !== undefined)
    return isOn ? 'switched on.' : 'switched off; it passes no packet any more.';
  if (expiresAt === null || expiresAt === undefined) return 'it does not end by itself.';
  return `it ends on ${expiresAt.toISOString().slice(0, 16).replace('T', ' at ')} UTC.`;
}
