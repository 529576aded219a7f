// A gateway of the database, as programs and people get it, and when one is forgotten.

import {
  type Database,
  forgetGateways,
  type Gateway,
  GATEWAY_ALIVE_MS,
  isWithin,
} from '../../../models/index.ts';
import type { ForgettingTime } from '../process/forgetting.ts';
import type { Chore } from '../process/hourly.ts';
import type { ShownGateway } from './fields.ts';
import { showTime } from './shown.ts';

/** The gateway of this process: what others only read of its last heartbeat, it knows. */
export interface GatewayHere {
  readonly id: string;
  readonly appliedRevision: number;
}

/** What is known when gateways are shown. */
export interface GatewaysSeen {
  /** The latest revision of the database. */
  readonly revision: number;
  /** Unix time. */
  readonly nowMs: number;
  /** Null: this process is no gateway. */
  readonly here: GatewayHere | null;
}

/** What the services of a server say of the gateway of this process. */
export function gatewayHere({ explaining, watched }: ServesHere): GatewayHere | null {
  if (explaining === undefined || watched === undefined) return null;
  return { id: explaining.id, appliedRevision: watched.reconciler().appliedRevision };
}

/** What may be known of the gateway of this process. */
export interface ServesHere {
  readonly explaining?: { readonly id: string };
  readonly watched?: { readonly reconciler: () => { readonly appliedRevision: number } };
}

/** A gateway as it is shown. docs/api.md#gateways. */
export function showGateway(row: Gateway, { revision, nowMs, here }: GatewaysSeen): ShownGateway {
  const { id, name, public_key, schema_step, started_at, seen_at, applied_revision } = row;
  const { egress, egress_reason, last_backup_at, settings } = row;
  return {
    id,
    name,
    public_key,
    schema: schema_step,
    started_at: showTime(started_at),
    seen_at: showTime(seen_at),
    running: isWithin(seen_at, GATEWAY_ALIVE_MS, nowMs),
    up_to_date: (row.id === here?.id ? here.appliedRevision : Number(applied_revision)) >= revision,
    egress,
    egress_reason,
    last_backup_at: last_backup_at === null ? null : showTime(last_backup_at),
    settings: settings === null ? null : (JSON.parse(settings) as Record<string, unknown>),
  };
}

/** How packets of devices leave a gateway, in words. */
export function egressInWords(way: string | null): string {
  return EGRESS[way ?? ''] ?? 'not known: of an earlier version';
}

const EGRESS: Readonly<Record<string, string>> = {
  tun: 'by a TUN interface',
  sockets: 'by sockets of the gateway',
  none: 'not at all: devices reach each other and the gateway',
};

/** How long a gateway is listed that does not run: a container may be a new one at each start. */
const KEPT_MS = 30 * 86_400_000;

/** Forgets gateways that have not run for long. */
export function forgetOldGateways(database: Database, time: ForgettingTime): Chore {
  return {
    failure: 'old gateways were not forgotten',
    async run() {
      const now = await time();
      await forgetGateways(database, { seenBefore: new Date(now.getTime() - KEPT_MS), now });
    },
  };
}

/** The state of a gateway in words. */
export type GatewayState = 'up to date' | 'behind' | 'stopped';

/** The state of a gateway that was shown. */
export function stateOf({
  running,
  up_to_date: isUpToDate,
}: Pick<ShownGateway, 'running' | 'up_to_date'>): GatewayState {
  if (!running) return 'stopped';
  return isUpToDate ? 'up to date' : 'behind';
}
