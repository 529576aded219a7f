// How a command is typed on this machine, for messages that say which command to run.

import { existsSync } from 'node:fs';

/** The command in a container, which has no npm; see config/container. */
const CONTAINERS_COMMAND = '/usr/local/bin/postern';

/** The whole command; `words` are its words after the name, such as `device list`. */
export function commandLine(words: string): string {
  return `${existsSync(CONTAINERS_COMMAND) ? 'postern' : 'npm run -s postern --'} ${words}`;
}
