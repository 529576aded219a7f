// The first step of every command: what was typed, and the settings. A gateway starts its worker
// here, so that it loads and compiles the packet path while this thread loads everything else.

import process from 'node:process';
import { readConfig } from '../config/index.ts';
import { startWorker } from '../dataplane/index.ts';
import { parseCommandLine } from './command/cli.ts';
import { workersWarmUp } from './process/warm-up.ts';

const EXIT_USAGE = 2;

async function main(argv: readonly string[]): Promise<number> {
  const parsed = parseCommandLine(argv);
  if ('help' in parsed) {
    process.stdout.write(parsed.help);
    return 0;
  }
  if ('complaint' in parsed) {
    process.stderr.write(`${parsed.complaint}\n`);
    return EXIT_USAGE;
  }
  const { command } = parsed;
  const settings = readConfig();
  const { config } = settings;
  const isServing = command.words === 'serve' && config !== null;
  const worker = isServing ? startWorker(workersWarmUp(config)) : null;
  const { obey } = await import('./obey.ts');
  return obey({ command, settings, worker });
}

process.exitCode = await main(process.argv.slice(2));
