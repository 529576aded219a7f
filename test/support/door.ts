// A way from the hosts of a test to a server that listens on this machine's loopback alone.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** An open way. */
export interface Door {
  readonly port: number;
  /** Ends it with all connections through it. */
  close(): void;
}

/** Opens an address of this machine to a port of its loopback. */
export async function openDoor(address: string, port: number): Promise<Door> {
  const sockets = new Set<Socket>();
  const door = createServer((inside) => {
    const outside = connect(port, '127.0.0.1');
    inside.pipe(outside).pipe(inside);
    for (const socket of [inside, outside]) {
      sockets.add(socket);
      // Whoever ends, and however, both ends are gone: a server that dies resets its clients.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        inside.destroy();
        outside.destroy();
      });
    }
  });
  door.listen(0, address);
  await once(door, 'listening');
  const bound = door.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    close: () => {
      for (const socket of sockets) socket.destroy();
      door.close();
    },
  };
}

/** The URL of a database on a server of loopback, through a door. */
export function urlThrough(server: string, address: string, door: Door, name: string): string {
  const url = new URL(server);
  url.hostname = address;
  url.port = String(door.port);
  url.pathname = name;
  return url.href;
}
