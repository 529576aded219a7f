// The command `database compact`: it rewrites a SQLite file without its free pages; the file
// shrinks by itself from then on. A file that 1.0.0 made cannot shrink before.

import { dirname } from 'node:path';
import { compactFile, type Database, readFileSpace, watchGateways } from '../../models/index.ts';
import { roomOf } from '../kit/database/place.ts';
import type { CommandName } from './grammar.ts';
import type { Outcome, Run } from './run.ts';

const MIB = 1_048_576;
/** What both copies need besides what the file holds: their own tables, and other writers' log. */
const ROOM_BESIDES = 16 * MIB;

/** The commands. */
export const databaseCommands: Partial<Record<CommandName, Run>> = {
  'database compact': ({ database }) => compact(database),
};

/** What tests replace. */
export interface Surroundings {
  /** Bytes that are free on the disk of a folder, null where nobody knows. */
  readonly room?: typeof roomOf;
  /** How long to look whether a gateway runs. */
  readonly watchMs?: number;
}

/** Rewrites the file, if no gateway runs and the disk has room. */
export async function compact(
  database: Database,
  { room = roomOf, watchMs }: Surroundings = {},
): Promise<Outcome> {
  const space = await readFileSpace(database);
  if (space === null)
    throw new Error(
      'the database is on a server, and this is for SQLite files: MySQL and MariaDB use free space ' +
        'again by themselves; where a table should give it back to the disk, run OPTIMIZE TABLE ' +
        'there, for example OPTIMIZE TABLE audit_entries',
    );
  const assertUnused = await watchGateways(database, watchMs);
  const folder = dirname(space.path);
  const needed = 2 * (space.bytes - space.freeBytes) + ROOM_BESIDES;
  const free = room(folder);
  if (free !== null && free < needed)
    throw new Error(
      `${inMebibytes(free)} are free on the disk of ${folder}, and ${inMebibytes(needed)} are ` +
        'needed for twice what the file holds, so nothing was changed; free space there first',
    );
  await assertUnused();
  const { path, bytesBefore, bytesAfter, isLogKept } = await compactFile(database);
  return {
    text:
      `${path} takes ${inMebibytes(bytesAfter)}; before it took ${inMebibytes(bytesBefore)}. ` +
      'From now on it shrinks by itself while a gateway runs.',
    data: { file: path, bytes_before: bytesBefore, bytes_after: bytesAfter },
    ...(isLogKept
      ? {
          note: `Another program reads what ${path}-wal holds: the disk has that space back when it has closed the file.`,
        }
      : {}),
  };
}

function inMebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
