// Devices that ask the listener at the gateway's own address in the tunnel. The data plane ends
// their TCP, and gives each connection as a descriptor. The listener takes it as one that came from
// the address of the device.

import type { Server } from 'node:http';
import { isIPv6, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { DoorConnection } from '../../../dataplane/index.ts';

/** Whether a listener at this address takes what comes to any address of its host. */
export function listensEverywhere(host: string): boolean {
  return ipaddr.isValid(host) && ipaddr.parse(host).range() === 'unspecified';
}

/** The other end of a connection, as far as its limits are concerned. */
export type Peer = Pick<Socket, 'remoteAddress'>;

/** Sockets of devices. */
const doorSockets = new WeakSet<object>();

/**
 * Whether a connection came by a door. Then the other end is a device, or behind one, whatever its
 * address says: a network behind a device may hold addresses that others have, too.
 */
export function cameByDoor(socket: Peer & { readonly _parent?: Socket | null }): boolean {
  // A socket of TLS is another one than that beneath it.
  return doorSockets.has(socket) || doorSockets.has(socket._parent ?? socket);
}

/** Gives connections of devices to a listener. */
export class Door {
  readonly #listener: Server;
  readonly #most: number;
  readonly #open = new Set<Socket>();
  #ended = (): void => undefined;

  /** `connectionsMax`: as many at a time, beside those that the listener takes itself. */
  constructor(listener: Server, connectionsMax: number) {
    this.#listener = listener;
    this.#most = connectionsMax;
  }

  /** How many connections of devices are open. */
  get open(): number {
    return this.#open.size;
  }

  readonly take = (connection: DoorConnection): void => {
    const socket = socketOf(connection);
    // Whoever has no address would not be taken for a device.
    if (!this.#listener.listening || socket.remoteAddress !== connection.address) {
      socket.destroy();
      return;
    }
    if (this.#open.size >= this.#most) {
      socket.destroy();
      this.#listener.emit('drop');
      return;
    }
    this.#open.add(socket);
    doorSockets.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#open.size === 0) this.#ended();
    });
    this.#listener.emit('connection', socket);
  };

  /**
   * Waits until no connection is left: a listener that closes waits for its own alone. After `ms`
   * those that are left are ended.
   */
  async drain(ms: number): Promise<void> {
    if (this.#open.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = resolve;
    const timer = setTimeout(() => {
      for (const socket of this.#open) socket.destroy();
    }, ms);
    await promise;
    clearTimeout(timer);
  }
}

/** A socket of Node, and what it has of the kernel. */
type Handled = Socket & { readonly _handle: { getpeername?: (found: object) => number } };

/**
 * The socket of a descriptor. It has no address of its own, so it is given that of the device where
 * Node looks for it: TLS over this socket looks there, too.
 */
function socketOf({ descriptor, address, sourcePort: port }: DoorConnection): Socket {
  const socket = new Socket({ fd: descriptor, allowHalfOpen: true }) as Handled;
  const family = isIPv6(address) ? 'IPv6' : 'IPv4';
  socket._handle.getpeername = (found) => {
    Object.assign(found, { address, port, family });
    return 0;
  };
  return socket;
}
