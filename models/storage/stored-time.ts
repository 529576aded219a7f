// What a stored time means for a clock that came back from the future. A gateway whose clock was
// years ahead wrote times that lie years ahead of the right clock: a sign-in that would stay recent
// for years, a wait that would last as long. So a stored time that lies too far ahead counts as
// past everywhere. Times that people chose (the end of a device, of a token, of a rule) are obeyed,
// however far ahead they are.

import { Op, type WhereOperators } from 'sequelize';

/** By how much the clocks of two gateways may differ. */
const APART_MS = 60_000;
/** What lasts for long bears more, so that a step back of an hour signs nobody out. */
const PART = 1 / 4;
const AHEAD_MAX_MS = 2 * 3_600_000;

/** A time as it was stored, or as a clock shows it. */
type Time = Date | number;

/** How far ahead a time may lie that counts for `forMs`; what lies further ahead is past. */
function aheadOf(forMs: number): number {
  return Math.min(Math.max(APART_MS, forMs * PART), AHEAD_MAX_MS);
}

/** The latest time that a right clock can have stored until now. */
export function latestStored(now: Time, forMs = 0): Date {
  return new Date(Number(now) + aheadOf(forMs));
}

/** When a stored time that counts for `forMs` begins to count, Unix ms; before, it is far ahead. */
export function countsFrom(stored: Time, forMs = 0): number {
  return Number(stored) - aheadOf(forMs);
}

/** True for a time of something that happened less than `forMs` ago. */
export function isWithin(stored: Time, forMs: number, now: Time): boolean {
  return countsFrom(stored, forMs) <= Number(now) && Number(now) - Number(stored) < forMs;
}

/** True for an end that is yet to come, and was at most `longestMs` away when it was stored. */
export function isToCome(end: Time, longestMs: number, now: Time): boolean {
  return Number(end) > Number(now) && countsFrom(end, longestMs) <= Number(now) + longestMs;
}

/** `isWithin` as a condition on a column. */
export function within(forMs: number, now: Time): WhereOperators<Date> {
  return { [Op.gt]: new Date(Number(now) - forMs), [Op.lte]: latestStored(now, forMs) };
}

/** `isToCome` as a condition on a column. */
export function toCome(longestMs: number, now: Time): WhereOperators<Date> {
  return {
    [Op.gt]: new Date(Number(now)),
    [Op.lte]: latestStored(Number(now) + longestMs, longestMs),
  };
}

/** The contrary of `toCome`; neither is true of null. */
export function notToCome(
  longestMs: number,
  now: Time,
): { [Op.or]: readonly WhereOperators<Date>[] } {
  const latest = latestStored(Number(now) + longestMs, longestMs);
  return { [Op.or]: [{ [Op.lte]: new Date(Number(now)) }, { [Op.gt]: latest }] };
}
