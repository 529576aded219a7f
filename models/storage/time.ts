// Timestamps outside Sequelize's models: the text that statements take and rows give. Both
// databases hold UTC; the text of a row is `YYYY-MM-DD HH:MM:SS.fff` and then six digits (MySQL)
// or ` +00:00` (SQLite).

import type { Sequelize } from 'sequelize';

/** Which SQL a database speaks; MariaDB counts as mysql. */
export type DatabaseKind = 'sqlite' | 'mysql';

/** Writes a time as Sequelize's DATE(6) columns hold it, so that texts compare as times do. */
export function sqlTime(kind: DatabaseKind, time: Date): string {
  const text = time.toISOString().replace('T', ' ').replace('Z', '');
  return kind === 'sqlite' ? `${text} +00:00` : text;
}

/** Reads a time from a raw row, where SQLite gives text and mysql2 text or a Date. */
export function parseSqlTime(value: string | Date): Date {
  if (value instanceof Date) return value;
  return new Date(`${value.slice(0, 10)}T${value.slice(11, 23)}Z`);
}

/** What is used of Sequelize's connections; version 6 is at its end and stays as it is. */
interface Parsing {
  readonly connectionManager: { refreshTypeParser(types: object): void };
}

/** The value of a column: text from SQLite, a field of mysql2 that holds the text. */
type Held = string | { string(): string | null };

/**
 * Makes models read times as `parseSqlTime` does: Sequelize leaves the text to JavaScript, which
 * takes the year 0099 for 1999. A new Sequelize sets its own way for all of its kind, so this comes
 * right after it.
 */
export function useExactTimes(sequelize: Sequelize): void {
  const parse = (held: Held): Date | null => {
    const text = typeof held === 'string' ? held : held.string();
    return text === null ? null : parseSqlTime(text);
  };
  const types = { sqlite: ['DATETIME'], mysql: ['DATETIME'] };
  (sequelize as unknown as Parsing).connectionManager.refreshTypeParser({ time: { types, parse } });
}
