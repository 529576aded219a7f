// When Node looks for slow clients. It looks at all connections of a server again and again, also
// while there are none, which wakes a gateway at rest. Here it looks only while there are some.

import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The longest time of a timer. */
const NEVER_MS = 2 ** 31 - 1;

/** A server, and how often Node looks; Node reads it when its own listener is called. */
type Checked = Server & { connectionsCheckingInterval: number };

/** Lets Node look so often while there are connections. Called before anybody else listens. */
export function checkWhileConnected(server: Server, everyMs: number): void {
  const checked = server as Checked;
  const begins = server.listeners('listening') as ((this: Server) => void)[];
  const check = (ms: number): void => {
    checked.connectionsCheckingInterval = ms;
    if (server.listening) for (const begin of begins) begin.call(server);
  };
  // Where Node begins to look in another way, it looks all the time.
  if (begins.length === 0) return check(everyMs);
  check(NEVER_MS);
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    if (open === 1) check(everyMs);
    socket.once('close', () => {
      open -= 1;
      if (open === 0) check(NEVER_MS);
    });
  });
}
