// The doctor on one destination: whether this host has a route to it. A connected UDP socket asks
// the kernel, and sends nothing.

import { createSocket } from 'node:dgram';
import { failed, type Finding } from './finding.ts';

/** Any port: only the address has a route. The one of `discard` (RFC 863). */
const PORT = 9;
/** What the kernel says where no route leads: none at all, one of `unreachable`, of `blackhole`. */
const NO_ROUTE: ReadonlySet<string | undefined> = new Set([
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EINVAL',
]);

/** What is wrong with the route to an address; null: there is one, or nobody can say it. */
export async function routeTo(
  address: string,
  connect: typeof connectTo = connectTo,
): Promise<Finding | null> {
  if (!NO_ROUTE.has(await connect(address))) return null;
  const ip = address.includes(':') ? 'ip -6' : 'ip';
  return failed(
    'route',
    `this host has no route to ${address}`,
    `add one: ${ip} route add ${address} via ROUTER`,
  );
}

/** Connects a socket, and closes it; the code of the error, or undefined where there is none. */
async function connectTo(address: string): Promise<string | undefined> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  const connected = new Promise<string | undefined>((resolve) => {
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    // Node gives the error of a connection to the callback, which its types do not say.
    const done = (error?: NodeJS.ErrnoException): void => resolve(error?.code);
    socket.connect(PORT, address, done);
  });
  return connected.finally(() => socket.close());
}
