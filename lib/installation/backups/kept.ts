// Backups that are made again and again, each night say: each is read back before it counts, then
// the oldest are deleted, and gateways learn when the last one was made.

import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  type BackedUp,
  type Database,
  pendingMigrations,
  readBack,
  recordBackup,
  writeBackup,
} from '../../../models/index.ts';
import { writeNewFile } from './file.ts';
import { backupName, forgetParts, namesOf } from './names.ts';

/** `postern-20261130T021500.123Z.backup`. */
const BEGINNING = 'postern';
const NAMES = namesOf(BEGINNING);

/** A backup that was read back. */
export interface Kept {
  readonly file: string;
  readonly made: BackedUp;
  /** Older ones that were deleted. */
  readonly deleted: readonly string[];
  /** How many there are now. */
  readonly count: number;
}

/** Makes a backup in a folder, reads it back, and leaves the last `keep` there. */
export async function backUpInto(database: Database, folder: string, keep: number): Promise<Kept> {
  forgetParts(folder, NAMES);
  const now = new Date();
  const file = join(folder, backupName(BEGINNING, now));
  const made = await writeNewFile(file, (out) => writeBackup(database, out));
  try {
    await readBack(file, database.keyring);
  } catch (error) {
    // Whoever looks for the last backup must not find one that is none.
    rmSync(file, { force: true });
    throw error;
  }
  const found = readdirSync(folder).filter((name) => NAMES.whole.test(name));
  // Names are times, and a clock that was ahead left names that are later than this one.
  const others = found
    .filter((name) => name !== basename(file))
    .toSorted()
    .toReversed();
  const old = others.slice(keep - 1);
  for (const name of old) rmSync(join(folder, name), { force: true });
  // A schema of an earlier version has no place for it.
  if ((await pendingMigrations(database)).length === 0) await recordBackup(database, now);
  return { file, made, deleted: old.toSorted(), count: found.length - old.length };
}
