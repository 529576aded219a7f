// The other gateways that run on the database: a dry run knows nothing of their flows. So it says
// that they run, and how many devices are connected to each that the write would cut off.

import type { Amendment } from '../../dataplane/index.ts';
import { type Database, GATEWAY_ALIVE_MS, readGateways } from '../../models/index.ts';
import type { LiveGateway } from '../live/gateway.ts';
import { ONLINE_MS } from '../observe/presence.ts';

/** So many gateways are named in a sentence. */
const NAMED_MAX = 5;

/** Another gateway that runs. */
export interface OtherGateway {
  readonly id: string;
  readonly name: string;
  /** How many devices are connected to it that would not be served any more. */
  readonly cut_off_device_count: number;
}

/** Reads which other gateways run, with what a change would cut off there. */
export async function readOthers(
  database: Database,
  { id: here, deviceIdOf }: Pick<LiveGateway, 'id' | 'deviceIdOf'>,
  { peers }: Pick<Amendment, 'peers'>,
  nowMs: number = Date.now(),
): Promise<OtherGateway[]> {
  const running = await readGateways(database, new Date(nowMs - GATEWAY_ALIVE_MS));
  const others = running.filter(({ id }) => id !== here);
  if (others.length === 0) return [];
  const ids = [...peers]
    .filter(([, peer]) => peer === null)
    .map(([publicKey]) => deviceIdOf(publicKey))
    .filter((id) => id !== null);
  const seen =
    ids.length === 0
      ? []
      : await database.models.DeviceStatus.findAll({ where: { device_id: ids } });
  const connected = seen.filter(
    ({ latest_handshake: at }) => at !== null && nowMs - at.getTime() < ONLINE_MS,
  );
  return others.map(({ id, name }) => ({
    id,
    name,
    cut_off_device_count: connected.filter((one) => one.gateway_id === id).length,
  }));
}

/** What people read of other gateways; null: none runs. */
export function othersInWords(others: readonly OtherGateway[]): string | null {
  if (others.length === 0) return null;
  const [verb, it] = others.length === 1 ? ['runs', 'it'] : ['run', 'each of them'];
  const more = others.length - NAMED_MAX;
  const names = others.slice(0, NAMED_MAX).map(({ name }) => name);
  const named = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const cutOff = others
    .filter(({ cut_off_device_count: count }) => count > 0)
    .map(({ name, cut_off_device_count: n }) => ` It cuts off ${devices(n)} connected to ${name}.`);
  return `Only flows at this gateway are counted. ${named} ${verb} too: ask ${it} what ends there.${cutOff.join('')}`;
}

/** Whether a change would cut off devices that are connected to other gateways. */
export function cutsOffElsewhere(others: readonly OtherGateway[]): boolean {
  return others.some(({ cut_off_device_count: count }) => count > 0);
}

function devices(count: number): string {
  return count === 1 ? '1 device that is' : `${count} devices that are`;
}
