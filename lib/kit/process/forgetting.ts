// When old rows are deleted, and by which clock. The first time is ten minutes after a start, so
// that a host can set its clock. models/queries/forgetting-clock.ts has the clock; if it jumps, the
// log warns, and the jump is counted. docs/state.md#forgetting.

import { JUMP_MAX_MS, moveForgettingClock } from '../../../models/index.ts';
import type { Shared } from './shared.ts';

/** How long after a start old rows are forgotten for the first time. */
export const FIRST_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Reads the time by which to forget. */
export type ForgettingTime = () => Promise<Date>;

/** The clock of one process; `nowMs` is monotonic, and `wall` is for tests. */
export function forgettingTime(
  { database, log, counters }: Pick<Shared, 'database' | 'log' | 'counters'>,
  { nowMs = () => performance.now(), wall }: { nowMs?: () => number; wall?: () => Date } = {},
): ForgettingTime {
  let lookedAtMs = nowMs();
  return async () => {
    const lookMs = nowMs();
    const runningMs = lookMs - lookedAtMs;
    const now = wall === undefined ? {} : { now: wall() };
    const { time, sinceMs, behindMs } = await moveForgettingClock(database, { runningMs, ...now });
    lookedAtMs = lookMs;
    if (sinceMs > JUMP_MAX_MS) {
      counters.add('clock_jumps', 'ahead');
      log.warn(
        { days: daysOf(sinceMs), days_behind: daysOf(behindMs) },
        'the clock is days after the last time that old rows were forgotten: if it is wrong, set it now; if no gateway ran, nothing is to be done, and what is too old goes by an extra day for each day',
      );
    }
    if (sinceMs < -HOUR_MS) {
      counters.add('clock_jumps', 'back');
      log.warn(
        { days: daysOf(-sinceMs) },
        'the clock was set back since old rows were forgotten last; look whether it is right now',
      );
    }
    return time;
  };
}

function daysOf(ms: number): number {
  return Math.round((ms / DAY_MS) * 10) / 10;
}
