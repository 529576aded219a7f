// A gateway of the database, as programs get it.

import type { Gateway } from '../../models/index.ts';
import { showTime, type Shown } from './shown.ts';

/** Gateways say every 5 seconds that they run; one that is late for a moment runs too. */
const RUNS_MS = 60_000;

/** A gateway as it is shown, where `revision` is the latest one and `nowMs` Unix time. */
export function showGateway(row: Gateway, revision: number, nowMs: number): Shown {
  const { id, name, public_key, started_at, seen_at, applied_revision, settings } = row;
  return {
    id,
    name,
    public_key,
    started_at: showTime(started_at),
    seen_at: showTime(seen_at),
    running: nowMs - seen_at.getTime() < RUNS_MS,
    up_to_date: Number(applied_revision) >= revision,
    settings: settings === null ? null : (JSON.parse(settings) as object),
  };
}
