// Gives free pages of a SQLite file back to the disk, some at a time. Files that were made before
// 1.1.0 cannot: SQLite keeps how in the file. docs/state.md#databases.

import { QueryTypes } from 'sequelize';
import type { Database } from './database.ts';
import { giveWay } from '../storage/give-way.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';

/** Free pages that stay for what is written next: 4 MiB. */
export const PAGES_KEPT = 1_000;
/** Pages that one statement gives back. */
const PAGES_PER_STEP = 100;
/** What `PRAGMA auto_vacuum` says of a file that can shrink. */
const INCREMENTAL = 2;

/** Gives back what is free and is not kept; returns how many pages. A server does so by itself. */
export async function shrinkFile(
  database: Database,
  isStopping: () => boolean = () => false,
): Promise<number> {
  if (database.kind !== 'sqlite' || (await pragma(database, 'auto_vacuum')) !== INCREMENTAL)
    return 0;
  let count = 0;
  while (!isStopping()) {
    const free = (await pragma(database, 'freelist_count')) - PAGES_KEPT;
    if (free <= 0) return count;
    const startedAt = performance.now();
    const pages = Math.min(free, PAGES_PER_STEP);
    await rerunOnConflict(database, () =>
      database.sequelize.query(`PRAGMA incremental_vacuum(${pages})`, { type: QueryTypes.RAW }),
    );
    count += pages;
    await giveWay(startedAt);
  }
  return count;
}

async function pragma({ sequelize }: Database, name: string): Promise<number> {
  const [row] = await sequelize.query<Record<string, number>>(`PRAGMA ${name}`, plainSelect());
  return Number(row?.[name] ?? 0);
}
