// What all pages of a device begin with, for administrators: whose it is, its state and addresses,
// what people do with it most, and the tabs.

import { type DeviceRow, readUsers, type UserRow } from '../../../models/index.ts';
import { deviceStatusView, type DeviceStatusView, stopOf, switchView } from './device-status.ts';
import { addressesOf } from './named-device.ts';
import { sessionRules } from './own-devices.ts';
import type { LiveSteps } from '../../observe/history/recent-traffic.ts';
import type { Web } from '../kit/web.ts';
import { bytesInWords } from '../kit/words.ts';
import { type Tab, tabsOf } from './record-tabs.ts';

/** The pages of a device, by their path behind that of the device. */
const PAGES = [
  ['', 'Overview'],
  ['/connections', 'Connections'],
  ['/packets', 'Packets'],
  ['/network', 'Network'],
  ['/edit', 'Settings'],
] as const;

/** One of the pages of a device. */
export type DevicePage = (typeof PAGES)[number][0];

/** What the partial `device-head` shows. */
export interface DeviceHead {
  readonly here: string;
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  /** Undefined for the moment in which somebody deletes the owner. */
  readonly owner: UserRow | undefined;
  readonly addresses: readonly string[];
  readonly status: DeviceStatusView;
  /** The traffic of the last seconds at this gateway; null where no gateway runs. */
  readonly rate: string | null;
  readonly isOff: boolean;
  readonly tabs: readonly Tab[];
}

/** Makes the head of the pages of a device. */
export async function deviceHead(
  web: Web,
  device: DeviceRow,
  page: DevicePage,
): Promise<DeviceHead> {
  const [owner] = await readUsers(web.services.database, { ids: [device.user_id] });
  const stop = owner === undefined ? null : stopOf(device, owner, await sessionRules(web));
  const here = `/devices/${device.id}`;
  const { recent } = web.services;
  return {
    here,
    id: device.id,
    name: device.name,
    description: device.description,
    owner,
    addresses: addressesOf(device),
    status: deviceStatusView(device, stop),
    rate: recent === undefined ? null : rateInWords(recent.live(device.id)),
    isOff: switchView(device).state === 'off',
    tabs: tabsOf(here, PAGES, page),
  };
}

/** The rate of the latest step. */
function rateInWords({ down, up }: LiveSteps): string {
  const [downloaded, uploaded] = [down, up].map((rates) => bytesInWords(rates.at(-1) ?? 0));
  return `↓ ${downloaded}/s ↑ ${uploaded}/s`;
}
