// The composition root: opens log and database, then runs the command.

import process from 'node:process';
import { type Config, describeConfig, type readConfig, readSupervisor } from '../config/index.ts';
import { createGateway, notify, type startWorker } from '../dataplane/index.ts';
import {
  COMMAND_LINE,
  connectDatabase,
  type Database,
  GATEWAY,
  migrate,
  pendingMigrations,
} from '../models/index.ts';
import { readFixedSettings } from './configuration/fixed-settings.ts';
import { backUpBefore } from './backups/automatic.ts';
import type { Command, Outcome } from './command/run.ts';
import { databaseTls } from './database/tls.ts';
import { sayFault } from './database/fault.ts';
import { defaultDatabaseFile } from './database/place.ts';
import { prepareDataDir } from './installation/first-start.ts';
import { finishRotation, unknownKeys } from './keys/advice.ts';
import { type EncryptionKeys, encryptionKeys } from './keys/encryption-keys.ts';
import { createLog, type Log } from './process/log.ts';
import { messageOf } from './process/message.ts';
import { type Instead, type Running, serve } from './serve.ts';
import { Reports } from './process/supervisor.ts';

const EXIT_FAILED = 1;
/** After this time a stop is ended by force. */
const STOP_MS = 4_800;
/** The time in which the log is still written before the process is killed. */
const LAST_WORDS_MS = 50;
/** How long a command waits for an answer of the database server. */
const COMMAND_SILENCE_MS = 300_000;

/** A command that was typed, what the settings say of it, and the worker that already starts. */
export interface Asked {
  readonly command: Command;
  readonly settings: ReturnType<typeof readConfig>;
  /** Null: the command needs none. */
  readonly worker: ReturnType<typeof startWorker> | null;
}

/** Obeys a command; resolves to the exit code. */
export async function obey({ command, settings, worker }: Asked): Promise<number> {
  const { config, configurationTexts, faults, warnings, advice } = settings;
  // If EXTERNAL_URL has a fault, any other value is good enough to find the other faults.
  const externalUrl = config?.externalUrl ?? '';
  const fixed = readFixedSettings({ externalUrl }, configurationTexts);
  const all = [...faults, ...fixed.faults];
  if (config === null || all.length > 0) {
    if (command.words === 'doctor') return examineSettings(command, all, warnings);
    // Warnings are shown too: a mistyped name may be the cause of another fault.
    const lines = [...all, ...warnings].map((line) => `  ${line}`);
    return complain(['Postern cannot start:', ...lines].join('\n'));
  }
  if (command.words === 'check-config')
    return printConfig(config, [...warnings, ...advice], command);
  if (command.words === 'pasta-options') return printPastaOptions(config);
  const isServing = command.words === 'serve';
  if (command.words === 'doctor') return examine(command, config, warnings);
  const live = isServing ? null : await askRunning(command, config);
  if (live !== null) return live;
  const log = createLog(config, isServing ? process.stdout : process.stderr);
  for (const warning of [...warnings, ...(isServing ? advice : [])]) log.warn({}, warning);
  try {
    prepareDataDir(config);
    const keys = encryptionKeys(config);
    if (keys.isUnfinished)
      log.warn({}, `a key rotation was not finished; ${finishRotation(config)}`);
    const database = await openDatabase(config, keys, log, isServing);
    try {
      // A backup may be made of an earlier schema; a restore migrates itself, with any key.
      if (command.words === 'restore') await upgrade(config, database, log, false);
      else if (command.words === 'backup') await pendingMigrations(database);
      else await upgrade(config, database, log, true);
      if (isServing)
        return await serveUntilStopped(config, database, log, {
          createGateway: (options) => createGateway(options, worker ?? undefined),
          warnings,
        });
      return await run(command, config, database, log);
    } finally {
      await database.close();
    }
  } catch (error) {
    log.debug({ err: error }, 'failed');
    const said = sayFault(error, config);
    return complain(isServing ? await orRunsAlready(said, config) : said);
  }
}

/** Says it if the port is taken by a gateway with the same settings; else repeats the fault. */
async function orRunsAlready(said: string, config: Config): Promise<string> {
  if (!said.includes(' is taken')) return said;
  const { runsAlready } = await import('./doctor/listening.ts');
  return (await runsAlready(config)) ?? said;
}

/** Brings the database up to date; a database with rows is backed up before. */
async function upgrade(config: Config, database: Database, log: Log, checksKey: boolean) {
  await migrate(database, {
    checksKey,
    beforeUpgrade: async () => {
      const { path: backup, keys } = await backUpBefore('before-upgrade', config, database);
      log.info({ backup, keys }, 'the database was backed up before it is migrated');
      const unknown = unknownKeys(keys, database);
      if (unknown.length > 0)
        log.warn({ backup, keys: unknown }, 'that backup needs keys that are not known here');
    },
  });
}

/** Obeys a command that asks the gateway that runs here; null: it is another command. */
async function askRunning(command: Command, config: Config): Promise<number | null> {
  const { outcomeOfLive } = await import('./command/live-commands.ts');
  try {
    const say = (outcome: Outcome): void => print(outcome, command.options);
    const outcome = await outcomeOfLive(command, config, say);
    if (outcome === null) return null;
    if (outcome.isWritten !== true) print(outcome, command.options);
    return 0;
  } catch (error) {
    return complain(messageOf(error));
  }
}

const NOT_OBEYED_YET =
  'This is saved. A gateway that ran a few seconds ago has not confirmed yet that it obeys it: it does so within seconds, or when it starts or reaches the database again.';

async function run(
  command: Command,
  config: Config,
  database: Database,
  log: Log,
): Promise<number> {
  // The other commands are loaded only here, so that a gateway does not load them.
  const { outcomeOf } = await import('./command/outcome.ts');
  const { untilObeyed } = await import('./command/obeyed.ts');
  const open = (keys: EncryptionKeys) => openDatabase(config, keys, log, false);
  const { outcome, isObeyed } = await untilObeyed(database, () =>
    outcomeOf(command, { config, database, open, log }),
  );
  print(outcome, command.options);
  if (outcome.note !== undefined) process.stderr.write(`${outcome.note}\n`);
  if (!isObeyed) process.stderr.write(`${NOT_OBEYED_YET}\n`);
  return outcome.isBad === true ? EXIT_FAILED : 0;
}

async function serveUntilStopped(
  config: Config,
  database: Database,
  log: Log,
  instead: Instead,
): Promise<number> {
  // The handlers are set from the beginning, so that an interrupted start is undone too. They stay
  // to the end, because a terminal and npm may both pass on the signal that a person typed once.
  const reports = new Reports(readSupervisor(), notify, log);
  let running: Running | null = null;
  const asked = new Promise<string>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => resolve(name));
    // From a terminal SIGHUP means that the terminal was closed, from a supervisor: read again.
    process.on('SIGHUP', () => {
      if (!reports.isSupervised) resolve('SIGHUP');
      else if (running !== null) reports.reloading(running.reload);
    });
  });
  // The time runs from the signal on, even if the start still waits for a database.
  const stopping = asked.then((signal) => {
    log.info({ signal }, 'Postern stops');
    reports.stopping();
    setTimeout(() => {
      log.error({}, 'the stop took too long and is ended by force');
      // A normal exit would wait for threads that hang, such as one that waits for a lock.
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_WORDS_MS);
    }, STOP_MS).unref();
  });
  running = await serve(config, database, log, instead);
  const { isAlive } = running;
  reports.ready(`Postern serves at ${running.address}`, isAlive);
  await stopping;
  await running.stop();
  log.info({}, 'Postern has stopped');
  return 0;
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

async function examine(
  { options }: Command,
  config: Config,
  warnings: readonly string[],
): Promise<number> {
  // The doctor is loaded only here, so that a gateway does not load it at its start.
  const { diagnose, report } = await import('./doctor/index.ts');
  const log = createLog(config, process.stderr);
  const open = () => openDatabase(config, encryptionKeys(config), log, false);
  const { findings, isWell } = await diagnose({ config, warnings, openDatabase: open });
  print(report(findings, isWell), options);
  return isWell ? 0 : EXIT_FAILED;
}

/** Reports only the faults of the settings, because the other checks need good settings. */
async function examineSettings(
  { options }: Command,
  faults: readonly string[],
  warnings: readonly string[],
): Promise<number> {
  const { judgeSettings, report } = await import('./doctor/index.ts');
  print(report(judgeSettings(faults, warnings), false), options);
  return EXIT_FAILED;
}

function print({ text: shown, data }: Outcome, { json }: Command['options']): void {
  process.stdout.write(json ? `${JSON.stringify(data)}\n` : `${shown}\n`);
}

function printConfig(config: Config, warnings: readonly string[], { options }: Command): number {
  const lines = describeConfig(config);
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
  const values = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  process.stdout.write(options.json ? `${JSON.stringify(values)}\n` : `${lines.join('\n')}\n`);
  return 0;
}

async function printPastaOptions(config: Config): Promise<number> {
  const { pastaOptions, rootlessFaults } = await import('./command/pasta-options.ts');
  const faults = await rootlessFaults(config);
  if (faults.length > 0)
    return complain(['Postern cannot start without root:', ...faults].join('\n  '));
  process.stdout.write(`${pastaOptions(config).join(' ')}\n`);
  return 0;
}

function complain(message: string, status = EXIT_FAILED): number {
  process.stderr.write(`${message}\n`);
  return status;
}
