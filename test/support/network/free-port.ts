// Ports of this host that nobody uses. They are below those that Linux gives to connections that
// leave, so that nobody takes one before the server of a test does.

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST = 20_000;
const END = 32_768;

/** A TCP port of loopback. */
export function freePort(): Promise<number> {
  return tryPorts(async (port) => {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  });
}

/** A UDP port of all addresses, IPv4 and IPv6. */
export function freeUdpPort(): Promise<number> {
  return tryPorts(async (port) => {
    const socket = createSocket('udp6').bind(port);
    await once(socket, 'listening');
    socket.close();
    await once(socket, 'close');
  });
}

/** Tries ports until one can be opened. */
async function tryPorts(open: (port: number) => Promise<void>): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    try {
      await open(port);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
