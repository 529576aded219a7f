// The options of the command line, and which of them a command takes. The help on options is in
// help.ts.

/** Every option, as `parseArgs` of Node reads it. */
export const optionTypes = {
  email: { type: 'string' },
  name: { type: 'string' },
  id: { type: 'string' },
  qr: { type: 'boolean' },
  days: { type: 'string' },
  scopes: { type: 'string' },
  routes: { type: 'string' },
  since: { type: 'string' },
  limit: { type: 'string' },
  at: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  role: { type: 'string' },
  down: { type: 'string' },
  up: { type: 'string' },
  quota: { type: 'string' },
  destination: { type: 'string' },
  action: { type: 'string' },
  'port-type': { type: 'string' },
  'port-range': { type: 'string' },
  description: { type: 'string' },
  disabled: { type: 'boolean' },
  staged: { type: 'boolean' },
  enforced: { type: 'boolean' },
  'starts-at': { type: 'string' },
  'ends-at': { type: 'string' },
  'no-password': { type: 'boolean' },
  'password-stdin': { type: 'boolean' },
  'reset-mfa': { type: 'boolean' },
  replace: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  online: { type: 'boolean' },
  outdated: { type: 'boolean' },
  'create-user': { type: 'boolean' },
  everyone: { type: 'boolean' },
  device: { type: 'string' },
  protocol: { type: 'string' },
  port: { type: 'string' },
  snaplen: { type: 'string' },
  duration: { type: 'string' },
  bytes: { type: 'string' },
  payload: { type: 'boolean' },
  'only-refused': { type: 'boolean' },
  expect: { type: 'string' },
  force: { type: 'boolean' },
  user: { type: 'string' },
  rule: { type: 'string' },
  group: { type: 'string' },
  reason: { type: 'string' },
  follow: { type: 'boolean' },
  ended: { type: 'boolean' },
  source: { type: 'string' },
  size: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  step: { type: 'string' },
  csv: { type: 'boolean' },
  file: { type: 'string' },
  hours: { type: 'string' },
  keep: { type: 'string' },
  owner: { type: 'string' },
  stale: { type: 'string' },
  sort: { type: 'string' },
  watch: { type: 'boolean' },
  mail: { type: 'boolean' },
  yes: { type: 'boolean' },
} as const;

/** An option that some commands take. */
export type OptionName = Exclude<keyof typeof optionTypes, 'help' | 'version'>;

/** The options that take a time; typed-times.ts, which reads them, takes no others. */
export const TIME_OPTIONS = [
  'from',
  'to',
  'since',
  'starts-at',
  'ends-at',
  'at',
] as const satisfies readonly OptionName[];

/** What help knows of a command. */
export interface Entry {
  /** What it does, in so few words that the list of all commands has one line for each. */
  readonly line: string;
  /** Shown in help, after the words. */
  readonly usage: string;
  readonly sentence: string;
  readonly operand?: boolean;
  /** The least and the most operands, where it takes more than one. */
  readonly operands?: readonly [least: number, most: number];
  /** Options that it takes besides `--help`. */
  readonly takes: readonly OptionName[];
  readonly needs?: readonly OptionName[];
  /** Options that are taken as others, all values of them or these. */
  readonly spellings?: readonly (readonly [
    typed: OptionName,
    meant: OptionName,
    values?: readonly string[],
  ])[];
  /** True: it reads no settings and no database, so that it helps where these have errors. */
  readonly isAlone?: true;
  /** What the operand may be, where that is a few words. */
  readonly choices?: readonly string[];
  /** The most that `--limit` takes, where it is less than elsewhere. */
  readonly limitMost?: number;
}

/** Options whose value may be a bare word, where a command needs them. */
const WORDS: ReadonlySet<OptionName> = new Set([
  'email',
  'name',
  'id',
  'group',
  'role',
  'at',
  'destination',
]);

/** The options that bare words stand for, in the order of the words. */
export function wordsOf({ needs = [] }: Entry): readonly OptionName[] {
  return needs.filter((option) => WORDS.has(option));
}

/** The least and the most words that follow a command and stand for no option. */
export function operandsOf({ operand, operands }: Entry): readonly [least: number, most: number] {
  return operands ?? (operand === true ? [1, 1] : [0, 0]);
}

/**
 * How many operands come before the words that stand for options: what a command takes as often as
 * it is typed comes last.
 */
export function placeOfWords(entry: Entry): number {
  const [least, most] = operandsOf(entry);
  return least === most ? least : 0;
}

/** What usage calls an option that is needed. */
export function nameOfNeeded(entry: Entry, option: OptionName): string {
  const at = wordsOf(entry).indexOf(option);
  const word = at === -1 ? '' : (entry.usage.split(' ')[placeOfWords(entry) + at] ?? '');
  return /^[a-z]/i.test(word) ? word : `--${option}`;
}

/** What usage calls an operand. */
export function nameOfOperand(entry: Entry, at: number): string {
  const before = placeOfWords(entry) === 0 ? wordsOf(entry).length : 0;
  return entry.usage.split(' ')[before + at] ?? '';
}

/** Whether usage asks for a device first, which owner and name can say, too. */
export function asksForDevice({ usage }: Entry): boolean {
  return /^\[?DEVICE\b/.test(usage);
}

/** How a command is typed, without the way to start it here. */
export function usageOf(name: string, { usage, takes }: Entry): string {
  const all = (['watch', 'json'] as const)
    .filter((option) => takes.includes(option))
    .map((option) => `[--${option}]`);
  const words = name === 'serve' ? [name] : [name, usage, ...all];
  return ['postern', ...words.filter((word) => word !== '')].join(' ');
}

/** `bash, zsh or fish`. */
export function listOf(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
