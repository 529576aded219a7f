// Reads the command line: `postern <noun> <verb> [options]`. It turns arguments into a command, an
// error or help. The commands are in grammar.ts.

import { parseArgs } from 'node:util';
import { type CommandName, commands, type Entry } from './grammar.ts';
import { type OptionName, optionTypes } from './options.ts';
import { didYouMean, helpText, nounText, usageOf } from './help.ts';
import { meantCommand, meantOption } from './meant-command.ts';
import type { Command, Options } from './run.ts';
import { readTime } from '../kit/validation/texts.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { messageOf } from '../kit/process/message.ts';

/** The meaning of the arguments: a command, a question for help or the version, or an error. */
export type Parsed =
  | { readonly command: Command }
  | { readonly help: string }
  | { readonly isVersion: true }
  | { readonly error: string };

function seeHelp(): string {
  return `see: ${commandLine('help')}`;
}

/** Parses the arguments behind the program's name. */
export function parseCommandLine(argv: readonly string[]): Parsed {
  let values: Values;
  let words: string[];
  try {
    const parsed = parseArgs({ args: [...argv], options: optionTypes, allowPositionals: true });
    values = parsed.values;
    words = parsed.positionals;
  } catch (error) {
    // What Node adds, on arguments that begin with a hyphen, helps nobody here.
    const [message = ''] = messageOf(error).split('. ');
    return { error: `${message.replace(/\.$/, '')}${meantFor(message)}; ${seeHelp()}` };
  }
  if (values.version === true || words.join(' ') === 'version') return { isVersion: true };
  if (values.help === true || words[0] === 'help')
    return { help: helpText(commands, words[0] === 'help' ? words.slice(1) : words) };
  const found = findCommand(words.length === 0 ? ['serve'] : words);
  if (found === null) return { error: nounText(commands, words) ?? unknownCommand(words) };
  return validated(found.name, found.rest, values);
}

function unknownCommand(words: readonly string[]): string {
  const meant = meantCommand(words, Object.keys(commands));
  return `there is no command "${words.join(' ')}"${didYouMean(meant)}; ${seeHelp()}`;
}

/** The option that was meant by the unknown one of which Node complains. */
function meantFor(message: string): string {
  const [, typed] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
  const meant = typed === undefined ? null : meantOption(typed, Object.keys(optionTypes));
  return didYouMean(meant === null ? null : `--${meant}`);
}

type Values = ReturnType<typeof parseArgs<{ options: typeof optionTypes }>>['values'];

function findCommand(words: readonly string[]): { name: CommandName; rest: string[] } | null {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    if (words.length >= length && Object.hasOwn(commands, name))
      return { name: name as CommandName, rest: words.slice(length) };
  }
  return null;
}

/** Options whose values reach the command as they were given, under their own names. */
const TEXTS = [
  'email',
  'name',
  'id',
  'scopes',
  'routes',
  'down',
  'up',
  'quota',
  'role',
  'destination',
  'action',
  'device',
  'user',
  'rule',
  'group',
  'reason',
  'description',
  'protocol',
  'port',
  'snaplen',
  'duration',
  'bytes',
  'source',
  'size',
  'step',
  'expect',
  'file',
] as const satisfies readonly OptionName[];

function textsOf(values: Values): Pick<Options, (typeof TEXTS)[number] | 'portType' | 'portRange'> {
  const { 'port-type': portType, 'port-range': portRange } = values;
  return {
    ...Object.fromEntries(
      TEXTS.filter((name) => values[name] !== undefined).map((name) => [name, values[name]]),
    ),
    ...(portType === undefined ? {} : { portType }),
    ...(portRange === undefined ? {} : { portRange }),
  };
}

function validated(name: CommandName, rest: readonly string[], values: Values): Parsed {
  const entry: Entry = commands[name];
  const usage = `usage: ${usageOf(name, entry)}`;
  const alien = Object.keys(values).find((option) => !entry.takes.includes(option as OptionName));
  if (alien !== undefined) return { error: `--${alien} is not an option of ${name}; ${usage}` };
  for (const option of entry.needs ?? [])
    if (values[option] === undefined || values[option] === '')
      return { error: `--${option} is missing; ${usage}` };
  const empty = emptyError(values);
  if (empty !== null) return { error: `${empty}; ${usage}` };
  const [least, most] = entry.operands ?? (entry.operand === true ? [1, 1] : [0, 0]);
  // A script hands on a variable that holds nothing as an empty operand.
  const missing = [...rest, ''].indexOf('');
  if (missing < least) return { error: `${entry.usage.split(' ')[missing]} is missing; ${usage}` };
  const both = EXCLUDING.find((names) => names.every((option) => isGiven(values[option])));
  if (both !== undefined)
    return { error: `--${both.join(' and --')} exclude each other; ${usage}` };
  if (rest.length > most) return { error: `"${rest[most]}" is too much; ${usage}` };
  const numbers = numbersOf(values, entry);
  if ('error' in numbers) return numbers;
  const times = timesOf(values);
  if ('error' in times) return times;
  const options: Options = {
    ...textsOf(values),
    ...numbers,
    ...times,
    json: values.json === true,
    noPassword: values['no-password'] === true,
    qr: values.qr === true,
    passwordStdin: values['password-stdin'] === true,
    resetMfa: values['reset-mfa'] === true,
    replace: values.replace === true,
    dryRun: values['dry-run'] === true,
    online: values.online === true,
    createUser: values['create-user'] === true,
    everyone: values.everyone === true,
    payload: values.payload === true,
    onlyRefused: values['only-refused'] === true,
    force: values.force === true,
    disabled: values.disabled === true,
    staged: values.staged === true,
    enforced: values.enforced === true,
    follow: values.follow === true,
    ended: values.ended === true,
    csv: values.csv === true,
    mail: values.mail === true,
    ...(values.yes === true ? { yes: true } : {}),
  };
  return { command: { words: name, operand: rest[0] ?? null, operands: rest, options } };
}

/**
 * Options for which the API takes an empty value as "no limit" or "all traffic", and what to give.
 * An unset variable of a shell must neither take a limit away nor open more than was meant.
 */
const NEVER_EMPTY = [
  ['down', 'bits per second, or none'],
  ['up', 'bits per second, or none'],
  ['quota', 'bytes in a month, or none'],
  ['port-type', 'tcp or udp, or leave it out for all traffic'],
  ['port-range', 'a port or ports, or leave it out for all traffic'],
  ['protocol', 'a protocol, or leave it out for all traffic'],
] as const satisfies readonly (readonly [OptionName, string])[];

/** What is wrong with an option that is empty. */
function emptyError(values: Values): string | null {
  const found = NEVER_EMPTY.find(([option]) => values[option]?.trim() === '');
  return found === undefined ? null : `--${found[0]} is empty; give ${found[1]}`;
}

/** Options of which a command takes one. */
const EXCLUDING = [
  ['password-stdin', 'no-password'],
  ['follow', 'limit'],
  ['json', 'csv'],
  ['email', 'group'],
  ['staged', 'enforced'],
] as const satisfies readonly (readonly [OptionName, OptionName])[];

function isGiven(value: string | boolean | undefined): boolean {
  return value !== undefined && value !== false;
}

/** The options that take a whole number from 1, and the most that they take. */
const NUMBER_OPTIONS = { days: 365, hours: 336, keep: 1_000, limit: 10_000 } as const;
type NumberOption = keyof typeof NUMBER_OPTIONS;

/** The numbers of options, or what is wrong with one. */
function numbersOf(
  values: Values,
  { limitMost = NUMBER_OPTIONS.limit }: Entry,
): Pick<Options, NumberOption> | { error: string } {
  const numbers: { [Name in NumberOption]?: number } = {};
  const mosts = { ...NUMBER_OPTIONS, limit: limitMost };
  for (const [name, most] of Object.entries(mosts) as [NumberOption, number][]) {
    const text = values[name];
    if (text === undefined) continue;
    const value = Number(text);
    if (!(Number.isInteger(value) && value >= 1 && value <= most))
      return { error: `--${name} takes a whole number from 1 to ${most}, not "${text}"` };
    numbers[name] = value;
  }
  return numbers;
}

/** The options that take a time, and what they are called where they were read. */
const TIME_OPTIONS = [
  ['since', 'since'],
  ['from', 'from'],
  ['to', 'to'],
] as const;

/** Options of times that also take `none`. */
const END_OPTIONS = [
  ['starts-at', 'startsAt'],
  ['ends-at', 'endsAt'],
] as const;

type TimeOption = (typeof TIME_OPTIONS)[number][1];
type EndOption = (typeof END_OPTIONS)[number][1];

/** The times of options that name one, or what is wrong with one. */
function timesOf(values: Values): Pick<Options, TimeOption | EndOption | 'at'> | { error: string } {
  const times: { [Name in TimeOption]?: Date } & { [Name in EndOption | 'at']?: Date | null } = {};
  for (const [option, name] of TIME_OPTIONS) {
    const text = values[option];
    const time = text === undefined ? undefined : parseTime(text);
    if (time === null) return { error: noTime(option, text) };
    if (time !== undefined) times[name] = time;
  }
  for (const [option, name] of END_OPTIONS) {
    const text = values[option];
    if (text === undefined) continue;
    const time = text === 'none' ? null : parseTime(text);
    if (time === null && text !== 'none') return { error: `${noTime(option, text)}; or none` };
    times[name] = time;
  }
  if (values.at === undefined) return times;
  times.at = values.at === 'never' ? null : parseTime(values.at);
  if (times.at === null && values.at !== 'never')
    return { error: `${noTime('at', values.at)}; or never` };
  return times;
}

function noTime(option: string, text: string | undefined): string {
  return `--${option} takes a time such as 2026-11-21T08:00:00Z, not "${text}"`;
}

/** Reads a date or a time of ISO 8601, UTC where no zone is named; null when it is none. */
function parseTime(text: string): Date | null {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return readTime(`${text}T00:00Z`);
  return readTime(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
}
