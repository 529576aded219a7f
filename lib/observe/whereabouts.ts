// Where a device is, of several gateways with one database: the gateway of this process says when
// the device made a handshake here or left, and the rows say which gateway heard it last.
// docs/state.md#several-gateways.

import type { Trace } from '../../dataplane/index.ts';
import {
  type Database,
  type Gateway,
  GATEWAY_ALIVE_MS,
  isWithin,
  readGateways,
} from '../../models/index.ts';
import { ONLINE_MS } from './presence.ts';

/** Where a device was seen last, as the rows say. */
export interface LastSeen {
  readonly gatewayId: string;
  /** Null: not known. */
  readonly gatewayName: string | null;
  /** Whether that gateway runs, as far as anybody knows. */
  readonly isRunning: boolean;
  readonly handshakeMs: number;
  /** Since when it is there. */
  readonly sinceMs: number;
  /** Null: not known. */
  readonly address: string | null;
}

/** A gateway that runs. */
export type RunningGateway = Pick<Gateway, 'id' | 'name'>;

/** Another gateway, to which a device is connected. */
export interface Elsewhere {
  /** Null: not known. */
  readonly gatewayId: string | null;
  readonly gatewayName: string | null;
  /** Unix time in ms. */
  readonly sinceMs: number;
}

/** What is known of where a device is. */
export interface Traced {
  readonly nowMs: number;
  /** The id of the gateway of this process. */
  readonly gatewayId: string;
  readonly trace: Pick<Trace, 'latestHandshakeMs' | 'elsewhereAtMs'>;
  /** Null: no gateway saw it. */
  readonly seen: LastSeen | null;
}

/** The other gateway to which a device is connected; null: it is connected to none. */
export function elsewhereOf({ nowMs, gatewayId, trace, seen }: Traced): Elsewhere | null {
  const other = seen !== null && seen.gatewayId !== gatewayId ? seen : null;
  // Nobody is connected to a gateway that was killed, however late its last handshake was.
  if (other?.isRunning === false) return null;
  const atMs = Math.max(trace.elsewhereAtMs ?? 0, other?.handshakeMs ?? 0);
  if (!isWithin(atMs, ONLINE_MS, nowMs) || atMs <= (trace.latestHandshakeMs ?? 0)) return null;
  return other === null
    ? { gatewayId: null, gatewayName: null, sinceMs: atMs }
    : { gatewayId: other.gatewayId, gatewayName: other.gatewayName, sinceMs: other.sinceMs };
}

/** Reads where a device was seen last; null: nowhere. */
export async function readLastSeen(
  database: Database,
  deviceId: string,
  nowMs: number,
): Promise<LastSeen | null> {
  const { DeviceStatus, Gateway } = database.models;
  const status = await DeviceStatus.findByPk(deviceId);
  if (status === null || status.latest_handshake === null) return null;
  const gateway = await Gateway.findByPk(status.gateway_id);
  const handshakeMs = status.latest_handshake.getTime();
  return {
    gatewayId: status.gateway_id,
    gatewayName: gateway?.name ?? null,
    isRunning: gateway !== null && isWithin(gateway.seen_at, GATEWAY_ALIVE_MS, nowMs),
    handshakeMs,
    sinceMs: status.arrived_at?.getTime() ?? handshakeMs,
    address: status.remote_ip,
  };
}

/** Reads the other gateways that run. */
export async function readOthersRunning(
  database: Database,
  gatewayId: string,
  nowMs: number = Date.now(),
): Promise<RunningGateway[]> {
  const running = await readGateways(database, GATEWAY_ALIVE_MS, nowMs);
  return running.filter(({ id }) => id !== gatewayId);
}

/**
 * Reads which of some devices are connected to one of these gateways: the gateway by id of the
 * device. The rows are about a second old.
 */
export async function readConnectedTo(
  database: Database,
  gateways: readonly RunningGateway[],
  deviceIds: readonly string[],
  nowMs: number = Date.now(),
): Promise<ReadonlyMap<string, RunningGateway>> {
  if (gateways.length === 0 || deviceIds.length === 0) return new Map();
  const byId = new Map(gateways.map((gateway) => [gateway.id, gateway]));
  const rows = await database.models.DeviceStatus.findAll({
    where: { device_id: [...deviceIds], gateway_id: [...byId.keys()] },
  });
  const connected = new Map<string, RunningGateway>();
  for (const { device_id: id, gateway_id, latest_handshake: at } of rows) {
    const gateway = byId.get(gateway_id);
    if (gateway !== undefined && at !== null && isWithin(at, ONLINE_MS, nowMs))
      connected.set(id, gateway);
  }
  return connected;
}

/**
 * Reads which of some devices are connected to another gateway that runs: by id of the device, the
 * name of that gateway.
 */
export async function readElsewhere(
  database: Database,
  gatewayId: string,
  deviceIds: readonly string[],
  nowMs: number = Date.now(),
): Promise<ReadonlyMap<string, string>> {
  const others = await readOthersRunning(database, gatewayId, nowMs);
  const connected = await readConnectedTo(database, others, deviceIds, nowMs);
  return new Map([...connected].map(([id, { name }]) => [id, name]));
}
