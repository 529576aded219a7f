// What `postern help` says: of all commands, of those of one noun, of one command with its options;
// and which version this is.

import { commandOf, type Entry, groups } from './grammar.ts';
import { type OptionName, usageOf, wordsOf } from './options.ts';
import { commandLine } from '../kit/process/command-line.ts';

type Commands = Readonly<Record<string, Entry>>;

/** The value that an option takes, and what the option says. */
type OptionWords = readonly [value: string, sentence: string];

const optionWords: Readonly<Record<Exclude<OptionName, 'id'>, OptionWords>> = {
  email: ['E', 'The e-mail of a user, in any case; of one who is there also the id.'],
  name: ['N', 'The name of what is made.'],
  qr: ['', 'Prints a QR code too.'],
  days: ['D', 'Days until the end, 1 to 365.'],
  routes: ['N', 'Networks behind a device, with commas between.'],
  scopes: ['S', 'What a token is for: admin, read, metrics, capture, with commas between.'],
  since: ['T', 'A date or a time, UTC where no zone is named; or today, or yesterday.'],
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
  online: ['', 'Of devices, those that are connected; of keys, while gateways run.'],
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
  protocol: ['P', 'tcp, udp or icmp; icmp has no ports.'],
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
  owner: ['E', 'The e-mail or the id of the user who owns the devices.'],
  watch: [
    '',
    'Shows the list again every 2 seconds, on a pipe each time it has changed; Ctrl+C ends it, ' +
      'and so does a change that nobody reads.',
  ],
  outdated: [
    '',
    'Devices whose file is out of date: something in it has changed since it was made.',
  ],
  stale: ['T', 'How long devices made no handshake, in days or hours: 90d, 12h.'],
  sort: [
    'BY',
    'traffic, handshake, name, owner or address; of the first two the most and the latest first.',
  ],
  hours: ['N', 'For how many hours a link is good, 1 to 336.'],
  source: ['A', 'The address of a host behind the device, which sends the packet.'],
  size: ['N', 'Bytes of the packet with its headers, 20 to 65535.'],
};

/** What `--id` names, by the first word of the command. */
const idWords: Readonly<Record<string, OptionWords>> = {
  device: ['DEVICE', 'A device: ann@example.com/laptop, a name, an address, or an id.'],
  provider: ['ID', 'The id of the provider, as `provider list` shows it: oidc/ID or saml/ID.'],
};
const ID_WORDS: OptionWords = ['ID', 'The id, or the last 8 digits of it.'];

/** What help says of an option of a command. */
export function wordsOfOption(command: string, option: OptionName, entry: Entry): OptionWords {
  const ofId = idWords[command.split(' ')[0] ?? ''] ?? ID_WORDS;
  const [value, sentence] = option === 'id' ? ofId : optionWords[option];
  const isLeftOut = wordsOf(entry).includes(option);
  return [value, isLeftOut ? `${sentence} The word --${option} may be left out.` : sentence];
}

/** Help on what the words name: one command, the commands of a noun, or all. */
export function helpText(commands: Commands, words: readonly string[]): string {
  const found = commandOf(words, commands);
  const entry = found === null ? undefined : commands[found.name];
  if (found !== null && entry !== undefined) return oneText(found.name, entry);
  const ofNoun = nounText(commands, words);
  return ofNoun === null ? allText(commands) : `${ofNoun}\n`;
}

/** Why a verb is none, and the command that was probably meant. */
export interface NoVerb {
  readonly says: string;
  readonly meant: string | null;
}

/** The commands of a noun, where the words begin with one; else null. */
export function nounText(
  commands: Commands,
  [noun]: readonly string[],
  { says, meant }: NoVerb = { says: `${noun} wants a verb`, meant: null },
): string | null {
  const names = Object.keys(commands).filter((name) => name.startsWith(`${noun} `));
  if (names.length === 0) return null;
  const lines = names.map((name) => lineOf(name, commands[name]));
  const full = commandLine(`${meant ?? names[0]} --help`);
  return [`${says}:`, '', ...lines, '', `One of them in full: ${full}`].join('\n');
}

function oneText(name: string, entry: Entry): string {
  const options = entry.takes.map((option) => {
    const [value, sentence] = wordsOfOption(name, option, entry);
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
    '`<command> --help` tells the options of one command.',
    'Settings are environment variables; docs/reference/settings.md lists them.',
    'Exit status: 0 done, 1 failed, 2 wrong usage.',
    '',
  ].join('\n');
}
