// The host's sockets of a worker by the addon, and how many of them may be of UDP.

import { constants } from 'node:os';
import { markAsUntransferable } from 'node:worker_threads';
import type { Addon, NativeSockets } from '../native/index.ts';
import {
  type DestinationKind,
  type HostRoute,
  type HostSockets,
  type HostSocketsOptions,
  PIECE_WORDS,
  SOCKET_ERROR_WORDS,
  SOCKET_EVENT_WORDS,
  SOCKET_PIECES_MAX,
} from '../socket-contract.ts';
import { readSysctl } from './system.ts';

/** Types of routes (rtnetlink(7), RTN_) that are no errors. */
const KINDS: Readonly<Record<number, DestinationKind>> = {
  1: 'unicast',
  2: 'local',
  3: 'broadcast',
  // An address that several hosts have, this one too.
  4: 'local',
  5: 'multicast',
  6: 'blackhole',
  7: 'unreachable',
  8: 'prohibit',
};

const { EACCES, EHOSTUNREACH, EINVAL, ENETUNREACH } = constants.errno;
/** What the kernel answers in place of a route. */
const REFUSALS: Readonly<Record<number, DestinationKind>> = {
  [EACCES]: 'prohibit',
  [EHOSTUNREACH]: 'unreachable',
  [EINVAL]: 'blackhole',
  [ENETUNREACH]: 'unreachable',
};

/** The memory that both kinds of sockets share with who uses them. */
export function createSocketMemory(
  eventsMax: number,
): Pick<HostSockets, 'pieces' | 'events' | 'error'> {
  return {
    pieces: new Int32Array(SOCKET_PIECES_MAX * PIECE_WORDS),
    events: new Int32Array(eventsMax * SOCKET_EVENT_WORDS),
    error: new Int32Array(SOCKET_ERROR_WORDS),
  };
}

/** The part of the ports that is left to the rest of the host: its resolver, the gateway's own. */
const PORTS_RESERVED = 1 / 4;
/** Where the system tells no ports, it has these (ip(7)). */
const PORTS_USUAL = '32768 60999';

/**
 * How many sockets of UDP each of some workers may have. The kernel gives each one a port of
 * `range` that no other socket has, wherever it leads; TCP may use a port for many hosts.
 */
export function portsForEach(
  workers: number,
  range = readSysctl('ipv4/ip_local_port_range') ?? PORTS_USUAL,
): number {
  const [first = 0, last = 0] = range.split(/\s+/).map(Number);
  return Math.floor(((last - first + 1) * (1 - PORTS_RESERVED)) / workers);
}

/**
 * What an address is wherever it is asked about; null: the host must be asked. An IPv6 address that
 * holds an IPv4 one would pass by what is known of that one.
 */
export function knownKind(address: Uint8Array): DestinationKind | null {
  if (address.length === 4) {
    const [first = 0] = address;
    if (first === 0 || first === 127) return 'local';
    if (first >= 224 && first < 240) return 'multicast';
    return address.every((byte) => byte === 255) ? 'broadcast' : null;
  }
  if (address[0] === 0xff) return 'multicast';
  if (address.subarray(0, 10).some((byte) => byte !== 0)) return null;
  if (address[10] === 255 && address[11] === 255) return 'unreachable';
  const isLow = address.subarray(10, 15).every((byte) => byte === 0);
  return isLow && address[15]! <= 1 ? 'local' : null;
}

/** The sockets of the addon. */
export class NativeHostSockets implements HostSockets {
  readonly descriptor: number;
  readonly pieces: Int32Array;
  readonly events: Int32Array;
  readonly error: Int32Array;
  readonly #addon: Addon;
  readonly #interfaceName: string;
  readonly #sockets: NativeSockets;
  readonly #source = new Uint8Array(16);

  /** Throws where the kernel gives no descriptor for events. */
  constructor(addon: Addon, options: HostSocketsOptions) {
    const memory = createSocketMemory(options.eventsMax);
    this.pieces = memory.pieces;
    this.events = memory.events;
    this.error = memory.error;
    const { arenas, capacity } = options;
    // The addon keeps pointers into this memory.
    for (const { buffer } of [...arenas, ...Object.values(memory)])
      if (buffer instanceof ArrayBuffer) markAsUntransferable(buffer);
    this.#addon = addon;
    this.#interfaceName = options.interfaceName ?? '';
    const interfaceName = this.#interfaceName;
    this.#sockets = addon.createSockets({ ...memory, arenas, capacity, interfaceName });
    this.descriptor = this.#sockets.descriptor;
  }

  get count(): number {
    return this.#sockets.count();
  }

  connectTcp(address: Uint8Array, port: number, room = 0): number {
    return this.#sockets.connectTcp(address, port, room);
  }

  connectUdp(address: Uint8Array, port: number, room = 0): number {
    return this.#sockets.connectUdp(address, port, room);
  }

  openPair(room: number): number {
    return this.#sockets.openPair(room);
  }

  openEcho(address: Uint8Array): number {
    return this.#sockets.openEcho(address);
  }

  takeEvents(): number {
    return this.#sockets.takeEvents();
  }

  read(handle: number, count: number): number {
    return this.#sockets.read(handle, count);
  }

  write(handle: number, count: number): number {
    return this.#sockets.write(handle, count);
  }

  end(handle: number): number {
    return this.#sockets.end(handle);
  }

  setRoom(handle: number, direction: number, bytes: number): number {
    return this.#sockets.setRoom(handle, direction, bytes);
  }

  receive(handle: number, count: number): number {
    return this.#sockets.receive(handle, count);
  }

  send(handle: number, count: number): number {
    return this.#sockets.send(handle, count);
  }

  sendFragmented(handle: number): number {
    return this.#sockets.sendFragmented(handle);
  }

  takeError(handle: number): number {
    return this.#sockets.takeError(handle);
  }

  pathMtu(handle: number): number {
    return this.#sockets.pathMtu(handle);
  }

  verify(count: number): void {
    this.#sockets.verify(count);
  }

  closeSocket(handle: number): number {
    return this.#sockets.closeSocket(handle);
  }

  resetSocket(handle: number): number {
    return this.#sockets.resetSocket(handle);
  }

  routeTo(address: Uint8Array): HostRoute {
    const known = knownKind(address);
    if (known !== null) return { kind: known, source: null };
    const type = this.#addon.findRoute(address, this.#interfaceName, this.#source);
    if (type < 0) return { kind: REFUSALS[-type] ?? 'unknown', source: null };
    const source = this.#source.slice(0, address.length);
    const hasSource = source.some((byte) => byte !== 0);
    return { kind: KINDS[type] ?? 'unknown', source: hasSource ? source : null };
  }

  close(): void {
    this.#sockets.close();
  }
}
