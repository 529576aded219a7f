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
  mail: { type: 'boolean' },
  yes: { type: 'boolean' },
} as const;

/** An option that some commands take. */
export type OptionName = Exclude<keyof typeof optionTypes, 'help' | 'version'>;

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
  /** The most that `--limit` takes, where it is less than elsewhere. */
  readonly limitMost?: number;
}
