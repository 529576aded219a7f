// Where the settings put a SQLite database, and how much room is left there.

import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/index.ts';

/** The file of a database that no setting names. */
export function defaultDatabaseFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'postern.sqlite');
}

/** The file of a SQLite database, as it is set; null with a server, or in memory. */
export function databaseFile(
  config: Pick<Config, 'databaseHost' | 'databaseUrl' | 'dataDir'>,
): string | null {
  if (config.databaseHost !== null) return null;
  if (config.databaseUrl === null) return defaultDatabaseFile(config);
  return /^sqlite:(?!:memory:$)(.+)/.exec(config.databaseUrl)?.[1] ?? null;
}

/** Bytes that are free on the disk of a folder, null where nobody knows. */
export function roomOf(folder: string): number | null {
  try {
    const { blocks, bavail, bsize } = statfsSync(folder);
    // Some file systems have no size, and no number for what is free.
    return blocks === 0 ? null : bavail * bsize;
  } catch {
    return null;
  }
}
