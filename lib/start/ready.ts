// A program of its own: asks the gateway on this machine whether it serves, by the settings that
// the gateway has. It ends with 0 when it does and with 1 when not, and says what was answered. A
// container's health check runs it, so it loads no more than it needs.

import process from 'node:process';
import { readConfig } from '../../config/index.ts';
import { askReadiness, localUrl } from '../kit/http/ask-readiness.ts';

async function main(): Promise<number> {
  const { config, errors } = readConfig();
  if (config === null) return complain(errors.join('\n'));
  const url = localUrl(config);
  try {
    const { status, body } = await askReadiness(url);
    process.stdout.write(`${body}\n`);
    return status === 200 ? 0 : 1;
  } catch (error) {
    return complain(`${url.href}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function complain(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}

if (import.meta.main) process.exitCode = await main();
