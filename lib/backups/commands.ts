// The commands `backup` and `restore`. The first looks at a database that may be in use and of an
// earlier schema; the second wants one that no gateway uses.

import { existsSync } from 'node:fs';
import type { Config } from '../../config/index.ts';
import {
  type Database,
  executedMigrations,
  refuseOtherKey,
  restoreBackup,
  writeBackup,
} from '../../models/index.ts';
import type { Command, CommandName } from '../cli.ts';
import type { Outcome } from '../commands.ts';
import { backUpBefore } from './automatic.ts';
import { writeNewFile } from './file.ts';

type Run = (config: Config, database: Database, command: Command) => Promise<Outcome>;

/** The commands. */
export const backupCommands: Partial<Record<CommandName, Run>> = { backup, restore };

/** Writes a backup of the database into a new file. */
async function backup(_config: Config, database: Database, { operand }: Command): Promise<Outcome> {
  const file = operand ?? '';
  // A stream that is cut short could not be told from a whole one by who reads it.
  if (file === '' || file === '-')
    throw new Error('a backup is written to a new file: name one, not "-"');
  // Sealed under another key than its values, it would open nowhere.
  if ((await executedMigrations(database)).length > 0) await refuseOtherKey(database);
  const made = await writeNewFile(file, (out) => writeBackup(database, out));
  const { users = 0, devices = 0, rules = 0 } = made.counts;
  return {
    text:
      `${file} holds ${made.rows} rows: ${users} users, ${devices} devices, ${rules} rules and ` +
      `what belongs to them.\nIts secrets open with encryption key ${made.key} alone, which is ` +
      'not in it: keep that key elsewhere.',
    data: { file, ...made },
  };
}

/** Puts a backup into the database. */
async function restore(
  config: Config,
  database: Database,
  { operand, options }: Command,
): Promise<Outcome> {
  const file = operand ?? '';
  if (!existsSync(file)) throw new Error(`there is no file ${file}`);
  let saved: string | null = null;
  const restored = await restoreBackup(database, file, {
    replace: options.replace,
    scratch: config.dataDir,
    beforeReplacing: async () => {
      saved = await backUpBefore('before-restore', config, database);
    },
  });
  const replaced = saved === null ? '' : `\nWhat it held before is in ${saved as string}.`;
  return {
    text: `The database holds the ${restored.rows} rows of ${file}, made at ${restored.made_at}.${replaced}`,
    data: { file, ...restored, replaced: saved },
  };
}
