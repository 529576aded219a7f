// The values of a backup: the same text for the same value, whichever database it came from.
// Numbers that JavaScript cannot hold exactly are text; times have all six digits that a database
// may keep.

import type { DatabaseKind } from '../storage/time.ts';
import type { ValueKind } from './catalogue.ts';

/** A value as a backup holds it. */
export type Value = string | number | boolean | null;

/** A value as a statement takes it. */
export type SqlValue = string | number | null;

/** The text of an SQL expression that yields a column as `valueOf` reads it. */
export function selectable(database: DatabaseKind, column: string, kind: ValueKind): string {
  if (kind === 'bigint') return `CAST(${column} AS ${database === 'sqlite' ? 'TEXT' : 'CHAR'})`;
  return kind === 'time' && database === 'mysql' ? `CAST(${column} AS CHAR)` : column;
}

/** Reads what a database gave; undefined for what its column should not hold. */
export function valueOf(kind: ValueKind, raw: unknown): Value | undefined {
  if (raw === null) return null;
  switch (kind) {
    case 'flag':
      return raw === 0 || raw === 1 ? raw === 1 : undefined;
    case 'time':
      return typeof raw === 'string' ? timeOf(raw) : undefined;
    case 'text':
    case 'integer':
    case 'bigint':
      return plainOf(kind, raw);
  }
}

/** Turns a value of a backup into that of a statement; undefined where it is none of its kind. */
export function sqlValueOf(
  database: DatabaseKind,
  kind: ValueKind,
  value: unknown,
): SqlValue | undefined {
  if (value === null) return null;
  switch (kind) {
    case 'flag':
      return typeof value === 'boolean' ? Number(value) : undefined;
    case 'time':
      return typeof value === 'string' ? sqlTimeOf(database, value) : undefined;
    case 'text':
    case 'integer':
    case 'bigint':
      return plainOf(kind, value);
  }
}

/** A value that databases and backups hold alike; undefined where it is not of its kind. */
function plainOf(
  kind: Exclude<ValueKind, 'flag' | 'time'>,
  value: unknown,
): string | number | undefined {
  if (kind === 'integer') return Number.isSafeInteger(value) ? (value as number) : undefined;
  const isText = typeof value === 'string' && (kind === 'text' || BIGINT.test(value));
  return isText ? value : undefined;
}

const BIGINT = /^-?\d{1,19}$/;
/** As the databases give it: with six digits, or with three and the zone. */
const GIVEN_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{3}(?:\d{3})?)( \+00:00)?$/;
const KEPT_TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.(\d{3})(\d{3})Z$/;

function timeOf(text: string): string | undefined {
  const matched = GIVEN_TIME.exec(text);
  if (matched === null) return undefined;
  const [, date, time, fraction = ''] = matched;
  return `${date}T${time}.${fraction.padEnd(6, '0')}Z`;
}

function sqlTimeOf(database: DatabaseKind, value: string): string | undefined {
  const matched = KEPT_TIME.exec(value);
  if (matched === null || Number.isNaN(Date.parse(value))) return undefined;
  const [, date, time, milliseconds = '', rest = ''] = matched;
  if (database === 'mysql') return `${date} ${time}.${milliseconds}${rest}`;
  // The text that every other time of the column has, so that texts compare as times do.
  return `${date} ${time}.${milliseconds}${rest === '000' ? '' : rest} +00:00`;
}
