// The last hour in minutes, as the gateway of this process remembers it. What was carried before it
// began is known in ten minutes only, from the rows: each of their minutes has the mean.

import { type Database, readDevicesOfHistory } from '../../../models/index.ts';
import { type MinutesOf, MINUTE_S, type RecentTraffic } from './recent-traffic.ts';
import type { Span } from './span.ts';
import {
  COUNTS,
  readAllPoints,
  readTraffic,
  type Traffic,
  type TrafficOf,
  trafficOf,
} from './traffic.ts';

/** Seconds of one row. */
const ROW_S = 600;

/** What is asked of the last hour. */
export interface MinutesWish {
  readonly of: TrafficOf;
  /** Without a meaning for all. */
  readonly id: string;
  /** Whole minutes, Unix time in seconds. */
  readonly from: number;
  readonly to: number;
  /** Other gateways run: rows would add what they carried. */
  readonly isOneOfSeveral: boolean;
}

/** Reads a time in minutes. */
export async function readMinutes(
  database: Database,
  recent: RecentTraffic,
  wish: MinutesWish,
): Promise<Traffic> {
  const { of, id, from, to } = wish;
  const [kind, ids] = await subjectsOf(database, of, id);
  // Each minute is added up once: a group may have thousands of devices.
  const sums = new Map<number, number[]>();
  const remembered = (at: number): number[] => {
    const sum = sums.get(at) ?? recent.minute(kind, ids, at);
    sums.set(at, sum);
    return sum;
  };
  const earlier = wish.isOneOfSeveral
    ? null
    : await readEarlier(database, recent, wish, remembered);
  return trafficOf(COUNTS[of], { from, to, step: MINUTE_S }, (at) => {
    const counts = remembered(at);
    const before = earlier?.(at) ?? [];
    return COUNTS[of].map((_name, i) => Math.round((counts[i] ?? 0) + (before[i] ?? 0)));
  });
}

async function subjectsOf(
  database: Database,
  of: TrafficOf,
  id: string,
): Promise<[MinutesOf, string[]]> {
  if (of === 'user') return ['device', await readDevicesOfHistory(database, { userId: id })];
  if (of === 'group') return ['device', await readDevicesOfHistory(database, { groupId: id })];
  return [of, [id]];
}

/** Reads what was carried before this gateway began; null: it has run for all of the time. */
async function readEarlier(
  database: Database,
  recent: RecentTraffic,
  { of, id, from }: MinutesWish,
  remembered: (at: number) => readonly number[],
): Promise<((at: number) => number[] | null) | null> {
  const began = floor(recent.beganMs / 1_000, MINUTE_S);
  if (began <= from) return null;
  const span: Span = { from: floor(from, ROW_S), to: floor(began, ROW_S) + ROW_S, step: ROW_S };
  const { points } = await (of === 'all'
    ? readAllPoints(database, span)
    : readTraffic(database, of, id, span));
  return (at) => {
    if (at >= began) return null;
    const row = floor(at, ROW_S);
    const counts = points[(row - span.from) / ROW_S];
    const minutes = (Math.min(began, row + ROW_S) - row) / MINUTE_S;
    return COUNTS[of].map((name, i) => {
      let rest = Number(counts?.[name] ?? 0);
      for (let own = row; own < row + ROW_S; own += MINUTE_S) rest -= remembered(own)[i] ?? 0;
      return Math.max(0, rest) / minutes;
    });
  };
}

function floor(time: number, step: number): number {
  return Math.floor(time / step) * step;
}
