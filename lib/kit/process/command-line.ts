// How a command is typed on this machine, for messages that say which command to run.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The command in a container, which has no npm; see config/container. */
const CONTAINERS_COMMAND = '/usr/local/bin/postern';
/** The launcher of the Debian package, whose command is on the path; see config/debian. */
const PACKAGED = '/usr/lib/postern/lib/postern';
/** The Node of a release, which needs no npm. */
const OWN_NODE = new URL('../../../runtime/node', import.meta.url);
/** The path of the program that runs. */
export const LAUNCHER = fileURLToPath(new URL('../../postern', import.meta.url));

/** What the launcher (`lib/postern`) says of how it was started, before what was typed. */
const STARTED_AS = '--started-as=';

let startedAs: string | null = null;

/** Takes off what the launcher says of how it was started, so that hints name the program so. */
export function withoutStartedAs(argv: readonly string[]): readonly string[] {
  const [first = '', ...typed] = argv;
  if (!first.startsWith(STARTED_AS)) return argv;
  startedAs = first.slice(STARTED_AS.length);
  return typed;
}

/** The whole command; `words` are its words after the name, such as `device list`. */
export function commandLine(words: string): string {
  return `${program()} ${words}`;
}

function program(): string {
  if (LAUNCHER === PACKAGED || existsSync(CONTAINERS_COMMAND)) return 'postern';
  if (startedAs !== null) return startedAs;
  return existsSync(OWN_NODE) ? LAUNCHER : 'npm run -s postern --';
}
