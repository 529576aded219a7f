// What a person is told when a command, or the start, cannot use the database: what is wrong, and
// which setting to look at.

import { statfsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import { isDatabaseAway, isDatabaseFull } from '../models/index.ts';
import { messageOf } from './observe/log.ts';

/** The message of any error; where it is about the database, with the mend. */
export function sayFault(error: unknown, config: Config): string {
  const message = messageOf(error);
  const { setting, disk, folder } = placeOf(config);
  if (isDatabaseFull(error) || (isDatabaseAway(error) && hasNoRoom(folder)))
    return `no room is left (${message}); free space on ${disk}`;
  if (isDatabaseAway(error) || isAboutFileIn(folder, error))
    return `the database cannot be used (${message}); look at ${setting}`;
  return message;
}

/** What SQLite needs to open a file: without it, all that it says is that a disk failed. */
const OPENING_BYTES = 65_536;

function hasNoRoom(folder: string | null): boolean {
  if (folder === null) return false;
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < OPENING_BYTES;
  } catch {
    return false;
  }
}

interface Place {
  /** The settings that say where the database is. */
  readonly setting: string;
  /** Where room is needed. */
  readonly disk: string;
  /** The folder of a SQLite file. */
  readonly folder: string | null;
}

function placeOf({ databaseHost, databasePort, databaseUrl, dataDir }: Config): Place {
  if (databaseHost !== null)
    return {
      setting: `DATABASE_HOST (${databaseHost}), DATABASE_PORT (${databasePort}), DATABASE_NAME, DATABASE_USER and DATABASE_PASSWORD`,
      disk: `the disk of the database server, DATABASE_HOST (${databaseHost})`,
      folder: null,
    };
  if (databaseUrl === null)
    return {
      setting: `DATA_DIR (${dataDir})`,
      disk: `the disk of DATA_DIR (${dataDir})`,
      folder: resolve(dataDir),
    };
  // The URL holds a password; a file's path does not.
  const path = /^sqlite:(.*)/.exec(databaseUrl)?.[1];
  const name = path ?? new URL(databaseUrl).host;
  return {
    setting: `DATABASE_URL (${name})`,
    disk: `the disk of ${path === undefined ? 'the database server, ' : ''}DATABASE_URL (${name})`,
    folder: path === undefined ? null : dirname(resolve(path)),
  };
}

/** True when the system refused something in this folder, or the folder itself. */
function isAboutFileIn(folder: string | null, error: unknown): boolean {
  const path = error instanceof Error ? (error as NodeJS.ErrnoException).path : undefined;
  return folder !== null && path !== undefined && !relative(folder, path).startsWith('..');
}
