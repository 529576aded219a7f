// Ends a command whose output cannot be written: the reader is gone, as `head` is after some lines,
// or the disk is full.

import process from 'node:process';

let isLost = false;

/** Whether nothing more can be written; a command that goes on and on may end. */
export function isOutputLost(): boolean {
  return isLost;
}

/** Lets a command end as it would have; only output that somebody still wants is a failure. */
export function endWellWithoutReader(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (isLost) return;
    isLost = true;
    if (code === 'EPIPE') return;
    process.stderr.write(`what this command prints cannot be written: ${message}\n`);
    process.once('exit', () => {
      process.exitCode = 1;
    });
  });
  process.stderr.on('error', () => undefined);
}
