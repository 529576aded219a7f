// A lock on a file, which one process can hold at a time. The kernel keeps it: it ends with its
// holder, however that ends, and holds across containers and network namespaces.

import { DatabaseSync } from 'node:sqlite';
import { makeFile } from './ownership.ts';
import { isBusy } from './rerun.ts';
import { type Refusal, sqliteError } from './sqlite-error.ts';

/** A lock that is held. */
export interface FileLock {
  /** The file stays: whoever removed it could take it from a process that just locked it. */
  release(): void;
}

/** Locks a file, which is made where it is absent; null: another process holds it. */
export function lockFile(path: string): FileLock | null {
  makeFile(path);
  const file = open(path);
  try {
    // A journal in memory leaves no file beside this one. Nothing is written, nobody is waited for.
    file.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => file.close() };
  } catch (error) {
    file.close();
    const refusal = sqliteError(error as Refusal);
    if (isBusy(refusal)) return null;
    throw refusal;
  }
}

function open(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    throw sqliteError(error as Refusal);
  }
}
