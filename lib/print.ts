// What a command prints, and how it ends.

import process from 'node:process';
import type { Command, Outcome } from './command/run.ts';

/** The exit code of a command that failed. */
export const EXIT_FAILED = 1;

/** Prints what a command came to: text for people, or data for programs. */
export function print({ text: shown, data }: Outcome, { json }: Command['options']): void {
  process.stdout.write(json ? `${JSON.stringify(data)}\n` : `${shown}\n`);
}

/** Says why a command failed; the exit code. */
export function complain(message: string): number {
  process.stderr.write(`${message}\n`);
  return EXIT_FAILED;
}
