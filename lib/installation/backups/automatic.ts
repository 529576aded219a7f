// Backups that Postern makes by itself: before a database is migrated, and before a restore
// replaces its content. They are beside a SQLite file, else in DATA_DIR; the oldest are deleted.

import { readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../../config/index.ts';
import { type Database, executedMigrations, writeBackup } from '../../../models/index.ts';
import { databaseFile } from '../../kit/database/place.ts';
import { messageOf } from '../../kit/process/message.ts';
import { writeNewFile } from './file.ts';
import { backupName, forgetParts, namesOf } from './names.ts';

/** Automatic backups that are kept. */
export const KEPT = 5;

/** Why one is made; its file's name begins so. */
export type Occasion = 'before-upgrade' | 'before-restore';

/** `before-upgrade-0006-20261121T085900.123Z.backup`. */
const NAMES = namesOf(String.raw`before-(?<of>(?:upgrade|restore)-\d{4})`);

/** A backup that was made before a change. */
export interface MadeBefore {
  readonly path: string;
  /**
   * Ids of the keys that restoring it needs. Whatever they are, it is made: before a rescue the
   * database may be under a key that is not known here, and nobody can tell that it is lost.
   */
  readonly keys: readonly string[];
}

/** Makes one, forgets old ones, and says where it is; throws when there cannot be one. */
export async function backUpBefore(
  occasion: Occasion,
  config: Config,
  database: Database,
): Promise<MadeBefore> {
  const file = databaseFile(config);
  const folder = file === null ? config.dataDir : dirname(file);
  const schema = (await executedMigrations(database)).at(-1)?.slice(0, 4) ?? '0000';
  const path = join(folder, backupName(`${occasion}-${schema}`, new Date()));
  let keys: readonly string[];
  try {
    forgetParts(folder, NAMES);
    ({ keys } = await writeNewFile(path, (out) => writeBackup(database, out)));
  } catch (error) {
    throw new Error(
      `the backup that comes first could not be made, so nothing was changed: ${messageOf(error)}`,
      { cause: error },
    );
  }
  forgetOld(folder);
  return { path, keys };
}

/**
 * Of several before an upgrade from one version, the first and the last are enough. A start that
 * fails in the middle of an upgrade, again and again, must not push out the one that leads back.
 */
function forgetOld(folder: string): void {
  const found = readdirSync(folder)
    .map((name) => ({ name, ...NAMES.whole.exec(name)?.groups }))
    .filter((one): one is { name: string; of: string; time: string } => 'time' in one)
    .toSorted((a, b) => (a.time < b.time ? 1 : -1));
  const isBetween = ({ of }: { of: string }, index: number): boolean => {
    const same = (one: { of: string }): boolean => of.startsWith('upgrade') && one.of === of;
    return found.slice(0, index).some(same) && found.slice(index + 1).some(same);
  };
  const kept = new Set(found.filter((one, i) => !isBetween(one, i)).slice(0, KEPT));
  for (const one of found) if (!kept.has(one)) rmSync(join(folder, one.name), { force: true });
}
