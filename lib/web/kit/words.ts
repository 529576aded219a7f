// Amounts as people read them.

import { bytesInWords as bytesInUnit } from '../../kit/validation/units.ts';

/** Number and unit stay on one line. */
const NO_BREAK = '\u00a0';

/** A number of bytes: `1.4 MB`. */
export function bytesInWords(bytes: number): string {
  return bytesInUnit(bytes).replace(' ', NO_BREAK);
}

/** A time of day: `2026-11-26 17:00 UTC`, with seconds where there are any. */
export function utcInWords(time: Date): string {
  const text = time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '');
  return `${text.replace(/:00$/, '')} UTC`;
}

/** A time as the API writes it, as pages say it without scripts. */
export function timeInWords(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : utcInWords(time);
}

/** How long it is until a time: `1 minute`, never less. */
export function minutesUntil(time: Date, now: Date = new Date()): string {
  const minutes = Math.max(1, Math.ceil((time.getTime() - now.getTime()) / 60_000));
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}

/** Up to when a time is so many seconds, minutes, hours or days ago; then it is a date. */
const AWAY = [
  [60, 1, 'second'],
  [3_600, 60, 'minute'],
  [86_400, 3_600, 'hour'],
  [30 * 86_400, 86_400, 'day'],
] as const;
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** How long ago a time is: `8 seconds ago`, `3 days ago`, `2026-10-01`. */
export function agoInWords(time: Date, nowMs: number = Date.now()): string {
  // A clock beside this one may be ahead by some seconds.
  return awayInWords(new Date(Math.min(time.getTime(), nowMs)), nowMs);
}

/** How far away a time is, also one that comes: `in 3 days`. */
export function awayInWords(time: Date, nowMs: number = Date.now()): string {
  const seconds = Math.round((time.getTime() - nowMs) / 1_000);
  const found = AWAY.find(([below]) => Math.abs(seconds) < below);
  if (found === undefined) return time.toISOString().slice(0, 10);
  const [, size, unit] = found;
  return RELATIVE.format(Math.trunc(seconds / size) || -0, unit);
}

/** `1 device`, `1,200 devices`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}
