// Where the settings put a SQLite database, and how much room is left there.

import { lstatSync, statfsSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Config } from '../../../config/index.ts';

/** Where the service of systemd has its data: `DATA_DIR` of config/systemd/postern.service. */
const OF_SERVICE = '/var/lib/postern';

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

/** A database that does not exist, in words: where it should be, and what sets that. */
export interface Missing {
  readonly place: string;
  readonly setting: 'DATA_DIR' | 'DATABASE_URL';
}

/** The SQLite database that is not where it is set to be; null: it is there, or nobody can tell. */
export function missingDatabase(
  config: Pick<Config, 'databaseHost' | 'databaseUrl' | 'dataDir'>,
): Missing | null {
  const file = databaseFile(config);
  if (file === null || !isMissing(file)) return null;
  return config.databaseUrl === null
    ? { place: `in ${config.dataDir}`, setting: 'DATA_DIR' }
    : { place: `at ${file}`, setting: 'DATABASE_URL' };
}

/**
 * What to set where the data of a service are elsewhere; null: no service is known here. A shell
 * seldom has the settings of a service; who sets a whole path means another gateway.
 */
export function setAsService(
  { dataDir }: Pick<Config, 'dataDir'>,
  ofService = OF_SERVICE,
): string | null {
  // Only root may look behind the link that DynamicUser= makes.
  if (isAbsolute(dataDir) || isMissing(ofService, lstatSync)) return null;
  return `the service of this host has its data in ${ofService}: set DATA_DIR=${ofService}, and the settings of the service`;
}

function isMissing(path: string, look: (path: string) => unknown = statSync): boolean {
  try {
    look(path);
    return false;
  } catch (error) {
    // A folder that may not be opened may hold it.
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
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
