// The message for a person if a command, the start or a request cannot use the database: what is
// wrong, and which setting or file to look at.

import { dirname, relative, resolve } from 'node:path';
import type { Config } from '../../../config/index.ts';
import {
  describeDatabaseError,
  isDatabaseAway,
  isDatabaseDamaged,
  isDatabaseFull,
  isDatabaseReadOnly,
} from '../../../models/index.ts';
import { commandLine } from '../process/command-line.ts';
import { databaseFile, roomOf } from './place.ts';
import { messageOf } from '../process/message.ts';

/** The message of an error; if it is about the database, with the fix. */
export function sayError(error: unknown, config: Config, room = roomOf): string {
  const message = messageOf(error);
  const fix = fixOf(error, config, room);
  return fix === null ? message : `${fix.what} (${message}); ${fix.advice}`;
}

/** What is wrong with the database, and what to do about it. */
export interface Fix {
  readonly what: string;
  readonly advice: string;
}

/** Finds the fix of an error; null if it is not about the database. */
export function fixOf(error: unknown, config: Config, room = roomOf): Fix | null {
  const { setting, disk, file, folder } = databasePlace(config);
  if (isDatabaseDamaged(error))
    return {
      what: 'the database is damaged, or the file is not a database',
      advice:
        `stop the gateway, move ${file} away with its -wal and -shm, keep the encryption key and ` +
        `restore a backup: ${commandLine('restore FILE')}; its place is set by ${setting}`,
    };
  if (isDatabaseFull(error) || (isDatabaseAway(error) && isWithoutRoom(folder, room)))
    return { what: 'no space is left', advice: `free space on ${disk}` };
  if (isDatabaseReadOnly(error))
    return {
      what: 'the database is read-only',
      advice: `it is a replica, or no longer the primary: name the primary in ${setting}, or switch read_only off there`,
    };
  const cause = refusedFile(file, error);
  if (file !== null && cause !== null)
    return {
      what: 'the file of the database cannot be written',
      advice:
        cause === 'EROFS'
          ? `its disk is mounted read-only: mount it for writing, mount -o remount,rw; its place is set by ${setting}`
          : `make the user that runs Postern its owner, and look for what else prevents writing: chown USER ${file}; its place is set by ${setting}`,
    };
  if (isDatabaseAway(error) || isAboutFileIn(folder, error))
    return { what: 'the database cannot be used', advice: `look at ${setting}` };
  return null;
}

/** The space that SQLite needs to open a file. With less, it only says that a disk failed. */
const OPENING_BYTES = 65_536;

function isWithoutRoom(folder: string | null, room: typeof roomOf): boolean {
  const bytes = folder === null ? null : room(folder);
  return bytes !== null && bytes < OPENING_BYTES;
}

interface Place {
  /** The settings that say where the database is. */
  readonly setting: string;
  /** The disk that needs space. */
  readonly disk: string;
  /** A SQLite file, and its folder. */
  readonly file: string | null;
  readonly folder: string | null;
}

function databasePlace(config: Config): Place {
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

/** The code of the system or of SQLite if a SQLite file may not be written; else null. */
function refusedFile(file: string | null, error: unknown): string | null {
  const { code = '', path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (path !== undefined && path === file && ['EROFS', 'EACCES', 'EPERM'].includes(code))
    return code;
  const said = describeDatabaseError(error)?.code ?? '';
  return said.startsWith('SQLITE_READONLY') ? said : null;
}

/** True if the system refused this folder or something inside it. */
function isAboutFileIn(folder: string | null, error: unknown): boolean {
  const path = error instanceof Error ? (error as NodeJS.ErrnoException).path : undefined;
  return folder !== null && path !== undefined && !relative(folder, path).startsWith('..');
}
