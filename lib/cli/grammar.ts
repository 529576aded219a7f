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

/** A command, and what follows its words. */
interface Found<Name extends string> {
  readonly name: Name;
  readonly rest: readonly string[];
}

/**
 * Verbs that are taken for others, where the noun has one of these and no more: `group rm` could
 * delete the group or end memberships. Help and completion do not name them.
 */
export const otherVerbs: Readonly<Record<string, readonly string[]>> = {
  add: ['create'],
  ls: ['list'],
  delete: ['revoke'],
  remove: ['delete', 'revoke'],
  rm: ['delete', 'remove', 'revoke'],
};

/** The commands of a noun that a verb of another program may mean. */
export function severalMeant(
  noun: string,
  verb: string,
  of: Readonly<Record<string, Entry>> = commands,
): string[] {
  const others = Object.hasOwn(otherVerbs, verb) ? (otherVerbs[verb] ?? []) : [];
  return others.map((other) => `${noun} ${other}`).filter((name) => Object.hasOwn(of, name));
}

/** The command whose words come first; null: there is none. */
export function commandOf<Name extends string = CommandName>(
  words: readonly string[],
  of: Readonly<Record<Name, Entry>> = commands as unknown as Readonly<Record<Name, Entry>>,
): Found<Name> | null {
  const [noun = '', verb = ''] = words;
  const isKnown = (name: string): name is Name => Object.hasOwn(of, name);
  const found = (name: string, length: number): Found<Name> | null =>
    isKnown(name) ? { name, rest: words.slice(length) } : null;
  const typed = found(`${noun} ${verb}`, 2);
  if (typed !== null) return typed;
  const [meant = '', ...more] = severalMeant(noun, verb, of);
  return (more.length === 0 ? found(meant, 2) : null) ?? found(noun, 1);
}

/** What the list of all commands is divided into, by the first words of commands. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  'The gateway': ['serve', 'serve-rootless', 'status', 'doctor', 'check-config', 'gateway'],
  People: ['admin', 'user', 'group', 'token', 'provider'],
  Devices: ['device'],
  'What may pass': ['rule', 'policy-test', 'configuration'],
  'What goes on': [
    'explain',
    'who',
    'diagnose',
    'capture',
    'flows',
    'refusals',
    'traffic',
    'audit',
  ],
  'This program': ['version', 'completion', 'man'],
  'The database': ['backup', 'restore', 'migrate', 'database', 'keys', 'import'],
};
