// Another program that locks a SQLite file for a write of its own. It uses the library that Postern
// uses: locks of files belong to a process, and two libraries in one process do not see each other's.

import { DatabaseSync } from 'node:sqlite';

/** How long it waits for a write of somebody else to end. */
const WAIT_MS = 10_000;

/** Locks a file until the function that is returned is called. */
export function lockSqliteFile(path: string): () => void {
  const holder = new DatabaseSync(path, { timeout: WAIT_MS });
  holder.exec('BEGIN IMMEDIATE');
  return () => {
    holder.exec('ROLLBACK');
    holder.close();
  };
}
