// The lists of devices, live: state, rate now, latest handshake and traffic of each.

import { type Database, type Device, Op } from '../../../models/index.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import { say } from '../kit/texts.ts';
import { bytesInWords } from '../kit/words.ts';
import {
  deviceStatusView,
  type DeviceStatusView,
  type SeenDevice,
  type StopOwner,
  stopOf,
} from './device-status.ts';
import type { LiveCell, LiveList } from './live-list.ts';
import { type Rate, Rates } from './rates.ts';

/** A device with its owner, and what gateways saw of it. */
export interface Watched extends Pick<Device, 'id' | 'user_id' | 'disabled_at' | 'expires_at'> {
  readonly seen: SeenDevice;
  readonly owner: StopOwner;
}

const NEVER_SEEN: SeenDevice = {
  latest_handshake: null,
  remote_ip: null,
  remote_port: null,
  rx_bytes: null,
  tx_bytes: null,
};
/** Before anything is known of it. */
export const NO_RATE: Rate = { down: 0, up: 0 };

/** Reads the devices that are there, by their ids or by their owners. */
export async function readWatched(
  { models }: Database,
  by: { readonly id: readonly string[] } | { readonly user_id: readonly string[] },
): Promise<Watched[]> {
  const [[name, values] = ['id', []]] = Object.entries(by) as [string, readonly string[]][];
  if (values.length === 0) return [];
  const rows = await models.Device.findAll({
    attributes: ['id', 'user_id', 'disabled_at', 'expires_at'],
    where: { [name]: { [Op.in]: [...values] } },
    include: [
      { association: 'status', required: false },
      { association: 'user', required: true },
    ],
  });
  return rows.flatMap(({ id, user_id, disabled_at, expires_at, status, user }) =>
    user === undefined
      ? []
      : [{ id, user_id, disabled_at, expires_at, seen: status ?? NEVER_SEEN, owner: user }],
  );
}

/** The state of such a device in words. */
export function watchedStatus(device: Watched, rules: SessionRules, nowMs: number) {
  return deviceStatusView(device.seen, stopOf(device, device.owner, rules, nowMs), nowMs);
}

/**
 * The cells of a device in the administrators' list; its address does not change there. A cell
 * with a time has an empty text: the page may show that there was none, and not say so.
 */
export function deviceCells(status: DeviceStatusView, rate: Rate = NO_RATE): LiveCell[] {
  return [
    { dot: status.badge },
    null,
    { text: status.state },
    status.handshake === null
      ? { text: 'never' }
      : { text: '', time: status.handshake, help: `from ${status.remote}` },
    {
      text: `↓ ${withRate(status.downloaded, rate.down)}`,
      help: `↑ ${withRate(status.uploaded, rate.up)}`,
    },
  ];
}

/** Nothing is said of a rate that is none. */
function withRate(amount: string, rate: number): string {
  return rate === 0 ? amount : `${amount}, ${bytesInWords(rate)}/s`;
}

/** Reads the cells of devices by their ids. */
export function deviceCellsReader(
  database: Database,
  rulesNow: () => Promise<SessionRules>,
): (ids: readonly string[], nowMs: number) => Promise<ReadonlyMap<string, readonly LiveCell[]>> {
  const rates = new Rates();
  return async (ids, nowMs) => {
    const devices = await readWatched(database, { id: ids });
    rates.keep(new Set(ids));
    const rules = await rulesNow();
    return new Map(
      devices.map((device) => {
        const status = watchedStatus(device, rules, nowMs);
        return [device.id, deviceCells(status, rates.note(device.id, { ...status, atMs: nowMs }))];
      }),
    );
  };
}

/** What the owner's list shows of a device: state, handshake, download, upload. */
export function ownDeviceCells(status: DeviceStatusView): LiveCell[] {
  return [
    { badge: status.badge, text: status.state },
    status.handshake === null
      ? { text: say('device.never') }
      : { text: '', time: status.handshake },
    { text: `↓ ${status.downloaded}` },
    { text: `↑ ${status.uploaded}` },
  ];
}

/** The list of a person's own devices, which nobody else is sent. */
export function liveOwnDevices(
  database: Database,
  rulesNow: () => Promise<SessionRules>,
): LiveList {
  return {
    isForAdministrators: false,
    read: async (pages, nowMs) => {
      const userIds = [...new Set(pages.map(({ userId }) => userId))];
      const devices = Map.groupBy(
        await readWatched(database, { user_id: userIds }),
        ({ user_id: userId }) => userId,
      );
      const rules = await rulesNow();
      return new Map(
        pages.map((page) => {
          const own = devices.get(page.userId) ?? [];
          const rows = new Map(
            own.map((device) => [device.id, ownDeviceCells(watchedStatus(device, rules, nowMs))]),
          );
          // Devices do not change their places there.
          const shown = [...page.rows.keys()].filter((id) => rows.has(id));
          const further = own.filter(({ id }) => !page.rows.has(id)).map(({ id }) => id);
          return [page, { rows, order: [...shown, ...further] }];
        }),
      );
    },
  };
}
