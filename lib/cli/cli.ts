// Reads the command line: `postern <noun> <verb> [options]`. It turns arguments into a command, an
// error or help. The commands are in grammar.ts. What only some arguments need is loaded for these.

import { parseArgs } from 'node:util';
import { type CommandName, commandOf, commands, type Entry } from './grammar.ts';
import {
  asksForDevice,
  listOf,
  nameOfNeeded,
  nameOfOperand,
  type OptionName,
  operandsOf,
  optionTypes,
  placeOfWords,
  TIME_OPTIONS,
  usageOf,
  wordsOf,
} from './options.ts';
import type { Command, Options } from './run.ts';

/** The meaning of the arguments: a command, a question for help or the version, or an error. */
export type Parsed =
  | { readonly command: Command }
  | { readonly help: string }
  | { readonly isVersion: true }
  | { readonly error: string };

/** Parses the arguments behind the program's name. */
export async function parseCommandLine(argv: readonly string[]): Promise<Parsed> {
  let values: Values;
  let words: string[];
  try {
    const parsed = parseArgs({ args: [...argv], options: optionTypes, allowPositionals: true });
    values = parsed.values;
    words = parsed.positionals;
  } catch (error) {
    const { unreadable } = await import('./unknown.ts');
    return { error: unreadable(argv, error) };
  }
  if (values.version === true) return { isVersion: true };
  if (values.help === true || words[0] === 'help')
    return { help: await helpOn(words[0] === 'help' ? words.slice(1) : words) };
  const found = commandOf(words.length === 0 ? ['serve'] : words);
  if (found === null) {
    const { unknownCommand } = await import('./unknown.ts');
    return { error: unknownCommand(words) };
  }
  const parsed = await validated(found.name, found.rest, values);
  return found.name === 'version' && 'command' in parsed ? { isVersion: true } : parsed;
}

/** Whether a command needs no settings and no database. */
export function isAlone(name: CommandName): boolean {
  const entry: Entry = commands[name];
  return entry.isAlone === true;
}

async function helpOn(words: readonly string[]): Promise<string> {
  const { helpText, nounText } = await import('./help.ts');
  const hasNoVerb = words.length < 2 || nounText(commands, words) === null;
  if (hasNoVerb || commandOf(words) !== null) return helpText(commands, words);
  const { unknownVerb } = await import('./unknown.ts');
  return `${unknownVerb(words)}\n`;
}

type Values = ReturnType<typeof parseArgs<{ options: typeof optionTypes }>>['values'];

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
  'owner',
  'stale',
  'sort',
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

/** Takes options that are other spellings as those that are meant, and a bare word as an option. */
async function validated(
  name: CommandName,
  rest: readonly string[],
  typed: Values,
): Promise<Parsed> {
  const entry: Entry = commands[name];
  const usage = `usage: ${usageOf(name, entry)}`;
  const values: Values = { ...typed };
  for (const [spelling, meant, only] of entry.spellings ?? []) {
    const value = values[spelling];
    if (value === undefined || only?.includes(String(value)) === false) continue;
    if (values[meant] !== undefined)
      return { error: `--${spelling} and --${meant} exclude each other; ${usage}` };
    Object.assign(values, { [meant]: value });
    delete values[spelling];
  }
  const read = withWords(entry, rest, values);
  return 'error' in read
    ? { error: `${read.error}; ${usage}` }
    : validatedWords(name, read.rest, read.values);
}

/** What is typed behind the words of a command: operands and options. */
interface Typed {
  readonly rest: readonly string[];
  readonly values: Values;
}

/** Takes bare words as the needed options that they stand for, and an owner's name as a device. */
function withWords(
  entry: Entry,
  typed: readonly string[],
  given: Values,
): Typed | { readonly error: string } {
  const read = asksForDevice(entry) ? withDevice(typed, given) : { rest: typed, values: given };
  if ('error' in read) return read;
  const { rest: bare, values } = read;
  const words = wordsOf(entry);
  const open = words.filter((option) => values[option] === undefined);
  const [, most] = operandsOf(entry);
  const from = placeOfWords(entry);
  const count = Math.max(0, Math.min(open.length, bare.length - from));
  const taken = open.slice(0, count).map((option, i) => [option, bare[from + i]] as const);
  const rest = bare.toSpliced(from, count);
  const [only, ...others] = words;
  if (rest.length > most && only !== undefined && others.length + open.length === 0)
    return { error: `"${rest[most]}" and --${only} exclude each other` };
  return { rest, values: { ...values, ...Object.fromEntries(taken) } };
}

/** An address, an id, the end of an id, or an owner with a name. */
const MORE_THAN_A_NAME = /[/:]|^[\d.]+$|^[\da-f]{8}(-|$)/i;

/** A device that is named by the e-mail of its owner and its name, or by its name alone. */
function withDevice(
  rest: readonly string[],
  { email, name, ...others }: Values,
): Typed | { readonly error: string } {
  if (name === undefined)
    return { rest, values: { ...others, ...(email === undefined ? {} : { email }) } };
  if (email === '') return { error: '--email is empty; give an e-mail address' };
  // An owner may give a device the address of another one as its name.
  if (email === undefined && MORE_THAN_A_NAME.test(String(name)))
    return { error: `--name ${String(name)} may be another device; give its owner with --email` };
  return { rest: [email === undefined ? name : `${email}/${name}`, ...rest], values: others };
}

async function validatedWords(
  name: CommandName,
  rest: readonly string[],
  values: Values,
): Promise<Parsed> {
  const entry: Entry = commands[name];
  const usage = `usage: ${usageOf(name, entry)}`;
  const alien = Object.keys(values).find((option) => !entry.takes.includes(option as OptionName));
  if (alien !== undefined) {
    const { nearOption } = await import('./unknown.ts');
    const meant = nearOption(alien, entry.takes);
    return { error: `--${alien} is not an option of ${name}${meant}; ${usage}` };
  }
  for (const option of entry.needs ?? [])
    if (values[option] === undefined || values[option] === '')
      return { error: `${await missing(nameOfNeeded(entry, option))}; ${usage}` };
  const emptyOption = emptyError(values);
  if (emptyOption !== null) return { error: `${emptyOption}; ${usage}` };
  const [least, most] = operandsOf(entry);
  // A script hands on a variable that holds nothing as an empty operand.
  const empty = [...rest, ''].indexOf('');
  if (empty < least) return { error: `${await missing(nameOfOperand(entry, empty))}; ${usage}` };
  const { choices } = entry;
  if (choices?.includes(rest[0] ?? '') === false)
    return { error: `"${rest[0]}" is not known here; give ${listOf(choices)}; ${usage}` };
  const both = EXCLUDING.find((names) => names.every((option) => isGiven(values[option])));
  if (both !== undefined)
    return { error: `--${both.join(' and --')} exclude each other; ${usage}` };
  if (rest.length > most) return { error: `"${rest[most]}" is too much; ${usage}` };
  const numbers = numbersOf(values, entry);
  if ('error' in numbers) return numbers;
  const times = TIME_OPTIONS.some((option) => values[option] !== undefined)
    ? (await import('./typed-times.ts')).timesOf(values)
    : {};
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
    outdated: values.outdated === true,
    createUser: values['create-user'] === true,
    everyone: values.everyone === true,
    payload: values.payload === true,
    onlyRefused: values['only-refused'] === true,
    force: values.force === true,
    disabled: values.disabled === true,
    staged: values.staged === true,
    enforced: values.enforced === true,
    follow: values.follow === true,
    watch: values.watch === true,
    ended: values.ended === true,
    csv: values.csv === true,
    mail: values.mail === true,
    ...(values.yes === true ? { yes: true } : {}),
  };
  return { command: { words: name, operand: rest[0] ?? null, operands: rest, options } };
}

/** That a word of usage is missing, and what a device may be called. */
async function missing(word: string): Promise<string> {
  if (word !== 'DEVICE') return `${word} is missing`;
  const { deviceIs } = await import('../kit/process/absent.ts');
  return `${word} is missing; ${deviceIs()}`;
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
  ['email', 'owner'],
  ['online', 'stale'],
  ['online', 'outdated'],
  ['stale', 'outdated'],
  ['follow', 'watch'],
  ['staged', 'enforced'],
  ['since', 'from'],
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
