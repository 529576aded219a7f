// The doctor on storage: the data folder, its disk, the file of keys, and whether the database
// opens.

import { constants, accessSync, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../../config/index.ts';
import type { Database } from '../../../models/index.ts';
import { sayError } from '../../kit/database/say-error.ts';
import { databaseFile, roomOf } from '../../kit/database/place.ts';
import { defaultEndpoint } from '../../domain/devices/settings.ts';
import { RESTORE_KEY } from '../keys/advice.ts';
import { missingKey } from '../keys/encryption-keys.ts';
import { failed, type Finding, ok, warning } from './finding.ts';
import { isOfEarlier } from '../setup/egress.ts';
import { rows } from './rows.ts';
import { endpoint } from './serving.ts';
import { shell } from './shell.ts';

const MIB = 1_048_576;
const GIB = 1_024 * MIB;
/** With less the next writes fail: the log of a SQLite file takes 4 MB until it is emptied. */
const ROOM_MIN = 16 * MIB;
/**
 * With less an upgrade may fail. It makes a backup first, 102 MB with 100,000 devices (README.md of
 * models/backup), and what it then moves is in the log of the database once more.
 */
const ROOM_ENOUGH = 256 * MIB;

/** Where to look. */
export interface Stored {
  readonly config: Config;
  readonly openDatabase: () => Promise<Database>;
  /** Bytes that are free where a folder is, null where nobody knows; replaced in tests. */
  readonly roomOf?: (folder: string) => number | null;
}

/** What was found, and whether a version before 1.1.0 has used the database. */
export interface StorageFound {
  readonly findings: readonly Finding[];
  readonly isOfEarlier: boolean;
}

/** Looks at the folder and its disk, at the keys' file, then at what the database holds. */
export async function storage(
  { config, openDatabase, roomOf: room = roomOf }: Stored,
  status: string | null,
): Promise<StorageFound> {
  const file = fileOf(config);
  const ofFolders = folders(config, room);
  const found = (...findings: Finding[]): StorageFound => ({
    findings: [...ofFolders, ...findings],
    isOfEarlier: false,
  });
  if (file !== null && !existsSync(file))
    return found(absent(file, status), endpoint(defaultEndpoint(config)));
  const missing = missingKey(config);
  if (missing !== null)
    return found(
      failed(
        'keys',
        `${missing.keyFile} is missing, so that nothing secret in ${missing.database} can be read`,
        RESTORE_KEY,
      ),
    );
  let opened: Database;
  try {
    opened = await openDatabase();
  } catch (error) {
    const fix = 'start the server, or correct the setting';
    return found(failed('database', sayError(error, config), fix));
  }
  try {
    const findings = await rows(opened, config, shell);
    // What kept the rows from being read is among the findings.
    const isEarlier = await isOfEarlier(opened).catch(() => false);
    return { ...found(...findings), isOfEarlier: isEarlier };
  } finally {
    await opened.close();
  }
}

/** A file that does not exist; `status` is what a gateway answers. */
function absent(file: string, status: string | null): Finding {
  const check = 'database';
  if (status === null) return ok(check, `${file} will be made at the first start`);
  if (status !== 'database_unavailable')
    return warning(
      check,
      `${file} does not exist, and the gateway that runs uses another file`,
      'run the doctor with the settings of that gateway (DATA_DIR, DATABASE_URL)',
    );
  return failed(
    check,
    `${file} is gone, and the gateway that runs takes no writes`,
    'put it back where it was; if it is lost, stop the gateway, restore a backup and start again',
  );
}

/** The file of a SQLite database, null with a server. */
function fileOf(config: Config): string | null {
  const set = databaseFile(config);
  return set === null ? null : resolve(set);
}

/** Whether what is kept in files can be written, and has room. */
export function folders(config: Config, room: typeof roomOf = roomOf): Finding[] {
  const file = fileOf(config);
  const named = [config.dataDir, ...(file === null ? [] : [dirname(file)])];
  const paths = [...new Set(named.map((path) => resolve(path)))];
  const byDisk = new Map(paths.map(nearestFolder).map((path) => [statSync(path).dev, path]));
  return [
    ...paths.map(folderFinding),
    ...[...byDisk.values()].flatMap((path) => roomFindings(path, room(path))),
  ];
}

function folderFinding(path: string): Finding {
  const check = 'data folder';
  const nearest = nearestFolder(path);
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
  } catch {
    return failed(
      check,
      `${nearest} cannot be written`,
      `chown it to the user that runs Postern: chown -R USER ${nearest}`,
    );
  }
  if (nearest === path && isOpenToOthers(statSync(path)))
    return warning(check, `${path} can be opened by other users`, `chmod 700 ${path}`);
  return ok(check, nearest === path ? path : `${path} will be made at the first start`);
}

/** Whether others than its owner and root can open a folder; whoever has the group 0 is root's. */
export function isOpenToOthers({ mode, gid }: { mode: number; gid: number }): boolean {
  return (mode & (gid === 0 ? 0o007 : 0o077)) !== 0;
}

function roomFindings(path: string, room: number | null): Finding[] {
  if (room === null) return [];
  const check = 'disk space';
  const free = room < GIB ? `${Math.floor(room / MIB)} MiB` : `${Math.floor(room / GIB)} GiB`;
  const fix = `free space on the disk of ${path}, or move what is there to a larger one`;
  const message = `${free} are free on the disk of ${path}`;
  if (room < ROOM_MIN) return [failed(check, `${message}: writes are about to fail`, fix)];
  if (room < ROOM_ENOUGH)
    return [warning(check, `${message}: an upgrade, which backs up first, may fail`, fix)];
  return [ok(check, message)];
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}
