// The other gateways that run on the database: a dry run knows nothing of their flows. So it says
// that they run, and how many devices are connected to each that the write would cut off.

import type { Amendment } from '../../../dataplane/index.ts';
import type { Database } from '../../../models/index.ts';
import type { LiveGateway } from '../live/gateway.ts';
import { readConnectedTo, readOthersRunning } from '../whereabouts.ts';
import type { OtherGateway } from './fields.ts';

/** Reads which other gateways run, with what a change would cut off there. */
export async function readOthers(
  database: Database,
  { id: here, deviceIdOf }: Pick<LiveGateway, 'id' | 'deviceIdOf'>,
  { peers }: Pick<Amendment, 'peers'>,
  nowMs: number = Date.now(),
): Promise<OtherGateway[]> {
  const others = await readOthersRunning(database, here, nowMs);
  const ids = [...peers]
    .filter(([, peer]) => peer === null)
    .map(([publicKey]) => deviceIdOf(publicKey))
    .filter((id) => id !== null);
  const connected = [...(await readConnectedTo(database, others, ids, nowMs)).values()];
  return others.map((gateway) => ({
    id: gateway.id,
    name: gateway.name,
    cut_off_device_count: connected.filter((one) => one === gateway).length,
  }));
}
