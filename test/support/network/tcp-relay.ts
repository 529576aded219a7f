// A TCP relay from the hosts of a test to a server that listens on this machine's loopback alone.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A relay that listens. */
export interface TcpRelay {
  readonly port: number;
  /** Ends it with all connections through it. */
  close(): void;
}

/** Listens at an address of this machine and connects each client to a port of its loopback. */
export async function openRelay(address: string, port: number): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  const relay = createServer((inside) => {
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
  relay.listen(0, address);
  await once(relay, 'listening');
  const bound = relay.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    close: () => {
      for (const socket of sockets) socket.destroy();
      relay.close();
    },
  };
}

/** The URL of a database on a server of loopback, through a relay. */
export function urlThrough(server: string, address: string, relay: TcpRelay, name: string): string {
  const url = new URL(server);
  url.hostname = address;
  url.port = String(relay.port);
  url.pathname = name;
  return url.href;
}
