// What each command of the command line comes to, but for those that need no database and the one
// that serves, which loads none of these.

import process from 'node:process';
import { text } from 'node:stream/consumers';
import { fixedSettingsOf } from '../configuration/fixed-settings.ts';
import { backupCommands } from './backup-commands.ts';
import { configurationCommands } from './configuration-commands.ts';
import { databaseCommands } from './commands.ts';
import type { Command, Outcome } from './run.ts';
import { deviceCommands } from './device-commands.ts';
import { enrolmentCommands } from './enrolment-commands.ts';
import { groupCommands } from './group-commands.ts';
import { importCommands } from './import-commands.ts';
import { policyTestCommands } from './policy-test-commands.ts';
import { ruleCommands } from './rule-commands.ts';
import { type Rotation, rotateKeys } from './key-commands.ts';
import { servedConfig } from '../installation/running-gateway.ts';

/** Obeys a command on an open database. */
export async function outcomeOf(command: Command, rotation: Rotation): Promise<Outcome> {
  if (command.words === 'keys rotate') return rotateKeys(rotation, command);
  const { config, database } = rotation;
  const readStdin = (): Promise<string> => text(process.stdin);
  const withSettings =
    deviceCommands[command.words] ??
    ruleCommands[command.words] ??
    groupCommands[command.words] ??
    policyTestCommands[command.words] ??
    configurationCommands[command.words] ??
    backupCommands[command.words] ??
    importCommands[command.words] ??
    enrolmentCommands[command.words];
  if (withSettings !== undefined) return withSettings(config, database, command, readStdin);
  const ofDatabase = databaseCommands[command.words];
  if (ofDatabase === undefined) throw new Error(`nothing obeys "${command.words}"`);
  const fixed = fixedSettingsOf(await servedConfig(config, database));
  return ofDatabase(database, command, readStdin, fixed);
}
