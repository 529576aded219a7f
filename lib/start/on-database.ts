// Runs commands that work on the database: opens log and database, then serves or runs the command.

import { existsSync } from 'node:fs';
import process from 'node:process';
import type { Worker } from 'node:worker_threads';
import type { Config } from '../../config/index.ts';
import { loadGateway } from '../../dataplane/index.ts';
import {
  COMMAND_LINE,
  connectDatabase,
  type Database,
  GATEWAY,
  migrate,
  pendingMigrations,
} from '../../models/index.ts';
import { backUpBefore } from '../installation/backups/automatic.ts';
import type { PerformsOperations } from '../cli/gateway-here.ts';
import type { CommandName } from '../cli/grammar.ts';
import type { Command } from '../cli/run.ts';
import { whereWritten } from '../cli/where-written.ts';
import { databaseTls } from '../kit/database/tls.ts';
import { sayError } from '../kit/database/say-error.ts';
import { defaultDatabaseFile, missingDatabase, setAsService } from '../kit/database/place.ts';
import { waitForOlder } from '../installation/setup/beside-older.ts';
import { gatewayIdentity, prepareDataDir } from '../installation/setup/first-start.ts';
import { lockDataDir } from '../installation/setup/only-gateway.ts';
import { finishRotation, unknownKeys } from '../installation/keys/advice.ts';
import { type EncryptionKeys, encryptionKeys } from '../installation/keys/encryption-keys.ts';
import { localSocketPath } from '../kit/process/local-socket-path.ts';
import { createLog, type Log } from '../kit/process/log.ts';
import { complain, complainOf, EXIT_FAILED, remark, show } from './print.ts';

/** How long a command waits for an answer of the database server. */
const COMMAND_SILENCE_MS = 300_000;

/** Commands that make a SQLite database where none is; what sets its place is wrong for others. */
const MAKE_DATABASE: ReadonlySet<CommandName> = new Set([
  'migrate',
  'restore',
  'import wg-easy',
  'import wg-quick',
  'import firezone',
  'admin create-or-reset',
]);

/** A command with good settings. */
interface Asked {
  readonly command: Command;
  readonly config: Config;
  readonly warnings: readonly string[];
  /** Advice for a gateway that serves. */
  readonly advice: readonly string[];
  /** The workers of a gateway, which are starting already; none for a command that needs none. */
  readonly workers: readonly Worker[];
}

/** Obeys a command that works on the database; resolves to the exit code. */
export async function obeyOnDatabase(asked: Asked): Promise<number> {
  const { command, config, warnings, advice } = asked;
  const isServing = command.words === 'serve';
  const log = createLog(config, isServing ? process.stdout : process.stderr);
  for (const warning of [...warnings, ...(isServing ? advice : [])]) log.warn({}, warning);
  const wrong = isServing ? null : withoutDatabase(command, config);
  if (wrong !== null) return complain(wrong);
  // The data plane is loaded while the database is waited for; an error is reported where it
  // starts.
  if (isServing) loadGateway().catch(() => undefined);
  try {
    prepareDataDir(config);
    const lock = isServing ? await lockDataDir(config, log) : null;
    try {
      return await obeyInDataDir(asked, log);
    } finally {
      lock?.release();
    }
  } catch (error) {
    log.debug({ err: error }, 'failed');
    const said = sayError(error, config);
    return complainOf(error, isServing ? await orRunsAlready(said, config) : said);
  }
}

async function obeyInDataDir(
  { command, config, warnings, workers }: Asked,
  log: Log,
): Promise<number> {
  const isServing = command.words === 'serve';
  // It is loaded before the database is waited for, so that a signal finds its handlers soon.
  const serving = isServing ? await import('./serve-until-stopped.ts') : null;
  const keys = encryptionKeys(config);
  if (keys.isUnfinished) log.warn({}, `a key rotation was not finished; ${finishRotation(config)}`);
  const database = await openDatabase(config, keys, log, isServing);
  try {
    const gateway = serving === null ? await gatewayFor(command, config, database) : null;
    // A backup may be made of an earlier schema; a restore migrates itself, with any key.
    const upgrading = { config, database, log, isServing };
    if (command.words === 'restore') await upgrade({ ...upgrading, checksKey: false });
    else if (command.words === 'backup') await pendingMigrations(database);
    else await upgrade({ ...upgrading, checksKey: true });
    if (serving === null) return await run(command, { config, database, log, gateway });
    return await serving.serveUntilStopped({ config, database, log, warnings, workers });
  } finally {
    await database.close();
  }
}

/** The gateway that performs the operations of a command; it is asked before a migration. */
async function gatewayFor(
  { words }: Command,
  config: Config,
  database: Database,
): Promise<PerformsOperations | null> {
  const writes = whereWritten(words);
  if (writes === null || !existsSync(localSocketPath(config))) return null;
  const { gatewayHere } = await import('../cli/gateway-here.ts');
  return gatewayHere({ writes, config, database });
}

/** Why a command cannot work where no database is; null: it is there, or it is to be made. */
function withoutDatabase({ words }: Command, config: Config): string | null {
  const missing = missingDatabase(config);
  if (missing === null) return null;
  const { place, setting } = missing;
  const service = setting === 'DATA_DIR' ? setAsService(config) : null;
  const how = service ?? `set ${setting} as the gateway has it`;
  if (!MAKE_DATABASE.has(words))
    return `there is no database ${place}; ${how}, or start the gateway, which makes one`;
  remark(`a database is made ${place}; if the gateway has another one: ${how}`);
  return null;
}

/** Opens the database for the doctor, who may find that it cannot be opened. */
export function opener(config: Config): () => Promise<Database> {
  const log = createLog(config, process.stderr);
  return () => openDatabase(config, encryptionKeys(config), log, false);
}

/** Says it if the port is taken by a gateway with the same settings; else repeats the error. */
async function orRunsAlready(said: string, config: Config): Promise<string> {
  if (!said.includes(' is taken')) return said;
  const { runsAlready } = await import('../installation/doctor/listening.ts');
  return (await runsAlready(config)) ?? said;
}

interface Upgrading {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  readonly isServing: boolean;
  readonly checksKey: boolean;
}

/** Brings the database up to date; a database with rows is backed up before. */
async function upgrade({ config, database, log, isServing, checksKey }: Upgrading): Promise<void> {
  await migrate(database, {
    checksKey,
    beforeUpgrade: async () => {
      await waitForOlder(database, {
        isStart: isServing,
        gatewayId: isServing ? gatewayIdentity(config).id : null,
        isAllowed: config.migrateBesideOlder,
        log,
      });
      const { path: backup, keys } = await backUpBefore('before-upgrade', config, database);
      log.info({ backup, keys }, 'the database was backed up before it is migrated');
      const unknown = unknownKeys(keys, database);
      if (unknown.length > 0)
        log.warn({ backup, keys: unknown }, 'that backup needs keys that are not known here');
    },
  });
}

const NOT_OBEYED_YET =
  'Saved. One gateway has not applied it yet; it will once it runs and reaches the database.';

/** What a command works with. */
interface Ready {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  readonly gateway: PerformsOperations | null;
}

async function run(command: Command, { config, database, log, gateway }: Ready): Promise<number> {
  const { outcomeOf } = await import('../cli/outcome.ts');
  const { untilObeyed } = await import('../cli/obeyed.ts');
  const open = (keys: EncryptionKeys) => openDatabase(config, keys, log, false);
  const obeyed = () => outcomeOf(command, { config, database, open, log, gateway });
  if (command.options.watch) return (await import('./watch.ts')).watch(obeyed, command.options);
  const { outcome, isObeyed } = await untilObeyed(database, obeyed);
  await show(outcome, command.options);
  if (outcome.note !== undefined) remark(outcome.note);
  if (!isObeyed) remark(NOT_OBEYED_YET);
  return outcome.isBad === true ? EXIT_FAILED : 0;
}

function openDatabase(
  config: Config,
  keys: EncryptionKeys,
  log: Log,
  isServing: boolean,
): Promise<Database> {
  const server =
    config.databaseHost === null
      ? { url: config.databaseUrl ?? `sqlite:${defaultDatabaseFile(config)}` }
      : {
          host: config.databaseHost,
          port: config.databasePort,
          name: config.databaseName,
          user: config.databaseUser,
          password: config.databasePassword,
        };
  return connectDatabase({
    ...server,
    tls: databaseTls(config),
    poolSize: config.databasePoolSize,
    encryptionKey: keys.key,
    olderEncryptionKeys: keys.older,
    // One statement of a command may delete or insert a hundred thousand rows.
    ...(isServing ? {} : { silenceMs: COMMAND_SILENCE_MS }),
    log,
    origin: isServing ? GATEWAY : COMMAND_LINE,
  });
}
