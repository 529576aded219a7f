// What is said of commands and options that there are not, and what was probably meant by them.

import { parseArgs } from 'node:util';
import { commandOf, commands, severalMeant } from './grammar.ts';
import { nounText } from './help.ts';
import { meantCommand, meantOption } from './meant-command.ts';
import { optionTypes, usageOf } from './options.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { messageOf } from '../kit/process/message.ts';

function seeHelp(): string {
  return `see: ${commandLine('help')}`;
}

/** What is said of words that are no command. */
export function unknownCommand(words: readonly string[]): string {
  const ofNoun = words.length < 2 ? nounText(commands, words) : unknownVerb(words);
  if (ofNoun !== null) return ofNoun;
  const meant = meantCommand(words, Object.keys(commands));
  return `there is no command "${words.join(' ')}"${didYouMean(meant)}; ${seeHelp()}`;
}

/** What is said of a noun with a verb that it has not; null: there is no such noun. */
export function unknownVerb([noun = '', verb = '']: readonly string[]): string | null {
  const ofNoun = Object.keys(commands).filter((name) => name.startsWith(`${noun} `));
  const several = severalMeant(noun, verb);
  const meant = several.length > 1 ? null : meantCommand([noun, verb], ofNoun);
  const question = didYouMean(several.length > 1 ? several.join('` or `') : meant);
  const says = `there is no command "${noun} ${verb}"${question}`;
  return nounText(commands, [noun], { says, meant });
}

/** What Node says of arguments that it cannot read, and the usage; or that there is no command. */
export function unreadable(argv: readonly string[], error: unknown): string {
  // Behind an option that is none a word may be its value.
  const end = argv.findIndex((one) => one.startsWith('-'));
  const words = argv.slice(0, end === -1 ? argv.length : end);
  if (words.length > 0 && words[0] !== 'help' && commandOf(words) === null)
    return unknownCommand(words);
  // What Node adds, on arguments that begin with a hyphen, helps nobody here.
  const [message = ''] = messageOf(error).split('. ');
  const loose = { args: [...argv], options: optionTypes, allowPositionals: true, strict: false };
  const found = commandOf(parseArgs(loose).positionals);
  const [, typed] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
  const known = found === null ? Object.keys(optionTypes) : commands[found.name].takes;
  const meant = typed === undefined ? '' : nearOption(typed, known);
  const see = found === null ? seeHelp() : `usage: ${usageOf(found.name, commands[found.name])}`;
  return `${message.replace(/\.$/, '')}${meant}; ${see}`;
}

/** The option that was meant by another one, as a question. */
export function nearOption(typed: string, known: readonly string[]): string {
  const meant = meantOption(typed, known);
  return didYouMean(meant === null ? null : `--${meant}`);
}

/** A question behind what was not understood. */
function didYouMean(meant: string | null): string {
  return meant === null ? '' : `; did you mean \`${meant}\`?`;
}
