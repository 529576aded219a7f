// A gateway of the database, as programs and people get it.

import { type Gateway, GATEWAY_ALIVE_MS } from '../../models/index.ts';
import { showTime, type Shown } from './shown.ts';

/** A gateway as it is shown, where `revision` is the latest one and `nowMs` Unix time. */
export function showGateway(row: Gateway, revision: number, nowMs: number): Shown {
  const { id, name, public_key, started_at, seen_at, applied_revision, settings } = row;
  return {
    id,
    name,
    public_key,
    started_at: showTime(started_at),
    seen_at: showTime(seen_at),
    running: nowMs - seen_at.getTime() < GATEWAY_ALIVE_MS,
    up_to_date: Number(applied_revision) >= revision,
    settings: settings === null ? null : (JSON.parse(settings) as object),
  };
}

/** The state of a gateway in words. */
export type GatewayState = 'up to date' | 'behind' | 'stopped';

/** The state of a gateway that was shown. */
export function stateOf({ running, up_to_date: isUpToDate }: Shown): GatewayState {
  if (running !== true) return 'stopped';
  return isUpToDate === true ? 'up to date' : 'behind';
}
