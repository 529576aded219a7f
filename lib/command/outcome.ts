// What each command of the command line comes to that works on the database. A command loads its
// own file alone.

import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import type { Config } from '../../config/index.ts';
import type { Database } from '../../models/index.ts';
import { fixedIfAny } from '../configuration/fixed-if-any.ts';
import { servedConfig } from '../installation/running-gateway.ts';
import type { CommandName } from './grammar.ts';
import type { Rotation } from './key-commands.ts';
import type { Command, Outcome, Run } from './run.ts';
import { textOfBytes } from './text-file.ts';

/** A command that reads settings itself. */
type RunWithSettings = (
  config: Config,
  database: Database,
  command: Command,
  readStdin: () => Promise<string>,
) => Promise<Outcome>;

/** The commands of a file. */
type Commands<Obey> = () => Promise<Partial<Record<CommandName, Obey>>>;

const devices: Commands<RunWithSettings> = async () =>
  (await import('./device-commands.ts')).deviceCommands;
const rules: Commands<RunWithSettings> = async () =>
  (await import('./rule-commands.ts')).ruleCommands;
const groups: Commands<RunWithSettings> = async () =>
  (await import('./group-commands.ts')).groupCommands;
const policyTests: Commands<RunWithSettings> = async () =>
  (await import('./policy-test-commands.ts')).policyTestCommands;
const configuration: Commands<RunWithSettings> = async () =>
  (await import('./configuration-commands.ts')).configurationCommands;
const backups: Commands<RunWithSettings> = async () =>
  (await import('./backup-commands.ts')).backupCommands;
const imports: Commands<RunWithSettings> = async () =>
  (await import('./import-commands.ts')).importCommands;
const enrolment: Commands<RunWithSettings> = async () =>
  (await import('./enrolment-commands.ts')).enrolmentCommands;

/** Where commands are that read settings themselves. */
const withSettings: Partial<Record<CommandName, Commands<RunWithSettings>>> = {
  'device create': devices,
  'device list': devices,
  'device config': devices,
  'device route': devices,
  'rule list': rules,
  'rule create': rules,
  'rule update': rules,
  'rule enable': rules,
  'rule disable': rules,
  'rule delete': rules,
  'group list': groups,
  'group create': groups,
  'group update': groups,
  'group delete': groups,
  'group members': groups,
  'group add': groups,
  'group remove': groups,
  'policy-test list': policyTests,
  'policy-test create': policyTests,
  'policy-test delete': policyTests,
  'policy-test run': policyTests,
  'configuration show': configuration,
  'configuration set': configuration,
  backup: backups,
  restore: backups,
  'import wg-quick': imports,
  'import wg-easy': imports,
  'import firezone': imports,
  'user enrol': enrolment,
};

const general: Commands<Run> = async () => (await import('./commands.ts')).databaseCommands;
const records: Commands<Run> = async () => (await import('./record-commands.ts')).recordCommands;
const gateways: Commands<Run> = async () => (await import('./gateway-commands.ts')).gatewayCommands;
const limits: Commands<Run> = async () => (await import('./limit-commands.ts')).limitCommands;
const providers: Commands<Run> = async () =>
  (await import('./provider-commands.ts')).providerCommands;
const database: Commands<Run> = async () =>
  (await import('./database-commands.ts')).databaseCommands;
const metadata: Commands<Run> = async () =>
  (await import('./metadata-commands.ts')).metadataCommands;

/** Where the others are. */
const ofDatabase: Partial<Record<CommandName, Commands<Run>>> = {
  'admin create-or-reset': general,
  'user enable': general,
  'user disable': general,
  'device enable': general,
  'device disable': general,
  'device expire': general,
  'user reset-mfa': general,
  'user unlock': general,
  'token create': general,
  'token list': general,
  'token revoke': general,
  'audit list': general,
  'user create': records,
  'user list': records,
  'user set-password': records,
  'user set-role': records,
  'user delete': records,
  'device delete': records,
  'gateway list': gateways,
  'device limit': limits,
  'user limit': limits,
  'provider list': providers,
  'provider trust': providers,
  'provider distrust': providers,
  'provider relink': providers,
  'provider show': metadata,
  'provider refresh': metadata,
  'provider drop-certificate': metadata,
  'database compact': database,
};

/** Obeys a command on an open database. */
export async function outcomeOf(command: Command, rotation: Rotation): Promise<Outcome> {
  const { words } = command;
  const { config, database } = rotation;
  // The database is migrated before any command.
  if (words === 'migrate') return { text: 'The database is up to date.', data: { migrated: true } };
  if (words === 'keys rotate')
    return (await import('./key-commands.ts')).rotateKeys(rotation, command);
  const readStdin = async (): Promise<string> =>
    textOfBytes(await buffer(process.stdin), 'standard input');
  const settled = (await withSettings[words]?.())?.[words];
  if (settled !== undefined) return settled(config, database, command, readStdin);
  const run = (await ofDatabase[words]?.())?.[words];
  if (run === undefined) throw new Error(`nothing obeys "${words}"`);
  const fixed = await fixedIfAny(await servedConfig(config, database));
  return run(database, command, readStdin, fixed);
}
