// The gateway of this process, as lists of its live state ask it. Everything is in memory: the list
// is there while the database is away.

import type { Amendment, Ask } from '../../../dataplane/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import type { RowChanges } from '../../reconcile/read.ts';

/** What lists are read from. */
export interface LiveGateway {
  /** The id of the gateway. */
  readonly id: string;
  readonly ask: Ask;
  /** What rows would change of what is in force, if they were committed now. */
  readonly tried: (rows: RowChanges, used: ReadonlyMap<string, number>) => Amendment;
  /** The user whose device is served under a public key; null: there is none. */
  readonly userIdOf: (publicKey: string) => string | null;
  /** The owner of the device that has a public key or had it lately; null: there is none. */
  readonly ownerIdOf: (publicKey: string) => string | null;
  /** The device that has a public key or had it lately; null: there is none. */
  readonly deviceIdOf: (publicKey: string) => string | null;
  /** The public key of a device, also of one that was deleted lately; null: it is not known. */
  readonly publicKeyOf: (deviceId: string) => string | null;
}

/** The gateway of this process; `service_unavailable` where it has no data plane. */
export function liveGateway({ live }: { readonly live?: LiveGateway }): LiveGateway {
  if (live === undefined) throw new ApiError('service_unavailable');
  return live;
}

/** Whose devices are asked for; null does not matter. */
export interface DeviceFilter {
  readonly deviceId: string | null;
  readonly userId: string | null;
}

/**
 * The devices that are asked for, as the data plane names them; null: there is none, so nothing is
 * listed.
 */
export function queryOf(
  { publicKeyOf }: LiveGateway,
  { deviceId, userId }: DeviceFilter,
): { readonly device: string | null; readonly scope: string | null } | null {
  if (deviceId === null) return { device: null, scope: userId };
  const device = publicKeyOf(deviceId);
  return device === null ? null : { device, scope: userId };
}

/** Names of the protocols that rules and questions name (IANA). */
const NAMES: Readonly<Record<number, string>> = { 1: 'icmp', 6: 'tcp', 17: 'udp', 58: 'icmp' };

/** The name of a protocol, or its number as text. */
export function protocolName(protocol: number): string {
  return NAMES[protocol] ?? String(protocol);
}
