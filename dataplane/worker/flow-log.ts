// Joins the flow log of a worker to what it hears of: ends of flows, and refused packets.

import type { RefusalTable } from '../filter/refusals.ts';
import type { Tracker } from '../filter/tracker.ts';
import { FlowLogWriter } from '../rings/flow-log-ring.ts';
import type { Tunnel } from '../wireguard/tunnel.ts';

/** Whom the flow log hears, and who names the devices. */
export interface Heard {
  readonly tracker: Pick<Tracker, 'flows' | 'counts' | 'ends'>;
  readonly tunnel: Pick<Tunnel, 'atSlot'>;
  readonly refusals: Pick<RefusalTable, 'log'>;
}

/** Opens the flow log over a ring; null: nobody wants it. */
export function openFlowLog(
  ring: SharedArrayBuffer | null,
  { tracker, tunnel, refusals }: Heard,
): FlowLogWriter | null {
  if (ring === null) return null;
  const { flows, counts, ends } = tracker;
  const keyOf = (slot: number): string | null => tunnel.atSlot(slot)?.id ?? null;
  const log = new FlowLogWriter(ring, { flows, counts, keyOf });
  ends.log = log;
  refusals.log = log;
  return log;
}
