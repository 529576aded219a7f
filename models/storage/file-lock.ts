// A lock on a file, which one process can hold at a time. The kernel keeps it: it ends with its
// holder, however that ends, and holds across containers and network namespaces.

import sqlite3 from 'sqlite3';
import { makeFile } from './ownership.ts';

/** A lock that is held. */
export interface FileLock {
  /** The file stays: whoever removed it could take it from a process that just locked it. */
  release(): Promise<void>;
}

/** Locks a file, which is made where it is absent; null: another process holds it. */
export async function lockFile(path: string): Promise<FileLock | null> {
  makeFile(path);
  const file = await open(path);
  try {
    // A journal in memory leaves no file beside this one.
    await run(file, 'PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => close(file) };
  } catch (error) {
    await close(file);
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return null;
    throw error;
  }
}

function open(path: string): Promise<sqlite3.Database> {
  return new Promise((resolve, reject) => {
    const file = new sqlite3.Database(path, sqlite3.OPEN_READWRITE, (error) =>
      error === null ? resolve(file) : reject(error),
    );
  });
}

function run(file: sqlite3.Database, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    file.exec(sql, (error) => (error === null ? resolve() : reject(error)));
  });
}

function close(file: sqlite3.Database): Promise<void> {
  return new Promise((resolve) => {
    file.close(() => resolve());
  });
}
