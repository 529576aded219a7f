// Relays TCP connections of devices: it takes a connection that the kernel redirected here, opens
// another one to where the device wanted to go, and copies both ways. A gateway without root needs
// it: pasta, which carries what leaves, keeps no segment that comes out of order and has no
// congestion control, so it must not be the other end of a connection over the internet
// (decisions/2026-11-27-relay.md).

import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Destination } from '../native/index.ts';
import { parseAddress } from '../wire/address.ts';
import { isInNetwork, type NetworkRange } from '../wire/network.ts';

export interface RelayOptions {
  /** Where a connection was bound for before the kernel redirected it; null: it was not. */
  readonly destinationOf: (socket: Socket) => Destination | null;
  /** How many connections it carries at once, in all and from one address. */
  readonly capacity: number;
  readonly share: number;
  /** Counts connections: one of RELAY_. */
  readonly count: (what: number, by: 1 | -1) => void;
}

/** Connections for which there was no room. */
export const RELAY_REFUSED = 0;
/** Those that it carries now. */
export const RELAY_CARRIED = 1;

/** The ports to which connections are to be redirected; null: this host lacks the family. */
export interface RelayPorts {
  readonly ipv4: number | null;
  readonly ipv6: number | null;
}

/** From where no connection may go on: addresses, and networks behind devices. */
export interface Left {
  readonly addresses: readonly string[];
  readonly networks: readonly NetworkRange[];
}

/** How long a host may take to answer. */
const CONNECT_MS = 30_000;
/** How long a side that only has to take the last bytes may take none. */
const LINGER_MS = 60_000;
/** Options of all sockets. */
const SOCKET = {
  allowHalfOpen: true,
  /**
   * Nothing is read while bytes wait to be written: with a limit in bytes, single bytes could wait,
   * and each takes 300 bytes of memory.
   */
  highWaterMark: 1,
  noDelay: true,
  /** After so much silence, in ms, a side is asked whether it is still there (RFC 9293, 3.8.4). */
  keepAlive: true,
  keepAliveInitialDelay: 600_000,
};

/** A connection of a device, and the one to its host, which may not be there yet. */
interface Pair {
  /** The address of the device. */
  readonly from: string;
  readonly inner: Socket;
  readonly outer: Socket;
}

export class Relay {
  readonly #options: RelayOptions;
  readonly #servers = new Set<Server>();
  readonly #open = new Set<Pair>();
  /** How many of them come from an address. */
  readonly #ofAddress = new Map<string, number>();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Listens on a free port of each family. */
  async listen(): Promise<RelayPorts> {
    return { ipv4: await this.#listenAt('0.0.0.0'), ipv6: await this.#listenAt('::') };
  }

  /** Ends all connections. */
  close(): void {
    for (const server of this.#servers) server.close();
    for (const pair of this.#open) resetBoth(pair);
  }

  /** Ends all connections from these addresses and networks. */
  resetFrom({ addresses, networks }: Left): void {
    const left = new Set(addresses);
    for (const pair of this.#open)
      if (left.has(pair.from) || isInOne(networks, pair.from)) resetBoth(pair);
  }

  async #listenAt(host: string): Promise<number | null> {
    const server = createServer({ ...SOCKET, pauseOnConnect: true }, (inner) => this.#take(inner));
    const isListening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen({ host, port: 0, ipv6Only: true }, () => resolve(true));
    });
    if (!isListening) return null;
    // A connection that cannot be accepted: this process has as many files open as it may.
    server.on('error', () => this.#refuse());
    this.#servers.add(server);
    return (server.address() as AddressInfo).port;
  }

  #take(inner: Socket): void {
    inner.on('error', ignore);
    const destination = this.#options.destinationOf(inner);
    // A connection that is closed already has no address.
    const from = inner.remoteAddress;
    if (destination === null || from === undefined) return reset(inner);
    if (!this.#hasRoomFor(from)) {
      this.#refuse();
      return reset(inner);
    }
    const { address, port } = destination;
    const outer = connect({ ...SOCKET, host: address, port });
    this.#count({ from, inner, outer });
    outer.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EMFILE' || code === 'ENFILE') this.#refuse();
    });
    outer.setTimeout(CONNECT_MS, () => reset(outer));
    outer.once('connect', () => {
      outer.setTimeout(0);
      inner.pipe(outer);
      outer.pipe(inner);
    });
    endTogether(inner, outer);
    endTogether(outer, inner);
  }

  #refuse(): void {
    this.#options.count(RELAY_REFUSED, 1);
  }

  #hasRoomFor(from: string): boolean {
    const { capacity, share } = this.#options;
    return this.#open.size < capacity && (this.#ofAddress.get(from) ?? 0) < share;
  }

  /** Counts a connection until both of its sides are closed. */
  #count(pair: Pair): void {
    const { from, inner, outer } = pair;
    this.#open.add(pair);
    this.#options.count(RELAY_CARRIED, 1);
    this.#ofAddress.set(from, (this.#ofAddress.get(from) ?? 0) + 1);
    let open = 2;
    const end = (): void => {
      open -= 1;
      if (open > 0) return;
      this.#open.delete(pair);
      this.#options.count(RELAY_CARRIED, -1);
      const left = this.#ofAddress.get(from)! - 1;
      if (left === 0) this.#ofAddress.delete(from);
      else this.#ofAddress.set(from, left);
    };
    inner.once('close', end);
    outer.once('close', end);
  }
}

function isInOne(networks: readonly NetworkRange[], text: string): boolean {
  const address = networks.length === 0 ? null : parseAddress(text);
  return address !== null && networks.some((range) => isInNetwork(address, range));
}

function resetBoth({ inner, outer }: Pair): void {
  reset(inner);
  reset(outer);
}

/**
 * If a side closes before all bytes were sent both ways, the other side is closed too. If all were
 * sent, the other side still has to take them, and may do nothing for a while.
 */
function endTogether(socket: Socket, other: Socket): void {
  socket.once('close', () => {
    if (!socket.readableEnded || !socket.writableFinished) return reset(other);
    other.setTimeout(LINGER_MS, () => reset(other));
  });
}

/** Ends a connection so that its other end sees an error, and not the end of the data. */
function reset(socket: Socket): void {
  if (socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}

function ignore(): void {
  // A socket that failed is closed, and its event `close` is handled.
}
