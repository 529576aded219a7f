// Gives free pages of a SQLite file back to the disk: some at a time while a server runs, or all at
// once. Files that were made before 1.1.0 cannot do the first until the second was done: SQLite
// keeps in the file whether it can. docs/state.md#databases.

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueryTypes } from 'sequelize';
import type { Database } from './database.ts';
import { giveWay } from '../storage/give-way.ts';
import { BUSY_TIMEOUT_MS, rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';

/** Free pages that stay for what is written next: 4 MiB. */
export const PAGES_KEPT = 1_000;
/** Pages that one statement gives back. */
const PAGES_PER_STEP = 100;
/** What `PRAGMA auto_vacuum` says of a file that can shrink. */
const INCREMENTAL = 2;
/** The pause before the log is tried again, while another program keeps it. */
const CHECKPOINT_PAUSE_MS = 50;
/** How often work on the whole file says how far it is. */
const PROGRESS_MS = 5_000;

/** Gives back what is free and is not kept; returns how many pages. A server does so by itself. */
export async function shrinkFile(
  database: Database,
  isStopping: () => boolean = () => false,
): Promise<number> {
  if (database.kind !== 'sqlite' || !(await canShrink(database))) return 0;
  let count = 0;
  while (!isStopping()) {
    const free = (await pragma(database, 'freelist_count')) - PAGES_KEPT;
    if (free <= 0) return count;
    const startedAt = performance.now();
    const pages = Math.min(free, PAGES_PER_STEP);
    await run(database, `PRAGMA incremental_vacuum(${pages})`);
    count += pages;
    await giveWay(startedAt);
  }
  return count;
}

/** What a SQLite file takes, and what of it is free. */
export interface FileSpace {
  readonly path: string;
  readonly bytes: number;
  readonly freeBytes: number;
  /** Whether it gives free pages back step by step. */
  readonly canShrink: boolean;
}

/** Reads what the file takes; null with a server, which has files of its own. */
export async function readFileSpace(database: Database): Promise<FileSpace | null> {
  if (database.kind !== 'sqlite') return null;
  const pageSize = await pragma(database, 'page_size');
  return {
    path: await pathOf(database),
    bytes: pageSize * (await pragma(database, 'page_count')),
    freeBytes: pageSize * (await pragma(database, 'freelist_count')),
    canShrink: await canShrink(database),
  };
}

/** What compacting came to. */
export interface Compacted {
  readonly path: string;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** Whether another program keeps the log from being emptied, which holds the file once more. */
  readonly isLogKept: boolean;
}

/**
 * Rewrites the whole SQLite file without free pages; the file shrinks by itself from then on.
 * SQLite makes a copy beside the file, then puts it into the log in one transaction: a process that
 * ends in the middle leaves the file as it was. Each of the two is as large as what is held.
 */
export async function compactFile(database: Database): Promise<Compacted> {
  const path = await pathOf(database);
  await emptyLog(database);
  const bytesBefore = statSync(path).size;
  const stopSaying = sayProgress(database, path);
  let isEmptied: boolean;
  try {
    // Else the copy goes to a folder of temporary files, on a disk whose room nobody looked at.
    await run(database, copiesIn(database, dirname(path)));
    await run(database, 'PRAGMA auto_vacuum = INCREMENTAL');
    await run(database, 'VACUUM');
  } finally {
    stopSaying();
    await run(database, copiesIn(database, ''));
    // Also after a failure: what was written until then would stay in the log.
    isEmptied = await emptyLog(database);
  }
  return { path, bytesBefore, bytesAfter: statSync(path).size, isLogKept: !isEmptied };
}

/**
 * Puts what is in the log into the file and cuts the log off; false where another program reads or
 * writes for longer than a statement waits for a lock.
 */
async function emptyLog({ sequelize }: Database): Promise<boolean> {
  const startedAt = performance.now();
  for (;;) {
    const sql = 'PRAGMA wal_checkpoint(TRUNCATE)';
    const [rows] = await sequelize.query(sql, { type: QueryTypes.RAW });
    // This statement meets no error where it meets a lock, so nothing asks again for it.
    if ((rows as { busy: number }[])[0]?.busy === 0) return true;
    if (performance.now() - startedAt >= BUSY_TIMEOUT_MS) return false;
    await sleep(CHECKPOINT_PAUSE_MS);
  }
}

/** The statement that says where SQLite makes copies; none: where it would by itself. */
function copiesIn({ sequelize }: Database, folder: string): string {
  return `PRAGMA temp_store_directory = ${sequelize.escape(folder)}`;
}

/** Says at times how long it has taken and how much of it is in the log; returns what ends that. */
function sayProgress({ log }: Database, path: string): () => void {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const written = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    log?.info({ seconds, written }, 'the database file is being written anew');
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}

async function canShrink(database: Database): Promise<boolean> {
  return (await pragma(database, 'auto_vacuum')) === INCREMENTAL;
}

async function run(database: Database, sql: string): Promise<void> {
  await rerunOnConflict(database, () => database.sequelize.query(sql, { type: QueryTypes.RAW }));
}

async function pragma({ sequelize }: Database, name: string): Promise<number> {
  const [row] = await sequelize.query<Record<string, number>>(`PRAGMA ${name}`, plainSelect());
  return Number(row?.[name] ?? 0);
}

async function pathOf({ sequelize }: Database): Promise<string> {
  const rows = await sequelize.query<{ name: string; file: string }>(
    'PRAGMA database_list',
    plainSelect(),
  );
  return rows.find(({ name }) => name === 'main')?.file ?? '';
}
