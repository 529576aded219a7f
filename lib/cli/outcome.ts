// Runs each command of the command line that works on the database. A command loads its own file
// alone.

import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import type { Config } from '../../config/index.ts';
import type { Database } from '../../models/index.ts';
import type { PerformsOperations } from './gateway-here.ts';
import type { CommandName } from './grammar.ts';
import type { Rotation } from './key-commands.ts';
import type { CommandRooms } from './rooms.ts';
import { rowOf } from './rows.ts';
import type { Command, Outcome, Run } from './run.ts';
import { textOfBytes } from './text-file.ts';

/** A command of backups or imports. */
type RunWithSettings = (
  config: Config,
  database: Database,
  command: Command,
  readStdin: () => Promise<string>,
) => Promise<Outcome>;

/** The commands of a file. */
type Commands<Obey> = () => Promise<Partial<Record<CommandName, Obey>>>;

const backups: Commands<RunWithSettings> = async () =>
  (await import('./backup-commands.ts')).backupCommands;
const imports: Commands<RunWithSettings> = async () =>
  (await import('./import-commands.ts')).importCommands;

/** Where commands are that make no use of the rooms. */
const withSettings: Partial<Record<CommandName, Commands<RunWithSettings>>> = {
  backup: backups,
  restore: backups,
  'import wg-quick': imports,
  'import wg-easy': imports,
  'import firezone': imports,
};

const general: Commands<Run> = async () => (await import('./commands.ts')).databaseCommands;
const devices: Commands<Run> = async () => (await import('./device-commands.ts')).deviceCommands;
const deviceLists: Commands<Run> = async () =>
  (await import('./device-list.ts')).deviceListCommands;
const users: Commands<Run> = async () => (await import('./record-commands.ts')).recordCommands;
const rules: Commands<Run> = async () => (await import('./rule-commands.ts')).ruleCommands;
const groups: Commands<Run> = async () => (await import('./group-commands.ts')).groupCommands;
const policyTests: Commands<Run> = async () =>
  (await import('./policy-test-commands.ts')).policyTestCommands;
const configuration: Commands<Run> = async () =>
  (await import('./configuration-commands.ts')).configurationCommands;
const enrolment: Commands<Run> = async () =>
  (await import('./enrolment-commands.ts')).enrolmentCommands;
const gateways: Commands<Run> = async () => (await import('./gateway-commands.ts')).gatewayCommands;
const statuses: Commands<Run> = async () => (await import('./status-command.ts')).statusCommands;
const providers: Commands<Run> = async () =>
  (await import('./provider-commands.ts')).providerCommands;
const metadata: Commands<Run> = async () =>
  (await import('./metadata-commands.ts')).metadataCommands;
const database: Commands<Run> = async () =>
  (await import('./database-commands.ts')).databaseCommands;

/** Where the others are that are no rows (rows.ts). */
const others: Partial<Record<CommandName, Commands<Run>>> = {
  'admin create-or-reset': general,
  'token create': general,
  'token list': general,
  'audit list': general,
  'user create': users,
  'user list': users,
  'user set-password': users,
  'user enrol': enrolment,
  'device create': devices,
  'device list': deviceLists,
  'device config': devices,
  'rule list': rules,
  'group list': groups,
  'group members': groups,
  'policy-test list': policyTests,
  'policy-test run': policyTests,
  'configuration show': configuration,
  'configuration set': configuration,
  'provider list': providers,
  'provider trust': providers,
  'provider distrust': providers,
  'provider relink': providers,
  'provider show': metadata,
  'provider refresh': metadata,
  'provider drop-certificate': metadata,
  'gateway list': gateways,
  status: statuses,
  'database compact': database,
};

/** What a command works with that works on an open database. */
interface Opened extends Rotation {
  /** Left out: none performs its operations. */
  readonly gateway?: PerformsOperations | null;
}

/** Obeys a command on an open database. */
export async function outcomeOf(
  command: Command,
  { gateway = null, ...rotation }: Opened,
  readStdin = standardInput,
): Promise<Outcome> {
  const { words } = command;
  const { config, database } = rotation;
  // The database is migrated before any command.
  if (words === 'migrate') return { text: 'The database is up to date.', data: { migrated: true } };
  if (words === 'keys rotate')
    return (await import('./key-commands.ts')).rotateKeys(rotation, command);
  const settled = (await withSettings[words]?.())?.[words];
  if (settled !== undefined) return settled(config, database, command, readStdin);
  const run = (await others[words]?.())?.[words] ?? (await performing(words));
  let made: Promise<CommandRooms> | undefined;
  const rooms = () => (made ??= roomsFor(config, database));
  return run({ config, database, readStdin, rooms, gateway }, command);
}

/** The command of a row. */
async function performing(words: CommandName): Promise<Run> {
  const row = await rowOf(words);
  if (row === null) throw new Error(`nothing obeys "${words}"`);
  return (await import('./perform.ts')).performs(row);
}

async function roomsFor(config: Config, database: Database): Promise<CommandRooms> {
  const { CommandRooms: Rooms } = await import('./rooms.ts');
  return new Rooms(config, database);
}

async function standardInput(): Promise<string> {
  return textOfBytes(await buffer(process.stdin), 'standard input');
}
