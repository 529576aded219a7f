// Obeys a command that needs no settings and no database.

import { outcomeOfAlone } from '../cli/alone-commands.ts';
import type { Command } from '../cli/run.ts';
import { print, remark } from './print.ts';

/** Obeys it; resolves to the exit code. */
export async function obeyAlone(command: Command): Promise<number> {
  const outcome = await outcomeOfAlone(command);
  print(outcome, command.options);
  if (outcome.note !== undefined) remark(outcome.note);
  return 0;
}
