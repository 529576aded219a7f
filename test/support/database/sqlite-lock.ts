// Another program that locks a SQLite file for a write of its own. It uses the library that Postern
// uses: locks of files belong to a process, and two libraries in one process do not see each other's.

import sqlite3 from 'sqlite3';

/** Locks a file until the function that is returned is called. */
export async function lockSqliteFile(path: string): Promise<() => Promise<void>> {
  const holder = new sqlite3.Database(path);
  const run = (sql: string) =>
    new Promise<void>((resolve, reject) => {
      holder.run(sql, (error) => (error === null ? resolve() : reject(error)));
    });
  await run('BEGIN IMMEDIATE');
  return async () => {
    await run('ROLLBACK');
    await new Promise<void>((resolve) => {
      holder.close(() => resolve());
    });
  };
}
