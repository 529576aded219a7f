// Obeys a command. Commands that need no database are done here. The database and all that works on
// it are loaded for the other commands alone, because loading them takes most of the time of a
// command.

import process from 'node:process';
import type { Worker } from 'node:worker_threads';
import { type Config, describeConfig, type readConfig, usesServer } from '../../config/index.ts';
import type { Command, Outcome } from '../cli/run.ts';
import { complain, complainOf, EXIT_FAILED, print, show } from './print.ts';

/** A command that was typed, what the settings say of it, and the workers that already start. */
export interface Asked {
  readonly command: Command;
  readonly settings: ReturnType<typeof readConfig>;
  /** None for a command that needs none. */
  readonly workers: readonly Worker[];
}

/** Obeys a command; resolves to the exit code. */
export async function obey({ command, settings, workers }: Asked): Promise<number> {
  const { config, warnings, advice } = settings;
  const errors = [...settings.errors, ...(await fixedErrors(settings))];
  if (config === null || errors.length > 0) {
    if (command.words === 'doctor') return examineSettings(command, errors, warnings);
    // Warnings are shown too: a mistyped name may be the cause of another error.
    const lines = [...errors, ...warnings].map((line) => `  ${line}`);
    return complain(['Postern cannot start:', ...lines].join('\n'));
  }
  if (command.words === 'check-config')
    return printConfig(config, [...warnings, ...advice], command);
  if (command.words === 'serve-rootless') return serveRootless(config);
  if (command.words === 'doctor') return examine(command, config, warnings);
  const isServing = command.words === 'serve';
  const live = isServing ? null : await askRunning(command, config);
  if (live !== null) return live;
  if (!usesServer(config)) (await import('../../models/early.ts')).startSqliteThread();
  const { obeyOnDatabase } = await import('./on-database.ts');
  return obeyOnDatabase({ command, config, warnings, advice, workers });
}

/** The errors of what the environment fixes of the configuration. */
async function fixedErrors({ config, configurationTexts }: Asked['settings']) {
  // Loaded only here: most gateways fix nothing, and the code that validates requests validates it.
  if (Object.keys(configurationTexts).length === 0) return [];
  const { readFixedSettings } = await import('../domain/configuration/fixed-settings.ts');
  // If EXTERNAL_URL has an error, any other value is good enough to find the other errors.
  const externalUrl = config?.externalUrl ?? '';
  return readFixedSettings({ externalUrl }, configurationTexts).errors;
}

/** Obeys a command that asks the gateway that runs here; null: it is another command. */
async function askRunning(command: Command, config: Config): Promise<number | null> {
  const { outcomeOfLive } = await import('../cli/live-commands.ts');
  try {
    const say = (outcome: Outcome): void => print(outcome, command.options);
    const outcome = await outcomeOfLive(command, config, say);
    if (outcome === null) return null;
    if (command.options.watch) {
      const { watch } = await import('./watch.ts');
      const again = async (): Promise<Outcome> =>
        (await outcomeOfLive(command, config, say)) ?? outcome;
      return await watch(again, command.options);
    }
    if (outcome.isWritten !== true) await show(outcome, command.options);
    return 0;
  } catch (error) {
    return complainOf(error);
  }
}

async function examine(
  { options }: Command,
  config: Config,
  warnings: readonly string[],
): Promise<number> {
  const { diagnose, report } = await import('../installation/doctor/index.ts');
  const { opener } = await import('./on-database.ts');
  const { findings, isWell } = await diagnose({ config, warnings, openDatabase: opener(config) });
  print(report(findings, isWell), options);
  return isWell ? 0 : EXIT_FAILED;
}

/** Reports only the errors of the settings, because the other checks need good settings. */
async function examineSettings(
  { options }: Command,
  errors: readonly string[],
  warnings: readonly string[],
): Promise<number> {
  const { checkSettings, report } = await import('../installation/doctor/index.ts');
  print(report(checkSettings(errors, warnings), false), options);
  return EXIT_FAILED;
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

async function serveRootless(config: Config): Promise<number> {
  const rootless = await import('./serve-rootless.ts');
  const errors = await rootless.rootlessErrors(config);
  if (errors.length === 0) {
    for (const warning of rootless.rootlessWarnings()) process.stderr.write(`${warning}\n`);
    return rootless.becomeRootless(config);
  }
  return complain(['Postern cannot start without root:', ...errors].join('\n  '));
}
