// Prints the result of a command, and makes its exit code.

import process from 'node:process';
import type { Command, Outcome } from '../cli/run.ts';
import { printableText } from '../cli/text-table.ts';
import { messageOf } from '../kit/process/message.ts';
import { EXIT_USAGE, UsageError } from '../kit/process/usage-error.ts';

/** The exit code of a command that failed. */
export const EXIT_FAILED = 1;

/** Prints the result of a command: text for people, or data for programs. */
export function print(outcome: Outcome, { json }: Command['options']): void {
  process.stdout.write(json ? jsonLine(outcome) : textForPeople(outcome));
}

/** Prints the result of a command; a list fits the terminal that it is printed to. */
export async function show(outcome: Outcome, options: Command['options']): Promise<void> {
  process.stdout.write(await outputOf(outcome, options));
}

/** What is printed of a command. */
export async function outputOf(outcome: Outcome, { json }: Command['options']): Promise<string> {
  if (json) return jsonLine(outcome);
  const { onScreen } = outcome;
  const screen =
    onScreen === undefined || process.stdout.isTTY !== true
      ? null
      : await (await import('../cli/screen.ts')).screenOf(process.stdout);
  return screen === null || onScreen === undefined
    ? textForPeople(outcome)
    : `${onScreen(screen)}\n`;
}

function jsonLine({ data }: Outcome): string {
  return `${JSON.stringify(data)}\n`;
}

/** Says on standard error what people should know. */
export function remark(message: string): void {
  process.stderr.write(`${printableText(message)}\n`);
}

/** Says why a command failed; the exit code. */
export function complain(message: string): number {
  remark(message);
  return EXIT_FAILED;
}

/** Says the error of a command; the exit code, which tells wrong usage from all else. */
export function complainOf(error: unknown, message = messageOf(error)): number {
  const code = complain(message);
  return error instanceof UsageError ? EXIT_USAGE : code;
}

/** What people read. Users wrote names in the text, and a terminal would obey what is in them. */
export function textForPeople({ text, picture }: Pick<Outcome, 'text' | 'picture'>): string {
  return [printableText(text), ...(picture === undefined ? [] : [picture]), ''].join('\n');
}
