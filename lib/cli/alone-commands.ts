// Commands that need no settings and no database, so that they help where these have errors.

import type { CommandName } from './grammar.ts';
import type { Command, Outcome } from './run.ts';

type RunAlone = (command: Command) => Outcome;

/** Each is loaded when it is typed. */
const runs: Partial<Record<CommandName, () => Promise<RunAlone>>> = {
  completion: async () => (await import('./completion.ts')).printCompletion,
  man: async () => (await import('./manual.ts')).printManual,
  'token make-bootstrap': async () => (await import('./bootstrap-command.ts')).makeBootstrapToken,
};

/** Obeys such a command. */
export async function outcomeOfAlone(command: Command): Promise<Outcome> {
  const run = await runs[command.words]?.();
  if (run === undefined) throw new Error(`nothing obeys "${command.words}"`);
  return run(command);
}
