// Shows a person the password and the token that the first start made. On a terminal they are
// printed. Under systemd or in a container, output is collected and kept. So there they are written
// to a file that only its owner can read, and the log names the file.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { type Config, isBehindProxy } from '../../../config/index.ts';
import { letInCommand } from '../../auth/administrators.ts';
import { localUrl } from '../../kit/http/ask-readiness.ts';
import { commandLine } from '../../kit/process/command-line.ts';
import type { FirstCredentials } from './first-administrator.ts';
import { replaceFile } from './first-start.ts';
import type { Log } from '../../kit/process/log.ts';
import { messageOf } from '../../kit/process/message.ts';

/** Where the credentials are shown. */
export interface Listener {
  readonly isTerminal: boolean;
  readonly print: (text: string) => void;
}

const standardOutput: Listener = {
  isTerminal: process.stdout.isTTY,
  print: (text) => void process.stdout.write(text),
};

/** The file of the credentials, for a start without a terminal. */
export function credentialsFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(resolve(dataDir), 'first-administrator.txt');
}

/** The file of the credentials if it still exists, else null. */
export function forgottenCredentials(config: Pick<Config, 'dataDir'>): string | null {
  const file = credentialsFile(config);
  return existsSync(file) ? file : null;
}

/** Shows the credentials, once. */
export function showCredentials(
  credentials: FirstCredentials,
  config: Config,
  log: Log,
  { isTerminal, print }: Listener = standardOutput,
): void {
  if (isTerminal)
    return print(credentialsText('These are shown once and are not stored:', credentials, config));
  const file = credentialsFile(config);
  try {
    const head = 'These are only in this file. Keep them in a safe place, then delete the file:';
    replaceFile(file, credentialsText(head, credentials, config));
    log.info(
      { file },
      'password and API token of the first administrator are in this file: read it, then delete it',
    );
  } catch (error) {
    const help = letInCommand(credentials.email);
    log.error(
      { file, fault: messageOf(error), help },
      'the file with the password of the first administrator could not be written; this command makes a new password',
    );
  }
}

function credentialsText(
  head: string,
  { email, password, token }: FirstCredentials,
  config: Config,
): string {
  return [
    '',
    `This is the first start. ${head}`,
    '',
    `  e-mail     ${email}`,
    `  password   ${password}`,
    `  API token  ${token}`,
    '',
    ...consoleLines(config),
    'Or make a first device here and scan its code:',
    '',
    `  ${commandLine(`device create --email ${email} --name phone --qr`)}`,
    '',
    'The API can do this and everything else:',
    '',
    `  curl -H 'Authorization: Bearer ${token}' ${answeringUrl(config)}v0/configuration`,
    '',
    `If devices do not get through: ${commandLine('doctor')}`,
    '',
    '',
  ].join('\n');
}

/** Where the console answers. At the first start of a gateway no proxy is in front of it yet. */
function consoleLines(config: Config): string[] {
  const { externalUrl, httpPort } = config;
  if (!isBehindProxy(config)) return [`Sign in to the console at ${externalUrl}`];
  return [
    `Sign in to the console at ${answeringUrl(config)} on this host. From another host, first run:`,
    '',
    `  ssh -L ${httpPort}:127.0.0.1:${httpPort} HOST`,
    '',
    `It is at ${externalUrl} once HTTPS is set up there.`,
  ];
}

function answeringUrl(config: Config): string {
  return isBehindProxy(config) ? new URL('/', localUrl(config)).href : config.externalUrl;
}
