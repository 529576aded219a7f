// The UDP sockets of the TypeScript twin: node:dgram, one socket per address family on one port.
// Datagrams wait in a queue of limited length until the worker takes them.

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type Endpoint, parseAddress } from '../wire/address.ts';

const QUEUE_DATAGRAMS = 1_024;
const BUFFER_BYTES = 4 * 1024 * 1024;
/** How often another free port is tried when one turns out to be taken in one family. */
const FREE_PORT_TRIES = 16;

/** A datagram, and the address and port that it came from. */
export interface ReceivedDatagram {
  readonly bytes: Uint8Array;
  readonly address: Uint8Array;
  readonly port: number;
}

/** The sockets of both families. */
export class UdpSockets {
  readonly port: number;
  readonly #v4: Socket;
  readonly #v6: Socket | null;
  readonly #queue: ReceivedDatagram[] = [];
  readonly #onArrival: () => void;
  /** Called for each datagram that could not be sent, or that came while the queue was full. */
  readonly #onError: (kind: 'send' | 'receive') => void;

  private constructor(
    v4: Socket,
    v6: Socket | null,
    onArrival: () => void,
    onError: (kind: 'send' | 'receive') => void,
  ) {
    this.#v4 = v4;
    this.#v6 = v6;
    this.#onArrival = onArrival;
    this.#onError = onError;
    this.port = v4.address().port;
    for (const socket of [v4, v6]) {
      socket?.on('message', (bytes, remote) => this.#enqueue(bytes, remote));
      socket?.on('error', () => onError('receive'));
    }
  }

  /** Binds to a port (0: a free one) of both families; a host without IPv6 gets one socket. */
  static async open(
    port: number,
    onArrival: () => void,
    onError: (kind: 'send' | 'receive') => void,
  ): Promise<UdpSockets> {
    const [v4, v6] = await bindBoth(port);
    return new UdpSockets(v4, v6, onArrival, onError);
  }

  #enqueue(bytes: Uint8Array, remote: RemoteInfo): void {
    const address = parseAddress(remote.address.split('%')[0] ?? '');
    if (address === null || this.#queue.length === QUEUE_DATAGRAMS) return this.#onError('receive');
    this.#queue.push({ bytes, address, port: remote.port });
    this.#onArrival();
  }

  get hasArrivals(): boolean {
    return this.#queue.length > 0;
  }

  take(): ReceivedDatagram | undefined {
    return this.#queue.shift();
  }

  /** How many bytes the socket that has more to send takes before its buffer is full. */
  get sendRoom(): number {
    const queued = Math.max(...[this.#v4, this.#v6].map((one) => one?.getSendQueueSize() ?? 0));
    return Math.max(0, BUFFER_BYTES - queued);
  }

  send(bytes: Uint8Array, to: Endpoint): void {
    const socket = to.address.includes(':') ? this.#v6 : this.#v4;
    if (socket === null) return this.#onError('send');
    try {
      socket.send(bytes, to.port, to.address, (error) => {
        if (error !== null) this.#onError('send');
      });
    } catch {
      // Anybody can send from port 0; node:dgram throws for an address that cannot be one.
      this.#onError('send');
    }
  }

  close(): void {
    this.#v4.close();
    this.#v6?.close();
  }
}

/**
 * Whether another port should be tried: the system chose this one, and in one family it is taken.
 */
export function mayTryAnotherPort(error: unknown, port: number, tries: number): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return port === 0 && code === 'EADDRINUSE' && tries < FREE_PORT_TRIES;
}

async function bindBoth(port: number): Promise<[Socket, Socket | null]> {
  for (let tries = 1; ; tries++) {
    const v4 = await bind('udp4', port);
    try {
      return [v4, await bind('udp6', v4.address().port)];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAFNOSUPPORT') return [v4, null];
      v4.close();
      if (!mayTryAnotherPort(error, port, tries)) throw error;
    }
  }
}

async function bind(type: 'udp4' | 'udp6', port: number): Promise<Socket> {
  const socket = createSocket({
    type,
    ipv6Only: type === 'udp6',
    recvBufferSize: BUFFER_BYTES,
    sendBufferSize: BUFFER_BYTES,
  });
  socket.bind(port);
  try {
    await once(socket, 'listening');
  } catch (error) {
    socket.close();
    throw error;
  }
  return socket;
}
