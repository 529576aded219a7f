// The other gateways that run on the database: a dry run knows nothing of their flows. So it says
// that they run, and how many devices are connected to each that the write would cut off.

import type { Amendment } from '../../dataplane/index.ts';
import { type Database, GATEWAY_ALIVE_MS, readGateways } from '../../models/index.ts';
import type { LiveGateway } from '../live/gateway.ts';
import { ONLINE_MS } from '../observe/presence.ts';
import type { OtherGateway } from './other-gateways-in-words.ts';

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
