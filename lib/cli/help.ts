// What `postern help` says: of all commands, of those of one noun, of one command with its options;
// and which version this is.

import { type Entry, groups } from './grammar.ts';
import type { OptionName } from './options.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { meantCommand } from './meant-command.ts';

type Commands = Readonly<Record<string, Entry>>;

/** The value that an option takes, and what the option says. */
const optionWords: Readonly<Record<OptionName, readonly [value: string, sentence: string]>> = {
  email: ['E', 'The e-mail of a user, in any case; of one who is there also the id.'],
  name: ['N', 'The name of what is made.'],
  id: ['ID', 'What the record is called: its id, the last 8 digits of it; a device also by name.'],
  qr: ['', 'Prints a QR code too.'],
  days: ['D', 'Days until the end, 1 to 365.'],
  routes: ['N', 'Networks behind a device, with commas between.'],
  scopes: ['S', 'What a token is for: admin, read, metrics, capture, with commas between.'],
  since: ['T', 'A date or a time, UTC where no zone is named.'],
  limit: ['N', 'How many are listed at most.'],
  at: ['T', 'A date or a time, or never; one that is past ends it at once.'],
  'starts-at': ['T', 'A date or a time, UTC where no zone is named; none: no start.'],
  'ends-at': ['T', 'A date or a time, UTC where no zone is named; none: no end.'],
  json: ['', 'Prints JSON for programs.'],
  'password-stdin': ['', 'Reads the password from standard input.'],
  down: [
    'SPEED',
    'The speed to a device, 64kbit/s to 100Gbit/s: 50Mbit/s; none: no limit of its own.',
  ],
  up: ['SPEED', 'The speed from a device, likewise.'],
  quota: [
    'AMOUNT',
    'What is carried in a calendar month, both ways together, 1MB to 1000TB: 100GB; none: no quota of its own.',
  ],
  'no-password': ['', 'Makes a user who signs in through an identity provider alone.'],
  'reset-mfa': ['', 'Takes all second factors away.'],
  replace: ['', 'Replaces all that the database holds.'],
  'dry-run': ['', 'Says what would be done, and leaves all rows as they are.'],
  online: ['', 'While gateways run.'],
  'create-user': ['', 'Makes the user if there is none yet.'],
  yes: ['', 'Asks nothing at a terminal.'],
  everyone: ['', 'All people, instead of the one with --email.'],
  device: ['D', 'A device: ann@example.com/laptop, a name, an address, or an id.'],
  user: ['E', 'The e-mail or the id of the user who owns the devices.'],
  rule: ['ID', 'The id of the rule that decided.'],
  group: ['G', 'The id or the name of a group.'],
  reason: ['R', 'A reason of refusals: rule_drop, default_drop, ….'],
  ended: ['', 'Flows that have ended, instead of those that are alive.'],
  follow: ['', 'Goes on and shows what comes; Ctrl+C ends it.'],
  role: ['R', 'unprivileged (the default) or admin.'],
  destination: ['D', 'An address or a network: 10.0.0.0/8, 2001:db8::/32.'],
  action: ['A', 'drop (the default) or accept.'],
  'port-type': ['T', 'tcp or udp, with --port-range; all traffic without it.'],
  expect: ['X', 'accept or drop.'],
  force: ['', 'Makes the change although policy tests fail because of it.'],
  'port-range': ['P', 'A port or ports: 443, 8000-8080.'],
  description: ['D', 'What it is for: at most 255 characters.'],
  disabled: ['', 'The rule decides nothing until it is enabled.'],
  staged: ['', 'The rule decides nothing, and what it would decide is counted.'],
  enforced: ['', 'The rule is no longer staged, and decides.'],
  protocol: ['P', 'tcp, udp or icmp; of a rule only icmp, which has no ports.'],
  port: ['N', 'A port of tcp or udp: 443.'],
  snaplen: ['N', 'Bytes that are kept of each packet; 128 without it.'],
  payload: ['', 'Keeps whole packets.'],
  'only-refused': ['', 'Only packets that were refused.'],
  duration: ['S', 'Ends after so many seconds, 1 to 3600; 60 without it.'],
  bytes: ['N', 'Ends before so many bytes.'],
  from: ['T', 'A date or a time, UTC where no zone is named; a day before the end without it.'],
  to: ['T', 'A date or a time, UTC where no zone is named; now without it.'],
  step: ['S', 'Seconds of one line: 600, 3600 or 86400; the shortest that is kept without it.'],
  csv: ['', 'Prints a file for spreadsheets.'],
  file: [
    'F',
    'A list of e-mails, one in a line or the first column of a CSV file; - for standard input.',
  ],
  mail: ['', 'Sends each link to its person; needs SMTP_URL and MAIL_FROM.'],
  keep: ['N', 'How many backups stay in the folder, the newest, 1 to 1000.'],
  hours: ['N', 'For how many hours a link is good, 1 to 336.'],
  source: ['A', 'The address of a host behind the device, which sends the packet.'],
  size: ['N', 'Bytes of the packet with its headers, 20 to 65535.'],
};

/** Help on what the words name: one command, the commands of a noun, or all. */
export function helpText(commands: Commands, words: readonly string[]): string {
  const name = [words.slice(0, 2).join(' '), words[0] ?? ''].find((one) =>
    Object.hasOwn(commands, one),
  );
  const entry = name === undefined ? undefined : commands[name];
  if (name !== undefined && entry !== undefined) return oneText(name, entry);
  const ofNoun = nounText(commands, words);
  return ofNoun === null ? allText(commands) : `${ofNoun}\n`;
}

/** The commands of a noun, where the words begin with one; else null. */
export function nounText(commands: Commands, [noun, verb]: readonly string[]): string | null {
  const names = Object.keys(commands).filter((name) => name.startsWith(`${noun} `));
  if (names.length === 0) return null;
  const meant = verb === undefined ? null : meantCommand([noun ?? '', verb], names);
  const head =
    verb === undefined
      ? `${noun} wants a verb:`
      : `there is no command "${noun} ${verb}"${didYouMean(meant)}:`;
  const lines = names.map((name) => lineOf(name, commands[name]));
  const full = commandLine(`${meant ?? names[0]} --help`);
  return [head, '', ...lines, '', `One of them in full: ${full}`].join('\n');
}

/** A question behind what was not understood. */
export function didYouMean(meant: string | null): string {
  return meant === null ? '' : `; did you mean \`${meant}\`?`;
}

/** How a command is typed, without the way to start it here. */
export function usageOf(name: string, { usage, takes }: Entry): string {
  const words = name === 'serve' ? [name] : [name, usage, takes.includes('json') ? '[--json]' : ''];
  return ['postern', ...words.filter((word) => word !== '')].join(' ');
}

function oneText(name: string, entry: Entry): string {
  const options = entry.takes.map((option) => {
    const [value, sentence] = optionWords[option];
    return `  ${`--${option} ${value}`.trimEnd().padEnd(18)}  ${sentence}`;
  });
  return [
    `usage: ${usageOf(name, entry)}`,
    '',
    entry.sentence,
    ...(options.length === 0 ? [] : ['', ...options]),
    '',
  ].join('\n');
}

/** The width of the longest name of a command. */
const NAME_WIDTH = 25;

function lineOf(name: string, entry: Entry | undefined): string {
  return `  ${name.padEnd(NAME_WIDTH)}  ${entry?.line ?? ''}`;
}

function allText(commands: Commands): string {
  const names = Object.keys(commands);
  const blocks = Object.entries(groups).map(([title, firsts]) => {
    const own = firsts.flatMap((first) => names.filter((name) => name.split(' ')[0] === first));
    return own.length === 0
      ? []
      : [`${title}:`, ...own.map((name) => lineOf(name, commands[name])), ''];
  });
  return [
    'postern: a userspace VPN gateway',
    '',
    `usage: ${commandLine('<command>')}`,
    '',
    ...blocks.flat(),
    '`<command> --help` tells the options of one command, `version` which version this is.',
    'Settings are environment variables; docs/reference/settings.md lists them.',
    'Exit status: 0 done, 1 failed, 2 wrong usage.',
    '',
  ].join('\n');
}
