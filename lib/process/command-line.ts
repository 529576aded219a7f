// How a command is typed on this machine, for whoever is told to run one.

import { existsSync } from 'node:fs';

/** In a container, which has no npm; config/container. */
const CONTAINERS_COMMAND = '/usr/local/bin/postern';

/** `words` as they follow the name: `device list`. */
export function commandLine(words: string): string {
  return `${existsSync(CONTAINERS_COMMAND) ? 'postern' : 'npm run -s postern --'} ${words}`;
}
