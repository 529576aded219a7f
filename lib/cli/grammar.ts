// The commands of the command line, and the help on each, in the order of the help. Their options
// are in options.ts; what a command does is in commands.ts and serve.ts.

import { hostCommands } from './grammar-host.ts';
import { networkCommands } from './grammar-network.ts';
import { peopleCommands } from './grammar-people.ts';
import { questionCommands } from './grammar-questions.ts';
import type { Entry } from './options.ts';

export type { Entry } from './options.ts';

/** Every command by its words. */
export const commands = {
  ...hostCommands,
  ...peopleCommands,
  ...networkCommands,
  ...questionCommands,
} as const satisfies Record<string, Entry>;

/** The words of a command. */
export type CommandName = keyof typeof commands;

/** What the list of all commands is divided into, by the first words of commands. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  'The gateway': ['serve', 'serve-rootless', 'doctor', 'check-config', 'gateway'],
  People: ['admin', 'user', 'group', 'token', 'provider'],
  Devices: ['device'],
  'What may pass': ['rule', 'policy-test', 'configuration'],
  'What goes on': ['explain', 'diagnose', 'capture', 'flows', 'refusals', 'traffic', 'audit'],
  'The database': ['backup', 'restore', 'migrate', 'database', 'keys', 'import'],
};
