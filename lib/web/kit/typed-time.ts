// Times as people type them. A script (static/typed-times.js) shows a field in the zone of the
// reader and sends the offset of the zone at that time; without scripts a time is in UTC.

import type { Request } from '@hapi/hapi';
import { readTime } from '../../kit/validation/texts.ts';
import { textOf } from './form-token.ts';

/** No zone is further from UTC, in minutes. */
const OFFSET_MAX = 14 * 60;

/** The name of the field with the offset of another one. */
export function offsetOf(name: string): string {
  return `${name}_offset`;
}

/**
 * A time that was typed, in UTC and as browsers write it; what cannot be read stays unreadable,
 * such as a time that the zone does not have.
 */
export function timeIn(request: Pick<Request, 'payload'>, name: string): string {
  return timeBy((field) => textOf(request, field), name);
}

/** A time that was typed, as `read` finds what was typed by the name of a field. */
export function timeBy(read: (name: string) => string, name: string): string {
  const text = read(name).trim();
  const offset = read(offsetOf(name)).trim();
  if (text === '' || offset === '') return text;
  const minutes = /^-?\d{1,3}$/.test(offset) ? Number(offset) : Number.NaN;
  const time = readTime(`${text}Z`);
  if (time === null || !(Math.abs(minutes) <= OFFSET_MAX)) return `${text} ${offset}`;
  return typedTime(new Date(time.getTime() + minutes * 60_000).toISOString());
}

/** A time of the API as browsers type it: without the zone, and without parts that are zero. */
export function typedTime(time: string): string {
  return time.replace(/(\.\d{3})\d*Z$|Z$/, '$1').replace(/(:00)?(\.000)$/, '');
}
