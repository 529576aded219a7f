// The list of devices at the command line, and what programs read about one.

import {
  type DeviceRow,
  readDevices,
  readUsers,
  searchIds,
  searchOrders,
} from '../../models/index.ts';
import { switchState } from '../domain/devices/switches.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import { gatewayOfFiles } from '../installation/setup/running-gateway.ts';
import { inOrder } from '../kit/records/in-order.ts';
import { serviceRules } from '../observe/service-rules.ts';
import { findGroup, findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Given, Options, Outcome, Run } from './run.ts';
import { listed } from './screen.ts';

const COLUMNS = [
  ['id', 'id'],
  ['owner', 'text'],
  ['name', 'text'],
  ['addresses', 'fixed'],
  ['state', 'state'],
  ['latest handshake', 'time'],
] as const;
/** Bytes, as the device sees them. */
const TRAFFIC_COLUMNS = [
  ['downloaded', 'fixed'],
  ['uploaded', 'fixed'],
] as const;
const TRAFFIC = 'traffic';
/** What people look for the most of, or the latest. */
const GREATEST_FIRST: ReadonlySet<string> = new Set([TRAFFIC, 'handshake']);
const UNITS_MS = { d: 86_400_000, h: 3_600_000 } as const;
/** Ten years. */
const STALE_MS_MAX = 3_650 * UNITS_MS.d;

/** The command. */
export const deviceListCommands: Partial<Record<CommandName, Run>> = { 'device list': list };

async function list(given: Given, { options }: Command): Promise<Outcome> {
  const { database } = given;
  const { email, owner: named = email, sort } = options;
  const wish = wishOf(options);
  const owner = named === undefined ? null : await findUser(database, named);
  const userId = owner === null ? {} : { userId: owner.id };
  const devices =
    wish === null
      ? await readDevices(database, userId)
      : await searched(given, options, { ...wish, ...userId });
  const users = owner === null ? await readUsers(database) : [owner];
  const emails = new Map(users.map((user) => [user.id, user.email]));
  const emailOf = (device: DeviceRow): string => emails.get(device.user_id) ?? '';
  const withTraffic = sort === TRAFFIC;
  const data = devices.map((device) => ({
    ...dataOf(device, emailOf(device)),
    ...(withTraffic ? { rx_bytes: device.rx_bytes ?? 0, tx_bytes: device.tx_bytes ?? 0 } : {}),
  }));
  const nowMs = Date.now();
  const rows = devices.map((device) => [
    device.id,
    emailOf(device),
    device.name,
    [device.ipv4, device.ipv6].filter((address) => address !== null).join(','),
    switchState(device, nowMs),
    device.latest_handshake?.toISOString() ?? 'never seen',
    ...(withTraffic ? [String(device.tx_bytes ?? 0), String(device.rx_bytes ?? 0)] : []),
  ]);
  return { ...listed(withTraffic ? [...COLUMNS, ...TRAFFIC_COLUMNS] : COLUMNS, rows), data };
}

/** What a search needs. */
type Wish = Partial<Omit<Parameters<typeof searchIds>[2], 'limit' | 'offset'>>;

/** How the typed options filter and sort; null: they do neither, but for the owner. */
function wishOf({ online, stale, outdated, group, sort }: Options): Wish | null {
  if (!online && !outdated && stale === undefined && group === undefined && sort === undefined)
    return null;
  const orders = searchOrders('devices');
  if (sort !== undefined && !orders.includes(sort))
    throw new UsageError(`--sort takes ${orders.join(', ')}, not "${sort}"`);
  return {
    ...(online ? { state: 'online' } : {}),
    ...(outdated ? { state: 'old_file' } : {}),
    ...(stale === undefined ? {} : { state: 'quiet', quietMs: staleMs(stale) }),
    ...(sort === undefined ? {} : { order: sort, isDescending: GREATEST_FIRST.has(sort) }),
  };
}

function staleMs(text: string): number {
  const [, count = '', unit = 'd'] = /^(\d{1,6})([dh])$/.exec(text) ?? [];
  const ms = Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
  if (count === '' || ms === 0 || ms > STALE_MS_MAX)
    throw new UsageError(`--stale takes days or hours, such as 90d or 12h, not "${text}"`);
  return ms;
}

/** The devices that the console finds by the same filters. */
async function searched(
  { config, database, rooms }: Given,
  { online, outdated, group, sort }: Options,
  wish: Wish,
): Promise<DeviceRow[]> {
  const ids = await searchIds(database, 'devices', {
    text: '',
    offset: 0,
    limit: Number.MAX_SAFE_INTEGER,
    ...wish,
    ...(group === undefined ? {} : { groupId: (await findGroup(database, group)).id }),
    ...(online ? { service: await service(rooms) } : {}),
    ...(outdated ? { oldFiles: await oldFiles(config, database, rooms) } : {}),
  });
  // The console shows the newest first.
  const shown = sort === undefined ? ids.toReversed() : ids;
  return inOrder(shown, await readDevices(database, { ids }));
}

async function oldFiles(
  config: Given['config'],
  database: Given['database'],
  rooms: Given['rooms'],
): Promise<string[]> {
  const gateway = await gatewayOfFiles(config, database);
  const { recall } = await (await rooms()).context();
  const configuration = await recall.configuration();
  // It knows routes, which other lists have no use for.
  const { oldFileIds } = await import('../domain/devices/old-files.ts');
  return oldFileIds({ ...gateway, database }, configuration);
}

async function service(rooms: Given['rooms']): Promise<ReturnType<typeof serviceRules>> {
  const { recall, services } = await (await rooms()).context();
  return serviceRules({ configuration: await recall.configuration(), config: services.config });
}

/** What programs read about a device; never its preshared key. */
export function dataOf(device: DeviceRow, email: string) {
  const { id, name, description, public_key, ipv4, ipv6, latest_handshake: handshake } = device;
  return {
    id,
    email,
    name,
    description,
    public_key,
    ipv4,
    ipv6,
    routes: device.routes ?? [],
    enabled: device.disabled_at === null,
    ends_at: device.expires_at?.toISOString() ?? null,
    limit_down: device.limit_down,
    limit_up: device.limit_up,
    latest_handshake: handshake?.toISOString() ?? null,
  };
}
