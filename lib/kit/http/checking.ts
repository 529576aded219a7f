// How many clients a server has, and when Node looks for slow ones. It looks at all connections of
// a server again and again, also while there are none, which wakes a gateway at rest. Here it looks
// only while there are some.

import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The longest time of a timer. */
const NEVER_MS = 2 ** 31 - 1;

/** A server, and how often Node looks; Node reads it when its own listener is called. */
type Checked = Server & { connectionsCheckingInterval: number };

/** Connections that servers have. */
const open = new WeakMap<Server, number>();

/** How many connections a server has, those that devices have brought by a door among them. */
export function openConnections(server: Server): number {
  return open.get(server) ?? 0;
}

/** Lets Node look so often while there are connections. Called before anybody else listens. */
export function checkWhileConnected(server: Server, everyMs: number): void {
  const checked = server as Checked;
  const begins = server.listeners('listening') as ((this: Server) => void)[];
  const check = (ms: number): void => {
    checked.connectionsCheckingInterval = ms;
    if (server.listening) for (const begin of begins) begin.call(server);
  };
  // Where Node begins to look in another way, it looks all the time.
  const restMs = begins.length === 0 ? everyMs : NEVER_MS;
  check(restMs);
  const count = (by: 1 | -1): number => {
    const now = openConnections(server) + by;
    open.set(server, now);
    return now;
  };
  server.on('connection', (socket: Socket) => {
    if (count(1) === 1 && restMs !== everyMs) check(everyMs);
    socket.once('close', () => {
      if (count(-1) === 0 && restMs !== everyMs) check(restMs);
    });
  });
}
