// What a person is told when a command, the start or a request cannot use the database: what is
// wrong, and which setting or file to look at.

import { dirname, relative, resolve } from 'node:path';
import type { Config } from '../../config/index.ts';
import {
  describeDatabaseError,
  isDatabaseAway,
  isDatabaseDamaged,
  isDatabaseFull,
  isDatabaseReadOnly,
} from '../../models/index.ts';
import { commandLine } from '../process/command-line.ts';
import { databaseFile, roomOf } from './place.ts';
import { messageOf } from '../process/log.ts';

/** The message of any error; where it is about the database, with the fix. */
export function sayFault(error: unknown, config: Config, room = roomOf): string {
  const message = messageOf(error);
  const fix = fixOf(error, config, room);
  return fix === null ? message : `${fix.what} (${message}); ${fix.advice}`;
}

/** What is wrong with the database, and what to do about it. */
export interface Fix {
  readonly what: string;
  readonly advice: string;
}

/** Finds the fix of an error; null when it is not about the database. */
export function fixOf(error: unknown, config: Config, room = roomOf): Fix | null {
  const { setting, disk, file, folder } = placeOf(config);
  if (isDatabaseDamaged(error))
    return {
      what: 'the database is damaged, or is none',
      advice:
        `stop the gateway, move ${file} away with its -wal and -shm, keep the encryption key and ` +
        `restore a backup: ${commandLine('restore FILE')}; its place is that of ${setting}`,
    };
  if (isDatabaseFull(error) || (isDatabaseAway(error) && isWithoutRoom(folder, room)))
    return { what: 'no room is left', advice: `free space on ${disk}` };
  if (isDatabaseReadOnly(error))
    return {
      what: 'the database is read-only',
      advice: `it is a replica, or no primary any more: name the primary in ${setting}, or end read_only there`,
    };
  const cause = refusedFile(file, error);
  if (file !== null && cause !== null)
    return {
      what: 'the file of the database cannot be written',
      advice:
        cause === 'EROFS'
          ? `its disk is mounted read-only: mount it for writing, mount -o remount,rw; its place is that of ${setting}`
          : `give it to the user that runs Postern, and let nothing keep it from being written: chown USER ${file}; its place is that of ${setting}`,
    };
  if (isDatabaseAway(error) || isAboutFileIn(folder, error))
    return { what: 'the database cannot be used', advice: `look at ${setting}` };
  return null;
}

/** What SQLite needs to open a file: without it, all that it says is that a disk failed. */
const OPENING_BYTES = 65_536;

function isWithoutRoom(folder: string | null, room: typeof roomOf): boolean {
  const bytes = folder === null ? null : room(folder);
  return bytes !== null && bytes < OPENING_BYTES;
}

interface Place {
  /** The settings that say where the database is. */
  readonly setting: string;
  /** Where room is needed. */
  readonly disk: string;
  /** A SQLite file, and its folder. */
  readonly file: string | null;
  readonly folder: string | null;
}

function placeOf(config: Config): Place {
  const set = databaseFile(config);
  const file = set === null ? null : resolve(set);
  return { ...settingOf(config), file, folder: file === null ? null : dirname(file) };
}

function settingOf(config: Config): Pick<Place, 'setting' | 'disk'> {
  const { databaseHost, databasePort, databaseUrl, dataDir } = config;
  if (databaseHost !== null)
    return {
      setting: `DATABASE_HOST (${databaseHost}), DATABASE_PORT (${databasePort}), DATABASE_NAME, DATABASE_USER and DATABASE_PASSWORD`,
      disk: `the disk of the database server, DATABASE_HOST (${databaseHost})`,
    };
  if (databaseUrl === null)
    return {
      setting: `DATA_DIR (${dataDir})`,
      disk: `the disk of DATA_DIR (${dataDir})`,
    };
  // The URL holds a password; a file's path does not.
  const path = /^sqlite:(.*)/.exec(databaseUrl)?.[1];
  const name = path ?? new URL(databaseUrl).host;
  return {
    setting: `DATABASE_URL (${name})`,
    disk: `the disk of ${path === undefined ? 'the database server, ' : ''}DATABASE_URL (${name})`,
  };
}

/** Why a SQLite file may not be written: the code of the system or of SQLite; null otherwise. */
function refusedFile(file: string | null, error: unknown): string | null {
  const { code = '', path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (path !== undefined && path === file && ['EROFS', 'EACCES', 'EPERM'].includes(code))
    return code;
  const said = describeDatabaseError(error)?.code ?? '';
  return said.startsWith('SQLITE_READONLY') ? said : null;
}

/** True when the system refused something in this folder, or the folder itself. */
function isAboutFileIn(folder: string | null, error: unknown): boolean {
  const path = error instanceof Error ? (error as NodeJS.ErrnoException).path : undefined;
  return folder !== null && path !== undefined && !relative(folder, path).startsWith('..');
}
