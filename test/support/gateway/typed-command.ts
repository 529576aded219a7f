// What a command that works on a database comes to, as a person types it.

import { parseCommandLine } from '../../../lib/cli/cli.ts';
import { outcomeOf } from '../../../lib/cli/outcome.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import { configOf } from '../../../lib/testing/settings.ts';
import type { Database } from '../../../models/index.ts';
import { logInto } from '../api/server.ts';

/** What is special about a command. */
export interface Typed {
  /** Environment variables of its shell. */
  readonly settings?: Readonly<Record<string, string>>;
  /** What is piped into it. */
  readonly stdin?: string;
}

/** Runs a command; a line is split at its spaces. */
export async function runTyped(
  database: Database,
  line: string | readonly string[],
  { settings = {}, stdin = '' }: Typed = {},
): Promise<Outcome> {
  const parsed = await parseCommandLine(typeof line === 'string' ? line.split(' ') : line);
  if (!('command' in parsed)) throw new Error(`not understood: ${JSON.stringify(parsed)}`);
  const open = async () => database;
  const means = { config: configOf(settings), database, open, log: logInto([]) };
  return outcomeOf(parsed.command, means, async () => stdin);
}
