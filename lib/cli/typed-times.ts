// The times that were typed as options.

import { readTime } from '../kit/validation/texts.ts';
import { listOf, type TIME_OPTIONS } from './options.ts';
import type { Options } from './run.ts';

/** The texts of options by their names. */
type Values = Readonly<Partial<Record<(typeof TIME_OPTIONS)[number], string>>>;

/** The options that take a time alone. */
const PLAIN_OPTIONS = ['from', 'to'] as const;

/** Words that --since takes for the start of a day, and how many days ago that was. */
const DAYS_AGO: ReadonlyMap<string, number> = new Map([
  ['today', 0],
  ['yesterday', 1],
]);

/** Options of times that also take `none`. */
const END_OPTIONS = [
  ['starts-at', 'startsAt'],
  ['ends-at', 'endsAt'],
] as const;

type TimeOption = (typeof PLAIN_OPTIONS)[number] | 'since';
type EndOption = (typeof END_OPTIONS)[number][1];

/** The times of options that name one, or what is wrong with one. */
export function timesOf(
  values: Values,
): Pick<Options, TimeOption | EndOption | 'at' | 'atDay'> | { error: string } {
  const times: { [Name in TimeOption]?: Date } & { [Name in EndOption | 'at']?: Date | null } = {};
  for (const option of PLAIN_OPTIONS) {
    const text = values[option];
    if (text === undefined) continue;
    const time = parseTime(text);
    if (time === null) return { error: noTime(option, text) };
    times[option] = time;
  }
  if (values.since !== undefined) {
    const since = DAYS_AGO.has(values.since) ? dayAgo(values.since) : parseTime(values.since);
    if (since === null)
      return { error: `${noTime('since', values.since)}; or ${listOf([...DAYS_AGO.keys()])}` };
    times.since = since;
  }
  for (const [option, name] of END_OPTIONS) {
    const text = values[option];
    if (text === undefined) continue;
    const time = text === 'none' ? null : parseTime(text);
    if (time === null && text !== 'none') return { error: `${noTime(option, text)}; or none` };
    times[name] = time;
  }
  if (values.at === undefined) return times;
  times.at = values.at === 'never' ? null : parseTime(values.at);
  if (times.at === null && values.at !== 'never')
    return { error: `${noTime('at', values.at)}; or never` };
  return DAY.test(values.at) ? { ...times, atDay: values.at } : times;
}

function noTime(option: string, text: string | undefined): string {
  return `--${option} takes a date or a time, 2026-11-21 or 2026-11-21T08:00:00Z, not "${text}"`;
}

const DAY_MS = 86_400_000;

/** The start of a day in UTC. */
function dayAgo(word: string): Date {
  const day = Math.floor(Date.now() / DAY_MS) - (DAYS_AGO.get(word) ?? 0);
  return new Date(day * DAY_MS);
}

/** A date without a time. */
const DAY = /^\d{4}-\d\d-\d\d$/;

/** Reads a date or a time of ISO 8601, UTC where no zone is named; null when it is none. */
function parseTime(text: string): Date | null {
  if (DAY.test(text)) return readTime(`${text}T00:00Z`);
  return readTime(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
}
