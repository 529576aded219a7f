// What a warm-up needs where packets leave by sockets: hosts in place of the addon's sockets, and a
// device that has a TCP of its own. Nothing of it reaches a network.

import { constants } from 'node:os';
import {
  type Batch,
  DESCRIPTOR_WORDS,
  LENGTH,
  MARK,
  MARK_DROP,
  MARK_TUN,
  OFFSET,
  type TunSubstitute,
} from '../contract.ts';
import type { Addon, NativeSockets } from '../native/index.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import {
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_SEGMENT,
  PIECE_WORDS,
  SOCKET_CONNECTED,
  SOCKET_ENDED,
  SOCKET_EVENT_ERROR,
  SOCKET_EVENT_FLAGS,
  SOCKET_EVENT_HANDLE,
  SOCKET_EVENT_WORDS,
  SOCKET_READABLE,
  SOCKET_WRITABLE,
} from '../socket-contract.ts';
import { Outbox } from '../sockets/outbox.ts';
import type { Owner } from '../tcp/core.ts';
import { TcpMachine } from '../tcp/machine.ts';
import { Ends, setEnds } from '../tcp/table.ts';
import { InnerPacket, parseInner, PROTOCOL_TCP } from '../wire/ip.ts';

const { EAGAIN, EBADF, EBADMSG } = constants.errno;

/** RTN_UNICAST of rtnetlink(7): there is a way to every host. */
const REACHABLE = 1;
const MTU = 1_420;
/** Of so many calls one goes as calls seldom go: a write takes less, a checksum is not known. */
const SELDOM = 8;
/** A host sends so many bytes for each that it gets. */
const ANSWERS = 4;
/** A device's exchanges by one connection: bytes of each. */
const EXCHANGES = [120, 1_400, 9_000, 30_000, 200];
const FIRST_PORT = 20_000;
const PORTS = 40_000;
const MIB = 1_048_576;

/** A socket of a host: what its other side can read. */
class EchoSocket {
  flags: number;
  bytes = 0;
  hasEnded = false;
  readonly datagrams: number[] = [];

  constructor(flags: number) {
    this.flags = flags;
  }
}

/** The addon with hosts that answer whatever they get. */
export function withEchoHosts(addon: Addon): Addon {
  return {
    ...addon,
    createSockets: (options) => new EchoHosts(options),
    findRoute: () => REACHABLE,
  };
}

type SocketsOptions = Parameters<Addon['createSockets']>[0];

/** Hosts, in place of the sockets that lead to some. */
class EchoHosts implements NativeSockets {
  readonly descriptor = -1;
  readonly #pieces: Int32Array;
  readonly #events: Int32Array;
  readonly #sockets = new Map<number, EchoSocket>();
  #opened = 0;
  #calls = 0;

  constructor({ pieces, events }: SocketsOptions) {
    this.#pieces = pieces;
    this.#events = events;
  }

  connectTcp(): number {
    return this.#open(SOCKET_CONNECTED | SOCKET_WRITABLE);
  }

  connectUdp(): number {
    return this.#open(0);
  }

  openEcho(): number {
    return this.#open(0);
  }

  /** Nobody asks for the gateway's own address. */
  openPair(): number {
    return -EAGAIN;
  }

  #open(flags: number): number {
    const handle = (1 << 16) | (this.#opened++ & 0xffff);
    this.#sockets.set(handle, new EchoSocket(flags));
    return handle;
  }

  #lengthOf(count: number): number {
    let length = 0;
    for (let i = 0; i < count; i++) length += this.#pieces[i * PIECE_WORDS + PIECE_LENGTH]!;
    return length;
  }

  #isSeldom(): boolean {
    return this.#calls++ % SELDOM === 0;
  }

  takeEvents(): number {
    const events = this.#events;
    let count = 0;
    for (const [handle, socket] of this.#sockets) {
      const at = count * SOCKET_EVENT_WORDS;
      if (socket.flags === 0 || at === events.length) continue;
      events[at + SOCKET_EVENT_HANDLE] = handle;
      events[at + SOCKET_EVENT_FLAGS] = socket.flags;
      events[at + SOCKET_EVENT_ERROR] = 0;
      socket.flags = 0;
      count++;
    }
    return count;
  }

  read(handle: number, count: number): number {
    const socket = this.#sockets.get(handle)!;
    const got = Math.min(this.#lengthOf(count), socket.bytes);
    socket.bytes -= got;
    return got > 0 || socket.hasEnded ? got : -EAGAIN;
  }

  write(handle: number, count: number): number {
    const socket = this.#sockets.get(handle)!;
    const isPart = this.#isSeldom();
    const taken = isPart ? this.#lengthOf(count) >> 1 : this.#lengthOf(count);
    socket.bytes += taken * ANSWERS;
    socket.flags |= isPart ? SOCKET_READABLE | SOCKET_WRITABLE : SOCKET_READABLE;
    return taken;
  }

  end(handle: number): number {
    const socket = this.#sockets.get(handle)!;
    socket.hasEnded = true;
    socket.flags |= SOCKET_READABLE | SOCKET_ENDED;
    return 0;
  }

  setRoom(_handle: number, _direction: number, bytes: number): number {
    return bytes;
  }

  receive(handle: number, count: number): number {
    const { datagrams } = this.#sockets.get(handle)!;
    const got = Math.min(count, datagrams.length);
    for (let i = 0; i < got; i++) {
      const length = datagrams.shift()!;
      const isRun = this.#isSeldom();
      const at = i * PIECE_WORDS;
      this.#pieces[at + PIECE_LENGTH] = isRun ? ANSWERS * length : length;
      this.#pieces[at + PIECE_SEGMENT] = isRun ? length : 0;
    }
    return got === 0 ? -EAGAIN : got;
  }

  send(handle: number, count: number): number {
    const socket = this.#sockets.get(handle)!;
    for (let i = 0; i < count; i++)
      socket.datagrams.push(this.#pieces[i * PIECE_WORDS + PIECE_LENGTH]!);
    socket.flags |= SOCKET_READABLE;
    return count;
  }

  sendFragmented(handle: number): number {
    return this.send(handle, 1);
  }

  takeError(): number {
    return 0;
  }

  pathMtu(): number {
    return MTU;
  }

  verify(count: number): void {
    const error = this.#isSeldom() ? EBADMSG : 0;
    for (let i = 0; i < count; i++) this.#pieces[i * PIECE_WORDS + PIECE_ERROR] = error;
  }

  closeSocket(handle: number): number {
    return this.#sockets.delete(handle) ? 0 : -EBADF;
  }

  resetSocket(handle: number): number {
    return this.closeSocket(handle);
  }

  count(): number {
    return this.#sockets.size;
  }

  close(): void {
    this.#sockets.clear();
  }
}

/** The TCP of a device, in place of its TUN: it opens connections, and asks and is answered. */
export class Caller implements TunSubstitute, Owner {
  readonly #machine: TcpMachine;
  readonly #outbox: Outbox;
  readonly #packet = new InnerPacket();
  readonly #ends = new Ends();
  readonly #text = Buffer.alloc(Math.max(...EXCHANGES));
  /** By connection: how many exchanges there were, and bytes of the answer that have not come. */
  readonly #calls = new Map<number, { exchanges: number; left: number }>();
  #now = 0;
  #opened = 0;
  /** Connections whose exchanges were all answered. */
  answered = 0;

  constructor(packets: Batch, random: Random) {
    this.#outbox = new Outbox(packets, true);
    const sizes = { devices: 1, connections: 1_024, records: 4_096, ranges: 1_024 };
    this.#machine = new TcpMachine({ ...sizes, owner: this, random, poolBytes: 8 * MIB });
  }

  /** Opens a connection. */
  call(from: Uint8Array, to: Uint8Array): void {
    setEnds(this.#ends, from, FIRST_PORT + (this.#opened++ % PORTS), to, 443);
    this.#machine.open(0, this.#ends);
  }

  // ---- in place of a TUN ------------------------------------------------------------------------

  get deadline(): number {
    return this.#machine.hasPackets ? this.#now : this.#machine.deadline;
  }

  begin(now: number): void {
    this.#now = now;
    this.#machine.begin(now);
  }

  write({ descriptors, bytes, view, count }: Batch): void {
    const packet = this.#packet;
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let i = 0; i < count; i++) {
      const at = i * DESCRIPTOR_WORDS;
      if (descriptors[at + MARK] !== MARK_TUN) continue;
      descriptors[at + MARK] = MARK_DROP;
      const offset = descriptors[at + OFFSET]!;
      const isWhole = parseInner(view, offset, descriptors[at + LENGTH]!, packet) === reasons.none;
      if (isWhole && packet.protocol === PROTOCOL_TCP && packet.destinationPort >= FIRST_PORT)
        this.#machine.receive(0, buffer, view, offset, packet);
    }
  }

  read(): void {
    this.#machine.expire();
    this.#outbox.fill(this.#machine);
  }

  // ---- what its machine asks --------------------------------------------------------------------

  mtuOf(): number {
    return MTU;
  }

  allowance(): number {
    return 1 << 30;
  }

  /** Nobody asks a device for a connection. */
  asked(connection: number): void {
    this.#machine.refuse(connection);
  }

  opened(connection: number): void {
    this.#calls.set(connection, { exchanges: 0, left: 0 });
    this.#ask(connection);
  }

  received(connection: number, _bytes: Buffer, _offset: number, length: number): number {
    const call = this.#calls.get(connection);
    if (call === undefined) return length;
    call.left -= length;
    if (call.left <= 0) this.#ask(connection);
    return length;
  }

  #ask(connection: number): void {
    const call = this.#calls.get(connection)!;
    const bytes = EXCHANGES[call.exchanges++];
    if (bytes === undefined) {
      this.answered++;
      return this.#machine.close(connection);
    }
    call.left = ANSWERS * this.#machine.send(connection, this.#text, 0, bytes);
  }

  finished(connection: number): void {
    this.#machine.close(connection);
  }

  writable(): void {
    // What an exchange sends has room.
  }

  ended(connection: number): void {
    this.#calls.delete(connection);
  }
}
