// The place of the socket for commands. It is apart from the listener, because a command that finds
// no socket there loads nothing of HTTP.

import { join } from 'node:path';

/** The file of the socket. */
export function localSocketPath({ dataDir }: { readonly dataDir: string }): string {
  return join(dataDir, 'gateway.sock');
}
