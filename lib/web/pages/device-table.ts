// The table of all devices, for administrators: found by text and state, in any order, as a file,
// and what is done with many of them at once.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  type DeviceRow,
  readDevices,
  type StateFacts,
  type UserRow,
} from '../../../models/index.ts';
import { readTime, shortened } from '../../kit/validation/texts.ts';
import { readMeasure } from '../../kit/validation/units.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { serviceRules } from '../../observe/service-rules.ts';
import { oldFileIds } from '../../domain/devices/old-files.ts';
import type { Switches } from '../../domain/devices/switches.ts';
import {
  deviceStatusView,
  type DeviceStatusView,
  stopOf,
  switchView,
} from '../parts/device-status.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import { textOf } from '../kit/form-token.ts';
import { offsetOf, timeIn } from '../kit/typed-time.ts';
import { type Change, jobRoute, manyRoute } from '../kit/many.ts';
import { effectView, type RoomWrite } from '../parts/effect.ts';
import { addressesOf } from '../parts/named-device.ts';
import { sessionRules, withFiles } from '../parts/own-devices.ts';
import { deviceCells, deviceCellsReader } from '../parts/live-devices.ts';
import { liveView, recordList, rowName } from '../parts/live-list.ts';
import { liveRoute } from '../parts/live-routes.ts';
import { ownersOf, personInWords } from '../parts/owners.ts';
import { adminPage } from '../kit/route.ts';
import { performs } from '../kit/save.ts';
import { queryText } from '../kit/searched.ts';
import { inOrder } from '../../kit/records/in-order.ts';
import {
  askedIn,
  everyOf,
  findPage,
  idsOfPage,
  type MenuItem,
  menuOf,
  sendFile,
  type TablePlan,
} from '../kit/table-page.ts';
import type { Web } from '../kit/web.ts';
import { agoInWords } from '../kit/words.ts';

const DEVICES = '/devices';
/** Said where the end of a device cannot be read. */
export const NO_TIME = 'is no time such as 2026-12-31T17:00';

/** The state of devices whose files are out of date; each device has another state beside it. */
const OLD_FILE = 'old_file';

const plan: TablePlan = {
  table: 'devices',
  path: DEVICES,
  states: {
    online: 'Online',
    offline: 'Offline',
    never_seen: 'Never seen',
    session_ended: 'VPN session ended',
    owner_disabled: 'Owner disabled',
    ended: 'Ended',
    off: 'Switched off',
    quiet: 'No handshake for 90 days',
    [OLD_FILE]: 'File out of date',
  },
};

const LIMITS = ['limit_down', 'limit_up'] as const;
const LIMIT_LABELS = { limit_down: 'Download limit', limit_up: 'Upload limit' };

const FILE_HEAD = [
  'id',
  'name',
  'description',
  'owner',
  'ipv4',
  'ipv6',
  'public_key',
  'state',
  'last_handshake',
  'remote',
  'downloaded_bytes',
  'uploaded_bytes',
  'ends_at',
  'added_at',
];

/** The routes of the table. */
export function deviceTablePages(web: Web): ServerRoute[] {
  const { database } = web.services;
  const live = recordList({
    cellsOf: deviceCellsReader(database, () => sessionRules(web)),
    idsAt: async (request) =>
      idsOfPage(database, request, plan, await factsOf(web, request, await sessionRules(web))),
  });
  return [
    adminPage('GET', DEVICES, (request, h) => showDevices(web, request, h)),
    liveRoute(web, DEVICES, live),
    adminPage('GET', `${DEVICES}.csv`, async (request, h) => {
      const rules = await sessionRules(web);
      const asked = askedIn(request, plan, await factsOf(web, request, rules));
      return sendFile(h, 'devices', database, plan, asked, FILE_HEAD, async (ids) =>
        (await readTable(web, ids, rules)).map(fileLine),
      );
    }),
    jobRoute(web, DEVICES),
    manyRoute(web, {
      table: 'devices',
      path: DEVICES,
      nouns: ['device', 'devices'],
      names: async (ids) => {
        const devices = await readDevices(database, { ids });
        const owners = await ownersOf(database, devices);
        return new Map(
          devices.map((device) => [device.id, fullName(device, owners.get(device.user_id))]),
        );
      },
      change: changeOf,
      effect: effectView,
      facts: async (state, ids) => stateFacts(web, state, await sessionRules(web), ids),
    }),
  ];
}

/** What decides which devices are in the state that a request asks for. */
function factsOf(
  web: Web,
  request: Pick<Request, 'query'>,
  rules: SessionRules,
): Promise<StateFacts> {
  return stateFacts(web, queryText(request, 'state'), rules);
}

/** What decides which devices, or which of some, are in a state. Files are compared for theirs. */
async function stateFacts(
  web: Web,
  state: string,
  rules: SessionRules,
  ids?: readonly string[],
): Promise<StateFacts> {
  const service = serviceRules(rules);
  if (state !== OLD_FILE) return { service };
  const configuration = await web.recall.configuration();
  return { service, oldFiles: await oldFileIds(web.services, configuration, ids) };
}

/** The write that sets the switches of one device. */
export function switchesDevice(
  caller: Caller,
  id: string,
  { isOn, expiresAt }: Switches,
): RoomWrite {
  const record = {
    ...(isOn === undefined ? {} : { enabled: isOn }),
    ...(expiresAt === undefined ? {} : { ends_at: expiresAt?.toISOString() ?? null }),
  };
  return performs(caller, 'updateDevice', { params: { id }, record });
}

/** What a form asks of the switches; null where its time cannot be read. */
export function switchesIn(request: Request): Switches | null {
  switch (textOf(request, 'do')) {
    case 'on':
      return { isOn: true };
    case 'off':
      return { isOn: false };
    default: {
      const text = timeIn(request, 'expires_at');
      if (text === '') return { expiresAt: null };
      const expiresAt = readTime(`${text}Z`);
      return expiresAt === null ? null : { expiresAt };
    }
  }
}

/** A device among many, which may all have the same name. */
function fullName(device: DeviceRow, owner: UserRow | undefined): string {
  const [address] = addressesOf(device);
  const name = owner === undefined ? device.name : `${owner.email} / ${device.name}`;
  return address === undefined ? name : `${name} · ${address}`;
}

function changeOf(name: string, request: Request): Change | string {
  if (name === 'remove')
    return {
      done: 'deleted: no packet passes any more',
      question: {
        title: ['Delete this device?', 'Delete these devices?'],
        text: [
          'It passes no packet from then on, and its file no longer works. This cannot be undone.',
          'They pass no packet from then on, and their files no longer work. This cannot be undone.',
        ],
        label: 'Delete for good',
      },
      write: (caller, id) => performs(caller, 'deleteDevice', { params: { id } }),
    };
  if (name === 'limit') return limitChange(request);
  if (!['on', 'off', 'expire'].includes(name)) return 'Nothing was chosen.';
  const switches = switchesIn(request);
  if (switches === null) return `The end ${NO_TIME}.`;
  const write: Change['write'] = (caller, id) => switchesDevice(caller, id, switches);
  const fields = name === 'expire' ? ['expires_at', offsetOf('expires_at')] : [];
  return { ...switchWords(switches), isHarmless: true, fields, write };
}

/** Sets the limits of devices; an empty field takes theirs away, so that others hold again. */
function limitChange(request: Request): Change | string {
  const record: Record<string, number | null> = {};
  for (const name of LIMITS) {
    const text = textOf(request, name).trim();
    const read = readMeasure(text, 'speed');
    if (text === '') record[name] = null;
    else if ('error' in read) return `The limit “${shortened(text)}” is ${read.error}.`;
    else record[name] = read.value;
  }
  return {
    done: 'given these limits',
    question: {
      title: ['Set the limits of this device?', 'Set the limits of these devices?'],
      text: 'Where a limit is empty, that of the owner or the default holds.',
      label: 'Set the limits',
    },
    isHarmless: true,
    fields: LIMITS,
    write: (caller, id) => performs(caller, 'updateDevice', { params: { id }, record }),
  };
}

function switchWords({ isOn, expiresAt }: Switches): Pick<Change, 'done' | 'question'> {
  if (isOn === true)
    return {
      done: 'switched on',
      question: {
        title: ['Switch this device on?', 'Switch these devices on?'],
        text: [
          'It passes packets again, unless it has ended or its owner may not use the VPN.',
          'They pass packets again, unless they have ended or their owner may not use the VPN.',
        ],
        label: 'Switch on',
      },
    };
  if (isOn === false)
    return {
      done: 'switched off: no packet passes any more',
      question: {
        title: ['Switch this device off?', 'Switch these devices off?'],
        text: [
          'It passes no packet from then on, until it is switched on again.',
          'They pass no packet from then on, until they are switched on again.',
        ],
        label: 'Switch off',
      },
    };
  const title = ['Set the end of this device?', 'Set the end of these devices?'] as const;
  const label = 'Set the end';
  if (expiresAt === null || expiresAt === undefined)
    return {
      done: 'without an end',
      question: {
        title,
        text: ['It does not end by itself any more.', 'They do not end by themselves any more.'],
        label,
      },
    };
  const end = expiresAt.toISOString().slice(0, 16).replace('T', ' at ');
  const after = `no packet after ${end} UTC.`;
  const text = [`It passes ${after}`, `They pass ${after}`] as const;
  return { done: 'given an end', question: { title, text, label } };
}

async function showDevices(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const rules = await sessionRules(web);
  const facts = await factsOf(web, request, rules);
  const found = await findPage(web.services.database, request, plan, facts);
  const shown = await readTable(web, found.ids, rules);
  const filed = await withFiles(
    web,
    shown.map(({ device }) => device),
  );
  const nowMs = Date.now();
  const old = new Set(filed.filter(({ isFileOld }) => isFileOld).map(({ row }) => row.id));
  return web.pages.show(request, h, 'devices', {
    title: 'Devices',
    scripts: ['live-list.js'],
    finder: found.view,
    isOldFile: facts.oldFiles !== undefined,
    list: shown.map(({ device, owner, status }) => {
      const [name, , state, handshake, traffic] = deviceCells(status);
      const { handshake: at } = status;
      return [
        {
          ...name,
          text: device.name,
          href: `${DEVICES}/${device.id}`,
          below: owner === undefined ? '' : personInWords(owner),
        },
        { lines: addressesOf(device) },
        { ...state, ...(old.has(device.id) ? { help: 'File is out of date' } : {}) },
        { ...handshake, ...(at === null ? {} : { ago: agoInWords(new Date(at), nowMs) }) },
        traffic,
      ];
    }),
    live: liveView(
      DEVICES,
      found.view.query,
      shown.map(({ status }) => rowName('', deviceCells(status))),
    ),
    many: {
      action: `${DEVICES}/many`,
      back: found.view.here,
      every: everyOf(found, 'devices'),
      asksEnd: true,
      limits: LIMITS.map((name) => ({ name, label: LIMIT_LABELS[name] })),
      changes: [
        { name: 'on', label: 'Switch on' },
        { name: 'off', label: 'Switch off' },
        { name: 'remove', label: 'Delete…', tone: 'danger' },
      ],
    },
    ids: shown.map(({ device }) => device.id),
    menu: menuOf(request, plan, found.view, menuItems),
    kinds: shown.map(({ device }) => (switchView(device, nowMs).state === 'off' ? 'off' : null)),
  });
}

const menuItems: readonly MenuItem[] = [
  { label: 'File and QR code', path: `${DEVICES}/*/file` },
  { label: 'Switch on', change: 'on', only: 'off' },
  { label: 'Switch off', change: 'off', only: 'on' },
  { label: 'Name, settings, limits', path: `${DEVICES}/*/edit` },
  { label: 'Capture packets', path: `${DEVICES}/*/capture` },
  { label: 'Delete…', change: 'remove', tone: 'danger' },
];

interface Shown {
  readonly device: DeviceRow;
  readonly owner: UserRow | undefined;
  readonly status: DeviceStatusView;
}

async function readTable(web: Web, ids: readonly string[], rules: SessionRules): Promise<Shown[]> {
  const { database } = web.services;
  const devices = inOrder(ids, await readDevices(database, { ids: [...ids] }));
  const owners = await ownersOf(database, devices);
  return devices.map((device) => {
    const owner = owners.get(device.user_id);
    const stop = owner === undefined ? null : stopOf(device, owner, rules);
    return { device, owner, status: deviceStatusView(device, stop) };
  });
}

function fileLine({ device, owner, status }: Shown): (string | number | null)[] {
  return [
    device.id,
    device.name,
    device.description,
    owner?.email ?? '',
    device.ipv4,
    device.ipv6,
    device.public_key,
    status.state,
    status.handshake,
    device.remote_ip === null ? null : status.remote,
    status.txBytes,
    status.rxBytes,
    device.expires_at?.toISOString() ?? null,
    device.inserted_at.toISOString(),
  ];
}
