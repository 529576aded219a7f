// How slow this machine is right now. Bars in seconds hold on a quiet machine. Beside other work, or
// on slower cores, they are multiplied by what a fixed piece of work takes longer than there: a
// process that loads and compiles modules, as a start of the gateway does.

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../../..');
const WORK = "for (const name of ['sequelize', '@hapi/hapi', 'mysql2', 'joi']) require(name)";
/** What the work takes on the machine for which the bars were set, where nothing else runs. */
const QUIET_MS = 480;

/**
 * How many times longer than on a quiet machine work takes now; 1 if it takes no longer. `atOnce`:
 * so many processes work at the same time. Where two cores share what computes, two processes take
 * longer than one.
 */
export async function measureSlowness(atOnce = 1): Promise<number> {
  const began = performance.now();
  const work = promisify(execFile);
  await Promise.all(
    Array.from({ length: atOnce }, () => work(process.execPath, ['--eval', WORK], { cwd: ROOT })),
  );
  return Math.max(1, (performance.now() - began) / QUIET_MS);
}
