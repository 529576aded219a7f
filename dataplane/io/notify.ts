// Reports the state of the process to its supervisor, for example systemd (sd_notify(3)): a
// datagram of `NAME=value` lines to a Unix socket. Node has no datagram sockets of Unix, so the
// addon sends it.

import { loadAddon } from '../native/index.ts';

/** Sends lines to the supervisor at this socket; throws where that fails. */
export function notify(socket: string, lines: readonly string[]): void {
  const { addon } = loadAddon();
  if (addon === null) throw new Error('the addon was not built; run: npm run build:native');
  addon.notify(Buffer.from(socket), Buffer.from(lines.join('\n')));
}
