// A part of the grammar: the gateway and its database, and what is taken over from other programs.

import type { Entry } from './options.ts';

/** Commands by their words. */
export const hostCommands = {
  serve: {
    line: 'Runs the gateway.',
    usage: '',
    sentence: 'Runs the gateway (the default).',
    takes: [],
  },
  'serve-rootless': {
    line: 'Serves without root.',
    usage: '',
    sentence:
      'Serves without root, in namespaces of its own, or says why that cannot be here; `npm run start:rootless` runs it.',
    takes: [],
  },
  migrate: {
    line: 'Brings the database up to date.',
    usage: '',
    sentence: 'Brings the database up to date and ends.',
    takes: ['json'],
  },
  'check-config': {
    line: 'Prints the effective settings.',
    usage: '',
    sentence: 'Prints the effective settings, secrets hidden.',
    takes: ['json'],
  },
  doctor: {
    line: 'Says what is not well, and how to fix it.',
    usage: '',
    sentence:
      'Looks at host, settings, mail server, database and keys, and says how to fix what is not well; ends with 1 when something failed.',
    takes: ['json'],
  },
  status: {
    line: 'Says in ten lines whether all is well.',
    usage: '',
    sentence:
      'Says in ten lines which gateways run, who is online, and what is wrong; doctor says how to fix it. Ends with 1 when no gateway runs, when one does not obey what was written, or when something failed; warnings leave it at 0.',
    takes: ['watch', 'json'],
  },
  'gateway list': {
    line: 'Lists gateways.',
    usage: '',
    sentence:
      'Lists the gateways that serve the database, or did: whether each runs, and whether packets there obey all that is written.',
    takes: ['watch', 'json'],
  },
  backup: {
    line: 'Writes a backup into a file, or keeps the last ones in a folder.',
    usage: 'FILE | FOLDER --keep N',
    sentence:
      'Writes all that the database holds into a new file, while gateways run if need be. Secrets stay encrypted in it. With --keep the file gets a name in the folder and is read back; then the last N stay there, and gateways learn the time.',
    takes: ['keep', 'json'],
    operand: true,
  },
  restore: {
    line: 'Puts a backup into a database.',
    usage: 'FILE [--replace]',
    sentence:
      'Puts a backup into an empty database, of either kind, or with --replace in the place of what is there. No gateway may run on it.',
    takes: ['replace', 'json'],
    operand: true,
  },
  'database compact': {
    line: 'Shrinks a SQLite file.',
    usage: '',
    sentence: 'Writes a SQLite file anew, so that it shrinks by itself; no gateway may run on it.',
    takes: ['json'],
  },
  'keys rotate': {
    line: 'Encrypts all secrets under a new key.',
    usage: '[--online]',
    sentence:
      'Encrypts all secrets under a new key. No gateway may run on the database, or, with --online, each must have been started with both keys.',
    takes: ['online', 'json'],
  },
  'import wg-quick': {
    line: 'Takes over peers of wg-quick.',
    usage: 'FILE --email E [--create-user] [--dry-run] [--yes]',
    sentence:
      "Makes the peers of a server's wg-quick file (- for standard input) devices of a user, and says their names and what to set in the environment. At a terminal it shows the names first and asks; with --yes it asks nothing. With --create-user a user who is not there is made; with --dry-run nothing is taken over.",
    takes: ['email', 'create-user', 'dry-run', 'yes', 'json'],
    needs: ['email'],
    operand: true,
  },
  'import wg-easy': {
    line: 'Takes over clients of wg-easy.',
    usage: 'FILE --email E [--create-user] [--dry-run] [--yes]',
    sentence:
      'Makes the clients of wg-easy devices of a user: FILE is wg0.json of version 14 (- for standard input) or wg-easy.db of version 15, with wg-easy.db-wal beside it. It says and asks what import wg-quick does.',
    takes: ['email', 'create-user', 'dry-run', 'yes', 'json'],
    needs: ['email'],
    operand: true,
  },
  'import firezone': {
    line: 'Takes over what Firezone 0.7 holds.',
    usage: 'FILE [--dry-run]',
    sentence:
      'Takes over users, devices, rules and configuration from what the API of Firezone 0.7 answered (- for standard input). Users who exist already keep role and state; the command names the differences.',
    takes: ['dry-run', 'json'],
    operand: true,
  },
  version: {
    line: 'Says which version this is.',
    usage: '',
    sentence: 'Says which version of Postern this is, and of Node, SQLite and OpenSSL.',
    takes: [],
    isAlone: true,
  },
  completion: {
    line: 'Prints what a shell completes commands by.',
    usage: 'bash|zsh|fish',
    sentence:
      'Prints a script by which a shell completes commands and options. It asks no gateway. The Debian package installs it. Else put it where the shell looks: `postern completion bash > ~/.local/share/bash-completion/completions/postern`, for zsh `_postern` in a folder of `$fpath`, for fish `~/.config/fish/completions/postern.fish`.',
    takes: [],
    operand: true,
    choices: ['bash', 'zsh', 'fish'],
    isAlone: true,
  },
  man: {
    line: 'Prints the manual page.',
    usage: '',
    sentence:
      'Prints the manual page of all commands; `postern man | man -l -` shows it. The Debian package installs it.',
    takes: [],
    isAlone: true,
  },
} as const satisfies Record<string, Entry>;
