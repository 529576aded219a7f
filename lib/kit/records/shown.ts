// A record as answers show it: the fields of its table, in the order of the table.

import type { ApiField, Field, Fields, NamesWith, RowOf } from '../../../models/index.ts';

/** A record as answers show it. */
export type Shown = Record<string, unknown>;

/** Fields that answers show and no row holds: they are worked out for each answer. */
type WorkedOut<Table> = Exclude<
  NamesWith<Table, { api: ApiField }>,
  keyof RowOf<Table> | NamesWith<Table, { api: { writeOnly: true } }>
>;

/**
 * Makes the function that shows a record: all fields that are not write-only, in the order of its
 * table. Values that no row holds must be given; they take precedence over values of the row.
 */
export function showerOf<Table extends Fields>(
  fields: Table,
): (
  row: Pick<RowOf<Table>, keyof RowOf<Table> & NamesWith<Table, { api: ApiField }>>,
  workedOut: Readonly<Record<WorkedOut<Table>, unknown>> & Shown,
) => Shown {
  const names = Object.entries<Field>(fields)
    .filter(([, { api }]) => api !== undefined && api.writeOnly !== true)
    .map(([name]) => name);
  // Parsed, so that V8 gives all copies one shape: a list of 10,000 is written in half the time.
  const blank = JSON.parse(`{${names.map((name) => `"${name}":null`).join()}}`) as Shown;
  return (row, workedOut) => {
    const shown: Shown = { ...blank };
    for (const name of names) {
      const value = name in workedOut ? workedOut[name] : (row as Shown)[name];
      shown[name] = value instanceof Date ? showTime(value) : value;
    }
    return shown;
  };
}

/** A point in time as it is shown: UTC, always six digits. */
export function showTime(time: Date): string {
  // JavaScript knows milliseconds; the last three digits are zeros.
  return `${time.toISOString().slice(0, -1)}000Z`;
}

/** A point in time that may be unknown, as it is shown. */
export function showTimeOrNull(time: Date | null): string | null {
  return time === null ? null : showTime(time);
}
