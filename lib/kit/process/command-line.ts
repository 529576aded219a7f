// How a command is typed on this machine, for messages that say which command to run.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where the image (config/container) and the Debian package have the command, without npm. */
const INSTALLED = ['/usr/local/bin/postern', '/usr/bin/postern'];
/** The Node of a release, which needs no npm. */
const OWN_NODE = new URL('../../../runtime/node', import.meta.url);
const LAUNCHER = new URL('../../postern', import.meta.url);

/** The whole command; `words` are its words after the name, such as `device list`. */
export function commandLine(words: string): string {
  return `${program()} ${words}`;
}

function program(): string {
  if (INSTALLED.some((path) => existsSync(path))) return 'postern';
  return existsSync(OWN_NODE) ? fileURLToPath(LAUNCHER) : 'npm run -s postern --';
}
