// The host's sockets on node:net and node:dgram, for tests and for machines without a compiler: the
// contract of the addon's sockets, with these differences. They allocate, and copy once more. There
// is no ping socket, no pair, no interface to be bound to, no MTU of a path and no room in the
// kernel, and of what is lost only what the twin itself had no room for is counted. No route is
// known: what is no address of this host and of no special kind is `unicast`.

import { constants, networkInterfaces } from 'node:os';
import {
  HOST_SOCKETS_MAX,
  type HostRoute,
  type HostSockets,
  type HostSocketsOptions,
  PIECE_ARENA,
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_OFFSET,
  PIECE_SEGMENT,
  PIECE_WORDS,
  SOCKET_EVENT_ERROR,
  SOCKET_EVENT_FLAGS,
  SOCKET_EVENT_HANDLE,
  SOCKET_EVENT_WORDS,
  SOCKET_LOST,
  SOCKET_PIECES_MAX,
} from '../socket-contract.ts';
import { formatAddress, parseAddress } from '../wire/address.ts';
import { createSocketMemory, knownKind } from './host-sockets.ts';
import { TwinDatagrams } from './twin-datagrams.ts';
import { type Report, TwinStream } from './twin-streams.ts';

const { EAGAIN, EBADF, EBADMSG, EFAULT, EHOSTUNREACH, EMFILE, EMSGSIZE } = constants.errno;
const { ENETUNREACH, EOPNOTSUPP, EPROTONOSUPPORT } = constants.errno;
const GENERATION_SHIFT = 16;
const GENERATIONS = 2 ** 15;
/** So long hosts may read what they have not read when all sockets are closed. */
const LAST_MS = 1_000;

/** An address and a port, as text and number. */
export interface Spot {
  readonly address: string;
  readonly port: number;
}

/** Where a connection to a spot is led in tests: to another spot; null: nobody is there. */
export type Lead = (spot: Spot) => Spot | null;

/** The twin. */
export class TwinHostSockets implements HostSockets {
  readonly descriptor = -1;
  readonly pieces: Int32Array;
  readonly events: Int32Array;
  readonly error: Int32Array;
  readonly #arenas: readonly Uint8Array[];
  readonly #eventsMax: number;
  readonly #onEvents: () => void;
  readonly #lead: Lead | null;
  readonly #open = new Map<number, TwinStream | TwinDatagrams>();
  /** Closed, but their hosts have not read all. */
  readonly #ending = new Set<TwinStream>();
  readonly #generations: Uint16Array;
  /** Places that are free, in the order in which they became free. */
  readonly #free: number[];
  /** What will be reported, by handle. */
  readonly #pending = new Map<number, { flags: number; error: number }>();
  #isClosed = false;

  /** `onEvents` is called when there are events; `lead`: null, each spot is itself. */
  constructor(options: HostSocketsOptions, onEvents: () => void, lead: Lead | null = null) {
    const { capacity, arenas, eventsMax } = options;
    if (options.interfaceName !== null)
      throw new Error('the sockets of the TypeScript engine cannot be bound to an interface');
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > HOST_SOCKETS_MAX)
      throw new TypeError('the capacity is no whole number, or out of range');
    const memory = createSocketMemory(eventsMax);
    this.pieces = memory.pieces;
    this.events = memory.events;
    this.error = memory.error;
    this.#arenas = arenas;
    this.#eventsMax = eventsMax;
    this.#onEvents = onEvents;
    this.#lead = lead;
    this.#generations = new Uint16Array(capacity);
    this.#free = Array.from({ length: capacity }, (_, place) => place);
  }

  get count(): number {
    return this.#open.size;
  }

  /** Whether there are events that were not taken yet. */
  get hasEvents(): boolean {
    return this.#pending.size > 0;
  }

  connectTcp(address: Uint8Array, port: number): number {
    return this.#add(address, port, (to, report) => new TwinStream(to.address, to.port, report));
  }

  connectUdp(address: Uint8Array, port: number): number {
    const lose = (): void => void this.error[SOCKET_LOST]!++;
    return this.#add(
      address,
      port,
      (to, report) => new TwinDatagrams(to.address, to.port, report, lose),
    );
  }

  openPair(_room: number): number {
    return -EOPNOTSUPP;
  }

  openEcho(_address: Uint8Array): number {
    return -EPROTONOSUPPORT;
  }

  #add(
    address: Uint8Array,
    port: number,
    make: (to: Spot, report: Report) => TwinStream | TwinDatagrams,
  ): number {
    this.#assertOpen();
    if (address.length !== 4 && address.length !== 16)
      throw new TypeError('an address of 4 or 16 bytes is expected');
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new TypeError('a whole number is expected, and one that is not out of range');
    // Node would connect to the IPv4 address that such an address holds.
    if (knownKind(address) === 'unreachable') return -ENETUNREACH;
    const asked = { address: formatAddress(address), port };
    const spot = this.#lead === null ? asked : this.#lead(asked);
    if (spot === null) return -EHOSTUNREACH;
    const place = this.#free.shift();
    if (place === undefined) return -EMFILE;
    const generation = (this.#generations[place]! % (GENERATIONS - 1)) + 1;
    this.#generations[place] = generation;
    const handle = (generation << GENERATION_SHIFT) | place;
    const report: Report = (flags, error = 0) => this.#note(handle, flags, error);
    this.#open.set(handle, make(spot, report));
    return handle;
  }

  #note(handle: number, flags: number, error: number): void {
    if (!this.#open.has(handle)) return;
    const before = this.#pending.get(handle);
    this.#pending.set(handle, {
      flags: flags | (before?.flags ?? 0),
      error: error === 0 ? (before?.error ?? 0) : error,
    });
    this.#onEvents();
  }

  takeEvents(): number {
    this.#assertOpen();
    let count = 0;
    for (const [handle, { flags, error }] of this.#pending) {
      if (count === this.#eventsMax) break;
      const at = count++ * SOCKET_EVENT_WORDS;
      this.events[at + SOCKET_EVENT_HANDLE] = handle;
      this.events[at + SOCKET_EVENT_FLAGS] = flags;
      this.events[at + SOCKET_EVENT_ERROR] = error;
      this.#pending.delete(handle);
    }
    return count;
  }

  read(handle: number, count: number): number {
    const stream = this.#stream(handle);
    if (stream === null) return -EBADF;
    const rooms = this.#gather(count);
    return rooms === null || rooms.some(isEmpty) ? -EFAULT : stream.read(rooms);
  }

  write(handle: number, count: number): number {
    const stream = this.#stream(handle);
    if (stream === null) return -EBADF;
    const parts = this.#gather(count);
    return parts === null || parts.some(isEmpty) ? -EFAULT : stream.write(parts);
  }

  end(handle: number): number {
    return this.#stream(handle)?.end() ?? -EBADF;
  }

  setRoom(handle: number, _direction: number, bytes: number): number {
    return this.#stream(handle) === null ? -EBADF : bytes;
  }

  receive(handle: number, count: number): number {
    const datagrams = this.#datagrams(handle);
    if (datagrams === null) return -EBADF;
    const rooms = this.#gather(count);
    if (rooms === null) return -EFAULT;
    for (const [i, room] of rooms.entries()) {
      const bytes = datagrams.take();
      if (bytes === undefined) return i === 0 ? -EAGAIN : i;
      room.set(bytes.subarray(0, room.length));
      const at = i * PIECE_WORDS;
      this.pieces[at + PIECE_LENGTH] = Math.min(bytes.length, room.length);
      this.pieces[at + PIECE_SEGMENT] = 0;
      this.pieces[at + PIECE_ERROR] = bytes.length > room.length ? EMSGSIZE : 0;
    }
    return rooms.length;
  }

  send(handle: number, count: number): number {
    const datagrams = this.#datagrams(handle);
    if (datagrams === null) return -EBADF;
    const parts = this.#gather(count);
    if (parts === null) return -EFAULT;
    let sent = 0;
    for (const [i, bytes] of parts.entries()) {
      const at = i * PIECE_WORDS;
      const result = sendRun(datagrams, bytes, this.pieces[at + PIECE_SEGMENT]!);
      this.pieces[at + PIECE_ERROR] = -result;
      if (result === 0) sent++;
    }
    return sent;
  }

  /** Node's sockets do so with each datagram that is too large. */
  sendFragmented(handle: number): number {
    return this.send(handle, 1);
  }

  takeError(handle: number): number {
    const datagrams = this.#datagrams(handle);
    if (datagrams === null) return -EBADF;
    const found = datagrams.takeError();
    if (found === undefined) return 0;
    this.error.set(found);
    return 1;
  }

  pathMtu(handle: number): number {
    this.#assertOpen();
    return this.#open.has(handle) ? -EOPNOTSUPP : -EBADF;
  }

  /** Leaves it to the caller, whose code is the same. */
  verify(count: number): void {
    for (let i = 0; i < count; i++) this.pieces[i * PIECE_WORDS + PIECE_ERROR] = EBADMSG;
  }

  closeSocket(handle: number): number {
    return this.#remove(handle, false);
  }

  resetSocket(handle: number): number {
    return this.#remove(handle, true);
  }

  #remove(handle: number, resets: boolean): number {
    this.#assertOpen();
    const socket = this.#open.get(handle);
    if (socket === undefined) return -EBADF;
    this.#open.delete(handle);
    this.#pending.delete(handle);
    this.#free.push(handle & (2 ** GENERATION_SHIFT - 1));
    if (socket instanceof TwinDatagrams) socket.close();
    else {
      this.#ending.add(socket);
      socket.close(resets, () => this.#ending.delete(socket));
    }
    return 0;
  }

  routeTo(address: Uint8Array): HostRoute {
    const known = knownKind(address);
    if (known !== null) return { kind: known, source: null };
    if (this.#lead !== null) return { kind: 'unicast', source: null };
    for (const own of Object.values(networkInterfaces()).flatMap((all) => all ?? [])) {
      const bytes = parseAddress(own.address);
      const mask = parseAddress(own.netmask);
      if (bytes?.length !== address.length || mask === null) continue;
      if (bytes.every((byte, i) => byte === address[i])) return { kind: 'local', source: null };
      if (address.length === 4 && isBroadcast(address, bytes, mask))
        return { kind: 'broadcast', source: null };
    }
    return { kind: 'unicast', source: null };
  }

  close(): void {
    if (this.#isClosed) return;
    for (const handle of this.#open.keys()) this.#remove(handle, true);
    for (const stream of this.#ending) stream.endWithin(LAST_MS);
    this.#isClosed = true;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new TypeError('the sockets are closed');
  }

  #stream(handle: number): TwinStream | null {
    this.#assertOpen();
    const socket = this.#open.get(handle);
    return socket instanceof TwinStream ? socket : null;
  }

  #datagrams(handle: number): TwinDatagrams | null {
    this.#assertOpen();
    const socket = this.#open.get(handle);
    return socket instanceof TwinDatagrams ? socket : null;
  }

  /** The memory of the first `count` pieces; null where one is not inside of its arena. */
  #gather(count: number): Uint8Array[] | null {
    if (!Number.isInteger(count) || count < 1 || count > SOCKET_PIECES_MAX)
      throw new TypeError('a whole number is expected, and one that is not out of range');
    const found: Uint8Array[] = [];
    for (let at = 0; at < count * PIECE_WORDS; at += PIECE_WORDS) {
      const arena = this.#arenas[this.pieces[at + PIECE_ARENA]!];
      const offset = this.pieces[at + PIECE_OFFSET]!;
      const length = this.pieces[at + PIECE_LENGTH]!;
      if (arena === undefined || offset < 0 || length < 0 || offset + length > arena.length)
        return null;
      found.push(arena.subarray(offset, offset + length));
    }
    return found;
  }
}

function isEmpty(bytes: Uint8Array): boolean {
  return bytes.length === 0;
}

/** Whether an address is the last one of the network of `own`; a pair (/31) has none. */
function isBroadcast(address: Uint8Array, own: Uint8Array, mask: Uint8Array): boolean {
  if (mask[3]! >= 254) return false;
  return mask.every((byte, i) => address[i] === ((own[i]! & byte) | (~byte & 255)));
}

function sendRun(datagrams: TwinDatagrams, bytes: Uint8Array, segment: number): number {
  if (segment <= 0 || segment >= bytes.length) return datagrams.send(bytes);
  let result = 0;
  for (let at = 0; at < bytes.length; at += segment)
    result = Math.min(result, datagrams.send(bytes.subarray(at, at + segment)));
  return result;
}
