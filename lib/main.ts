// The composition root: settings, log, database, then the command that was asked for.

import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { type Config, describeConfig, readConfig } from '../config/index.ts';
import { checkEncryptionKey, connectDatabase, type Database, migrate } from '../models/index.ts';
import { type Command, parseCommandLine } from './cli.ts';
import { databaseCommands } from './commands.ts';
import { encryptionKey, prepareDataDir } from './first-start.ts';
import { createLog } from './observe/log.ts';
import { serve } from './serve.ts';
import type { Log } from './services.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** A stop that takes longer is ended by force. */
const STOP_MS = 12_000;

async function main(argv: readonly string[]): Promise<number> {
  const parsed = parseCommandLine(argv);
  if ('help' in parsed) {
    process.stdout.write(parsed.help);
    return 0;
  }
  if ('complaint' in parsed) return complain(parsed.complaint, EXIT_USAGE);
  const { config, faults, warnings } = readConfig();
  if (config === null)
    return complain(['Postern cannot start:', ...faults.map((fault) => `  ${fault}`)].join('\n'));
  const { command } = parsed;
  if (command.words === 'check-config') return printConfig(config, warnings, command);
  const isServing = command.words === 'serve';
  const log = createLog(config, isServing ? process.stdout : process.stderr);
  for (const warning of warnings) log.warn({}, warning);
  try {
    prepareDataDir(config);
    const database = await openDatabase(config, log);
    try {
      await migrate(database);
      await checkEncryptionKey(database);
      return await run(command, config, database, log);
    } finally {
      await database.close();
    }
  } catch (error) {
    log.debug({ err: error }, 'failed');
    return complain(error instanceof Error ? error.message : String(error));
  }
}

async function run(
  command: Command,
  config: Config,
  database: Database,
  log: Log,
): Promise<number> {
  const runCommand = databaseCommands[command.words];
  if (runCommand === undefined) return serveUntilStopped(config, database, log);
  const { text: shown, data } = await runCommand(database, command, () => text(process.stdin));
  process.stdout.write(command.options.json ? `${JSON.stringify(data)}\n` : `${shown}\n`);
  return 0;
}

async function serveUntilStopped(config: Config, database: Database, log: Log): Promise<number> {
  // Heard from the beginning: a start that is interrupted is undone as well. Heard to the end: a
  // terminal and npm both hand on what a person typed once.
  const asked = new Promise<string>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
      process.on(name, () => resolve(name));
  });
  const running = await serve(config, database, log);
  const signal = await asked;
  log.info({ signal }, 'Postern stops');
  setTimeout(() => {
    log.error({}, 'the stop took too long and is ended by force');
    process.exit(EXIT_FAILED);
  }, STOP_MS).unref();
  await running.stop();
  return 0;
}

function openDatabase(config: Config, log: Log): Promise<Database> {
  const server =
    config.databaseHost === null
      ? { url: config.databaseUrl ?? `sqlite:${join(config.dataDir, 'postern.sqlite')}` }
      : {
          host: config.databaseHost,
          port: config.databasePort,
          name: config.databaseName,
          user: config.databaseUser,
          password: config.databasePassword,
        };
  return connectDatabase({
    ...server,
    poolSize: config.databasePoolSize,
    encryptionKey: encryptionKey(config),
    log,
  });
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

function complain(message: string, status = EXIT_FAILED): number {
  process.stderr.write(`${message}\n`);
  return status;
}

process.exitCode = await main(process.argv.slice(2));
