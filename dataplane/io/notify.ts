// What the process tells the one that started it, systemd say (sd_notify(3)): a datagram of
// `NAME=value` lines to a Unix socket. Node has no such sockets, so the addon sends it.

import { loadAddon } from '../native/index.ts';

/** Tells the supervisor at this socket; throws where it cannot be told. */
export function notify(socket: string, lines: readonly string[]): void {
  const { addon } = loadAddon();
  if (addon === null) throw new Error('the addon was not built; run: npm run build:native');
  addon.notify(Buffer.from(socket), Buffer.from(lines.join('\n')));
}
