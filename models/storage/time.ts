// Timestamps outside Sequelize's models: the texts that statements take and rows return. Both
// databases hold UTC; the text of a row is `YYYY-MM-DD HH:MM:SS.fff` and then six digits (MySQL) or
// ` +00:00` (SQLite).

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
