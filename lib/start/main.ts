// The first step of every command: what was typed, and the settings. Help and a mistyped command
// wait for nothing that only others need. A gateway starts its workers here, so that they load and
// compile the packet path while this thread loads everything else.

import process from 'node:process';
import type { Worker } from 'node:worker_threads';
import type { Config } from '../../config/index.ts';
import { isAlone, parseCommandLine } from '../cli/cli.ts';
import { withoutStartedAs } from '../kit/process/command-line.ts';
import { endWellWithoutReader } from '../kit/process/lost-output.ts';
import { EXIT_USAGE } from '../kit/process/usage-error.ts';

/** The log of a gateway, and a capture, which says itself what was not written. */
const WRITES_BY_ITSELF: ReadonlySet<string> = new Set(['serve', 'serve-rootless', 'capture']);

async function main(argv: readonly string[]): Promise<number> {
  const parsed = await parseCommandLine(argv);
  if (!('command' in parsed) || !WRITES_BY_ITSELF.has(parsed.command.words)) endWellWithoutReader();
  if ('help' in parsed) {
    process.stdout.write(parsed.help);
    return 0;
  }
  if ('isVersion' in parsed) {
    const { fingerprint } = await import('./fingerprint.ts');
    process.stdout.write(`postern ${fingerprint()}\n`);
    return 0;
  }
  if ('error' in parsed) {
    process.stderr.write(`${parsed.error}\n`);
    return EXIT_USAGE;
  }
  const { command } = parsed;
  if (isAlone(command.words)) return (await import('./obey-alone.ts')).obeyAlone(command);
  const { readConfig } = await import('../../config/index.ts');
  const settings = readConfig();
  const { config } = settings;
  const workers = command.words === 'serve' && config !== null ? await workersOf(config) : [];
  const { obey } = await import('./obey.ts');
  return obey({ command, settings, workers });
}

async function workersOf(config: Config): Promise<Worker[]> {
  const { startWorkers } = await import('../../dataplane/index.ts');
  const { workersWarmUp } = await import('../kit/process/warm-up.ts');
  const { dataplaneEngine: engine, dataplaneWorkers: workers } = config;
  const hasSockets = config.wireguardTun === 'sockets';
  return startWorkers({ engine, workers, hasSockets }, workersWarmUp(config));
}

process.exitCode = await main(withoutStartedAs(process.argv.slice(2)));
