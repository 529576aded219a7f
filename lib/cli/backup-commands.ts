// The commands `backup` and `restore`. `backup` reads a database that gateways may use and that may
// have an earlier schema; `restore` needs a database that no gateway uses.

import { statSync } from 'node:fs';
import type { Config } from '../../config/index.ts';
import {
  type BackedUp,
  type Database,
  executedMigrations,
  refuseOtherKey,
  restoreBackup,
  writeBackup,
} from '../../models/index.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Outcome } from './run.ts';
import { finishRotation, sayKeys, unknownKeys } from '../installation/keys/advice.ts';
import { backUpBefore, type MadeBefore } from '../installation/backups/automatic.ts';
import { backUpInto } from '../installation/backups/kept.ts';
import { writeNewFile } from '../installation/backups/file.ts';
import { UsageError } from '../kit/process/usage-error.ts';

type Run = (config: Config, database: Database, command: Command) => Promise<Outcome>;

/** The commands. */
export const backupCommands: Partial<Record<CommandName, Run>> = { backup, restore };

/** Writes a backup of the database into a new file. */
async function backup(
  config: Config,
  database: Database,
  { operand, options: { keep } }: Command,
): Promise<Outcome> {
  const file = operand ?? '';
  // A reader of a stream could not see that the end is missing.
  if (file === '' || file === '-')
    throw new UsageError('a backup is written to a new file: name one, not "-"');
  // The backup would be sealed with another key than its values, so nobody could open both.
  if ((await executedMigrations(database)).length > 0) await refuseOtherKey(database);
  if (keep !== undefined) return backupKept(config, database, { folder: file, keep });
  const made = await writeNewFile(file, (out) => writeBackup(database, out));
  return {
    text: sayMade(file, made, database),
    data: { file, ...made },
    ...noted(adviceOn(made.keys, config, database)),
  };
}

/** Makes a backup in a folder, reads it back, and deletes the oldest. */
async function backupKept(
  config: Config,
  database: Database,
  { folder, keep }: { folder: string; keep: number },
): Promise<Outcome> {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true)
    throw new UsageError(`--keep wants a folder that is there, and ${folder} is none: make it`);
  const { file, made, deleted, count } = await backUpInto(database, folder, keep);
  return {
    text:
      `${sayMade(file, made, database)}\nIt was read back. Backups in the folder: ${count}; ` +
      `older ones that were deleted: ${deleted.length}.`,
    data: { file, ...made, count, deleted },
    ...noted(adviceOn(made.keys, config, database)),
  };
}

function sayMade(file: string, made: BackedUp, database: Database): string {
  const { users = 0, devices = 0, rules = 0 } = made.counts;
  return (
    `${file} holds ${made.rows} rows: ${users} users, ${devices} devices, ${rules} rules and ` +
    `what belongs to them.\nIts secrets ${sayKeys(made.keys, database)}. Keys are not in ` +
    'it: keep them elsewhere.'
  );
}

/** What to say about a backup that needs more than one key; null if it needs only one. */
function adviceOn(keys: readonly string[], config: Config, database: Database): string | null {
  const unknown = unknownKeys(keys, database);
  if (unknown.length > 0)
    return (
      `Secrets are encrypted with a key that is not known here (${unknown.join(', ')}), and this ` +
      'backup cannot be restored without it. Set DATABASE_ENCRYPTION_KEY_OLD to that key; if it ' +
      `is lost, a rotation leaves these secrets as they are and names them (${finishRotation(config)}): ` +
      'set them anew. Then back up again.'
    );
  if (keys.length > 1)
    return (
      'Two encryption keys are in use, as in the middle of a rotation. Finish it ' +
      `(${finishRotation(config)}), then back up again: one key is enough then.`
    );
  return null;
}

function noted(note: string | null): Pick<Outcome, 'note'> {
  return note === null ? {} : { note };
}

/** Puts a backup into the database. */
async function restore(
  config: Config,
  database: Database,
  { operand, options }: Command,
): Promise<Outcome> {
  const file = operand ?? '';
  refuseUnreadable(file);
  const saved: MadeBefore[] = [];
  const restored = await restoreBackup(database, file, {
    replace: options.replace,
    scratch: config.dataDir,
    beforeReplacing: async () => {
      saved.push(await backUpBefore('before-restore', config, database));
    },
  });
  const [before] = saved;
  return {
    text:
      `The database holds the ${restored.rows} rows of ${file}, made at ${restored.made_at}.` +
      (before === undefined ? '' : `\n${sayReplaced(before, database)}`),
    data: {
      file,
      ...restored,
      replaced: before?.path ?? null,
      replaced_keys: before?.keys ?? null,
    },
    ...noted(adviceAfter(restored.keys, config, database)),
  };
}

function sayReplaced({ path, keys }: MadeBefore, database: Database): string {
  const place = `What it held before is in ${path}.`;
  return keys.length === 1 ? place : `${place} Its secrets ${sayKeys(keys, database)}.`;
}

/** What to say about further keys of a backup; the key check knows only the key of one value. */
function adviceAfter(
  keys: readonly string[],
  config: Config,
  { keyring }: Database,
): string | null {
  const others = keys.filter((key) => key !== keyring.keyId);
  if (others.length === 0) return null;
  return (
    `Its secrets need encryption key ${others.join(', ')} besides the present one, ` +
    `${keyring.keyId}: keep both until a rotation has run (${finishRotation(config)}).`
  );
}

/** Refuses a file that cannot be read twice: first it is checked, then its rows are taken. */
function refuseUnreadable(file: string): void {
  if (file === '-')
    throw new UsageError('a backup is read twice, so it comes from a file: name one, not "-"');
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new Error(`there is no file ${file}`);
  if (found.isDirectory()) throw new Error(`${file} is a folder; name the file of a backup`);
  if (!found.isFile())
    throw new Error(`${file} is no file that can be read twice; name the file of a backup`);
}
