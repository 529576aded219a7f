// A slow connection to a MySQL or MariaDB server: a TCP proxy on loopback that delays everything by
// the same time in each direction, and counts what the client asks of the server. A command that is
// sent after the answer to the one before costs one round trip.

import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** MySQL's packets begin with three bytes of length and one that counts within a command. */
const HEADER_BYTES = 4;
/** Commands that the server does not answer. */
const UNANSWERED: ReadonlySet<number | undefined> = new Set([0x01, 0x19]);

/** A slow connection that is open. */
export class SlowLine {
  readonly #server: Server;
  readonly #target: URL;
  /** The delay in one direction, ms. */
  delayMs = 0;
  readonly #sockets = new Set<Socket>();
  #commands = 0;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((socket) => this.#carry(socket));
  }

  /** Opens a connection to the server of a URL, without delay at first. */
  static async to(url: string): Promise<SlowLine> {
    const line = new SlowLine(new URL(url));
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    return line;
  }

  /** A URL of the server that leads through this connection. */
  get url(): string {
    const url = new URL(this.#target);
    url.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** The number of commands on all connections that the server answers. */
  get commands(): number {
    return this.#commands;
  }

  /** Ends everything. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #carry(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    const count = this.#counter();
    client.on('data', count);
    this.#join(client, server);
    this.#join(server, client);
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      setTimeout(() => to.destroy(), this.delayMs);
    });
    // Timers with the same delay fire in the order in which they were set.
    from.on('data', (bytes) => setTimeout(() => to.writable && to.write(bytes), this.delayMs));
  }

  /** Reads the packets of one client; they may come in any pieces. */
  #counter(): (bytes: Buffer) => void {
    let pending = Buffer.alloc(0);
    return (bytes) => {
      pending = Buffer.concat([pending, bytes]);
      while (pending.length > HEADER_BYTES) {
        const end = HEADER_BYTES + pending.readUIntLE(0, 3);
        if (pending.length < end) return;
        // The first packet of a client, its handshake, answers one of the server.
        if (pending[3] === 0 && !UNANSWERED.has(pending[HEADER_BYTES])) this.#commands += 1;
        pending = pending.subarray(end);
      }
    };
  }
}
