// `postern man`: the manual page of all commands, made of the grammar, in the macros of man(7).

import { version } from '../kit/process/version.ts';
import { type CommandName, commands, groups } from './grammar.ts';
import { wordsOfOption } from './help.ts';
import { usageOf } from './options.ts';
import type { Outcome } from './run.ts';

/** The widest line of a page. */
const WIDTH = 78;

/** Prints the page. */
export function printManual(): Outcome {
  // Whoever prints it ends the last line.
  return { text: manualPage(version, new Date()).trimEnd(), data: null };
}

/** The page of a version, as it is made on a day. */
export function manualPage(ofVersion: string, day: Date): string {
  const names = Object.keys(commands) as CommandName[];
  const sections = Object.entries(groups).flatMap(([title, firsts]) => [
    `.SS ${escaped(title)}`,
    ...firsts.flatMap((first) =>
      names.filter((name) => name.split(' ')[0] === first).flatMap(commandLines),
    ),
  ]);
  return `${[
    `.TH POSTERN 1 ${day.toISOString().slice(0, 10)} "Postern ${ofVersion}" "Postern"`,
    '.SH NAME',
    String.raw`postern \- a userspace VPN gateway`,
    '.SH SYNOPSIS',
    '.B postern',
    String.raw`.I command`,
    String.raw`.RI [ options ]`,
    '.SH DESCRIPTION',
    ...wrapped(
      'Postern is a VPN gateway: WireGuard, a packet filter and a REST API in one process. Without a command it serves. Commands work on the database of the gateway, so they need the settings DATA_DIR and DATABASE_… as the gateway has them.',
    ),
    '.SH COMMANDS',
    ...sections,
    '.SH OPTIONS',
    ...item('--help', 'Prints help on a command.'),
    ...item('--version', 'Says which version this is.'),
    '.SH ENVIRONMENT',
    ...wrapped(
      'Settings are environment variables, or are in the file that POSTERN_CONFIG names. The command check-config prints them all; the page reference/settings.md of the documentation explains them.',
    ),
    ...item('NO_COLOR', 'Switches colours off at a terminal.'),
    '.SH EXIT STATUS',
    '0 (done), 1 (failed) or 2 (wrong usage).',
  ].join('\n')}\n`;
}

function commandLines(name: CommandName): string[] {
  const { takes, sentence } = commands[name];
  const options = takes.flatMap((option) => {
    const [value, says] = wordsOfOption(name, option, commands[name]);
    return item(`--${option} ${value}`.trimEnd(), says);
  });
  return [
    ...item(usageOf(name, commands[name]), sentence),
    ...(options.length === 0 ? [] : ['.RS', ...options, '.RE']),
  ];
}

/** A label in bold, with a text behind it. */
function item(label: string, text: string): string[] {
  // A label is one line, however long: a macro ends with its line.
  return ['.TP', String.raw`\fB${escaped(label)}\fR`, ...wrapped(text)];
}

/** A text in lines that are no macros. */
function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of escaped(text).split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || `${line} ${word}`.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.map((line) => line.replace(/^[.']/, String.raw`\&$&`));
}

function escaped(text: string): string {
  return text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll(/[^ -~]/g, (sign) => String.raw`\[u${hexOf(sign)}]`);
}

function hexOf(sign: string): string {
  return (sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}
