// TCP connections: the machine of `tcp` has the device's side, a socket of the host the other one.
// A SYN is answered when the host has answered: by SYN-ACK, RST or ICMP, or by nothing. Bytes wait
// in the machine alone: what the host does not take closes the device's window, and what the device
// does not take stays in the host's socket.

import { constants } from 'node:os';
import { reasons } from '../reasons.ts';
import {
  ROOM_RECEIVE,
  ROOM_SEND,
  SOCKET_CONNECTED,
  SOCKET_ENDED,
  SOCKET_FAILED,
  SOCKET_READABLE,
  SOCKET_WRITABLE,
} from '../socket-contract.ts';
import { ENDED_BY_CLOSE, type Owner } from '../tcp/core.ts';
import { CONNECTING_FULL, IS_MALFORMED, TABLE_FULL } from '../tcp/handshake.ts';
import { type Place, TcpMachine } from '../tcp/machine.ts';
import { Ends, slotOfHandle } from '../tcp/table.ts';
import { SlotRing } from '../tcp/ring.ts';
import { isRight } from '../tcp/checksum.ts';
import { type InnerPacket, PROTOCOL_TCP } from '../wire/ip.ts';
import { Deadlines } from './deadlines.ts';
import { isRefused } from './destinations.ts';
import { GONE_MS, isToDoor, KNOCK_MS, openDoor } from './doors.ts';
import { Endings } from './endings.ts';
import { isOwnError, unreachable } from './errors.ts';
import { HeldUp } from './held-up.ts';
import { isByRules, Recheck } from './recheck.ts';
import { firstOfTcp, Rooms } from './rooms.ts';
import { ACCEPTED, CONNECTING, NO_PHASE, OPEN, QUEUED, type Shared, TCP } from './shared.ts';
import { CONNECT_MS, CONNECTS_PER_TURN, Waiting } from './waiting.ts';

const { EAGAIN, ECONNREFUSED, ECONNRESET } = constants.errno;

/** Bytes that one turn reads from hosts, and from one of them before others have their turn. */
const READ_PER_TURN = 1_048_576;
const READ_AT_ONCE = 131_072;
/** With less memory left for a device, bytes go to the host at once. */
const GATHER_ROOM = 262_144;

/** What connections are made from. */
export interface ConnectionOptions {
  readonly shared: Shared;
  readonly connections: number;
  readonly devices: number;
  readonly random: (bytes: Uint8Array) => void;
  /** The memory in which bytes wait: arena POOL_ARENA of the host's sockets. */
  readonly pool: Buffer;
}

export const POOL_ARENA = 0;

/** The connections of a worker. */
export class Connections implements Owner {
  readonly #shared: Shared;
  readonly #machine: TcpMachine;
  readonly #pool: Buffer;
  readonly #waiting: Waiting;
  readonly #deadlines: Deadlines;
  readonly #readable: SlotRing;
  /** Connections to whose hosts bytes go at the end of the batch. */
  readonly #touched: SlotRing;
  /** By slot of the machine. */
  readonly #connection: Int32Array;
  readonly #handle: Int32Array;
  readonly #device: Int32Array;
  readonly #phase: Uint8Array;
  /** The host takes nothing until it says so. */
  readonly #isBlocked: Uint8Array;
  readonly #endings: Endings;
  readonly #epoch: Int32Array;
  readonly #heldUp: HeldUp;
  readonly #rooms: Rooms;
  readonly #ends = new Ends();
  readonly #place: Place = { bytes: Buffer.alloc(0), offset: 0, length: 0 };
  /** The arena of the batch whose packets the machine takes; -1: no batch is at work. */
  #arena = -1;
  readonly #recheck: Recheck;
  #connecting = 0;

  constructor(options: ConnectionOptions) {
    const { shared, connections, devices, random, pool } = options;
    this.#shared = shared;
    this.#pool = pool;
    this.#machine = new TcpMachine({ owner: this, random, devices, connections, pool });
    this.#waiting = new Waiting(connections, devices);
    this.#deadlines = new Deadlines(connections);
    this.#readable = new SlotRing(connections);
    this.#touched = new SlotRing(connections);
    this.#heldUp = new HeldUp(shared.around, devices);
    this.#rooms = new Rooms(shared.sockets, connections, devices);
    this.#recheck = new Recheck(connections);
    this.#connection = new Int32Array(connections + 1);
    this.#handle = new Int32Array(connections + 1);
    this.#device = new Int32Array(connections + 1);
    this.#phase = new Uint8Array(connections + 1);
    this.#isBlocked = new Uint8Array(connections + 1);
    this.#endings = new Endings(connections);
    this.#epoch = new Int32Array(connections + 1);
  }

  /** How many connections there are, those that have ended lately included. */
  get count(): number {
    return this.#machine.connections;
  }

  /** How many wait for their hosts. */
  get connecting(): number {
    return this.#connecting;
  }

  get retransmitted(): number {
    return this.#machine.retransmitted;
  }

  get bufferedBytes(): number {
    return this.#machine.bufferedBytes;
  }

  begin(): void {
    this.#machine.begin(this.#shared.now);
  }

  // ---- from a device ----------------------------------------------------------------------------

  /** Takes the packet at `offset`; returns why it is refused, or reasons.none. */
  take(
    device: number,
    arena: number,
    bytes: Buffer,
    view: DataView,
    offset: number,
    packet: InnerPacket,
  ): number {
    const { upperOffset, length } = packet;
    // Nobody can be asked at port 0, and the sockets take it for an error.
    if (packet.destinationPort === 0) return reasons.inner_tcp_malformed;
    const isVerified =
      this.#shared.isVerified || isRight(view, offset, offset + upperOffset, length - upperOffset);
    if (!isVerified) return reasons.inner_tcp_malformed;
    this.#arena = arena;
    const became = this.#machine.receive(device, bytes, view, offset, packet);
    this.#arena = -1;
    if (became === IS_MALFORMED) return reasons.inner_tcp_malformed;
    if (became === CONNECTING_FULL) return reasons.connecting_full;
    return became === TABLE_FULL ? reasons.egress_full : reasons.none;
  }

  /** Ends a batch: what was gathered goes to the hosts. */
  flush(): void {
    for (;;) {
      const slot = this.#touched.take();
      if (slot === 0) return;
      if (this.#handle[slot] !== 0) this.#machine.take(this.#connection[slot]!);
    }
  }

  // ---- what the machine asks --------------------------------------------------------------------

  mtuOf(device: number): number {
    return this.#shared.around.mtuOf(device);
  }

  allowance(device: number): number {
    return this.#heldUp.allowance(device, this.#shared.now);
  }

  asked(connection: number): void {
    const slot = slotOfHandle(connection);
    const device = this.#machine.describe(connection, this.#ends);
    this.#connection[slot] = connection;
    this.#device[slot] = device;
    this.#handle[slot] = 0;
    this.#phase[slot] = QUEUED;
    this.#isBlocked[slot] = 0;
    this.#endings.begin(slot);
    this.#epoch[slot] = this.#shared.epoch;
    this.#waiting.add(device, slot);
    this.#connecting++;
    this.#deadlines.set(slot, this.#shared.now + CONNECT_MS);
  }

  opened(connection: number): void {
    const slot = slotOfHandle(connection);
    if (this.#phase[slot] !== ACCEPTED) return;
    this.#phase[slot] = OPEN;
    if (this.#handle[slot] !== 0) this.#readable.add(slot);
    else this.#knock(slot);
  }

  /** A listener of this process is asked now, or soon: a SYN alone costs it nothing. */
  #knock(slot: number): void {
    const { around, now } = this.#shared;
    if (!around.mayArrive(this.#device[slot]!)) return this.#deadlines.set(slot, now + KNOCK_MS);
    if (!this.#isCurrent(slot)) return;
    const device = this.#machine.describe(this.#connection[slot]!, this.#ends);
    const handle = openDoor(this.#shared, device, this.#ends);
    if (handle === 0) return this.#end(slot, 'abort');
    this.#shared.own(handle, TCP, slot);
    this.#handle[slot] = handle;
    this.#readable.add(slot);
    // What came while there was no socket: bytes, or the end.
    if (this.#isBlocked[slot] === 0) this.#touched.add(slot);
    else this.#shared.sockets.end(handle);
  }

  /**
   * Bytes for the host. Those of a batch are gathered first, so that many segments are one write;
   * where there is little memory for that, they are written at once.
   */
  received(connection: number, bytes: Buffer, offset: number, length: number): number {
    const slot = slotOfHandle(connection);
    const handle = this.#handle[slot]!;
    if (handle === 0 || this.#isBlocked[slot] !== 0) return 0;
    let arena = POOL_ARENA;
    let at = offset;
    if (this.#arena >= 0) {
      if (this.#machine.roomOf(this.#device[slot]!) >= GATHER_ROOM) {
        this.#touched.add(slot);
        return 0;
      }
      arena = this.#arena;
    }
    if (bytes.buffer === this.#pool.buffer) {
      arena = POOL_ARENA;
      at += bytes.byteOffset - this.#pool.byteOffset;
    }
    if (!this.#isCurrent(slot)) return 0;
    this.#shared.piece(0, arena, at, length);
    const taken = this.#shared.sockets.write(handle, 1);
    if (taken < length) this.#isBlocked[slot] = 1;
    if (taken < 0) {
      if (taken !== -EAGAIN) this.#fail(slot);
      return 0;
    }
    this.#rooms.carried(slot, ROOM_SEND, taken, this.#shared.now);
    return taken;
  }

  finished(connection: number): void {
    const slot = slotOfHandle(connection);
    const handle = this.#handle[slot]!;
    if (handle !== 0) this.#shared.sockets.end(handle);
    else this.#isBlocked[slot] = 1;
  }

  writable(connection: number): void {
    this.#readable.add(slotOfHandle(connection));
  }

  ended(connection: number, how: number): void {
    this.#forget(slotOfHandle(connection), how !== ENDED_BY_CLOSE);
  }

  // ---- asking hosts -----------------------------------------------------------------------------

  /** Asks some of the hosts that wait to be asked. */
  connect(): void {
    for (let asked = 0; asked < CONNECTS_PER_TURN; asked++) {
      const slot = this.#waiting.take();
      if (slot === 0) return;
      this.#ask(slot);
    }
  }

  #ask(slot: number): void {
    // Rules may have changed since the SYN came.
    if (!this.#isCurrent(slot)) return;
    const { destinations, budgets, sockets } = this.#shared;
    const ends = this.#ends;
    const device = this.#machine.describe(this.#connection[slot]!, ends);
    if (isToDoor(this.#shared.around, ends)) return this.#accept(slot);
    if (isRefused(destinations.kindOf(ends)))
      return this.#leave(slot, reasons.inner_destination_host);
    if (!budgets.take(device)) return this.#leave(slot, reasons.egress_full);
    const port = ends.words[8]! >>> 16;
    const room = firstOfTcp(budgets.of(device));
    const handle = sockets.connectTcp(destinations.addressOf(ends), port, room);
    if (handle <= 0) {
      budgets.give(device);
      return this.#refused(slot, -handle);
    }
    this.#shared.own(handle, TCP, slot);
    this.#rooms.open(slot, handle, device, room);
    this.#handle[slot] = handle;
    this.#phase[slot] = CONNECTING;
  }

  #accept(slot: number): void {
    this.#phase[slot] = ACCEPTED;
    this.#connecting--;
    this.#deadlines.remove(slot);
    this.#machine.accept(this.#connection[slot]!);
  }

  /** The device gets no answer, and the reason is counted. */
  #leave(slot: number, reason: number): void {
    this.#shared.around.drop(reason);
    this.#end(slot, 'forget');
  }

  /** The host, or the way to it, has refused a connection. */
  #refused(slot: number, error: number): void {
    const connection = this.#connection[slot]!;
    if (error === ECONNREFUSED || error === ECONNRESET) {
      this.#forget(slot, true);
      this.#machine.refuse(connection);
      return;
    }
    if (isOwnError(error)) return this.#leave(slot, reasons.egress_full);
    const what = unreachable(error);
    if (what !== null) {
      const device = this.#machine.describe(connection, this.#ends);
      const number = this.#machine.sequenceOf(connection);
      this.#shared.errors.aboutEnds(device, this.#ends, PROTOCOL_TCP, what, number);
    }
    this.#forget(slot, true);
    this.#machine.forget(connection);
  }

  // ---- from hosts -------------------------------------------------------------------------------

  /** Takes an event of a socket. */
  event(slot: number, flags: number, error: number): void {
    const phase = this.#phase[slot]!;
    if (this.#handle[slot] === 0) return;
    if ((flags & SOCKET_FAILED) !== 0) {
      return phase === CONNECTING ? this.#refused(slot, error) : this.#fail(slot);
    }
    if ((flags & SOCKET_CONNECTED) !== 0 && phase === CONNECTING) this.#accept(slot);
    if ((flags & SOCKET_WRITABLE) !== 0 && this.#isBlocked[slot] !== 0) {
      this.#isBlocked[slot] = 0;
      this.#touched.add(slot);
    }
    if (this.#endings.note(slot, flags)) this.#deadlines.set(slot, this.#shared.now + GONE_MS);
    if (this.#endings.isOver(slot)) return this.#end(slot, 'release');
    if ((flags & (SOCKET_READABLE | SOCKET_ENDED)) !== 0 && this.#phase[slot] === OPEN)
      this.#readable.add(slot);
  }

  /** The host has gone: the device gets what it sent before, and then RST. */
  #fail(slot: number): void {
    if (this.#endings.hasFailed(slot)) return;
    if (!this.#endings.fail(slot)) return this.#end(slot, 'breakOff');
    this.#isBlocked[slot] = 1;
    this.#deadlines.set(slot, this.#shared.now + GONE_MS);
    this.#readable.add(slot);
  }

  /** Reads from hosts what the machine has room for. */
  read(): void {
    let left = READ_PER_TURN;
    let visits = this.#readable.count;
    while (left > 0 && visits-- > 0) {
      const slot = this.#readable.take();
      if (slot === 0) return;
      if (this.#phase[slot] === OPEN) left -= this.#readFrom(slot);
    }
  }

  #readFrom(slot: number): number {
    const connection = this.#connection[slot]!;
    const place = this.#place;
    let read = 0;
    while (read < READ_AT_ONCE) {
      this.#machine.place(connection, place);
      // `writable` is called when there is room.
      if (place.length === 0) return read;
      const at = place.bytes.byteOffset - this.#pool.byteOffset + place.offset;
      this.#shared.piece(0, POOL_ARENA, at, place.length);
      const got = this.#shared.sockets.read(this.#handle[slot]!, 1);
      this.#machine.sent(connection, Math.max(0, got));
      if (got === 0) {
        if (this.#endings.hasFailed(slot)) this.#end(slot, 'breakOff');
        else if (this.#endings.read(slot)) this.#end(slot, 'release');
        else this.#machine.close(connection);
        return read;
      }
      if (got < 0) {
        if (got !== -EAGAIN || this.#endings.hasFailed(slot)) this.#end(slot, 'breakOff');
        return read;
      }
      this.#rooms.carried(slot, ROOM_RECEIVE, got, this.#shared.now);
      read += got;
      if (got < place.length && !this.#endings.hasEnded(slot)) return read;
    }
    this.#readable.add(slot);
    return read;
  }

  /** Makes packets as long as there is room for them. */
  make(): void {
    this.#shared.outbox.fill(this.#machine, this.#heldUp);
  }

  /** A device has a session: what waits for it goes on. */
  resume(device: number): void {
    this.#machine.resume(device);
  }

  // ---- time -------------------------------------------------------------------------------------

  /** Whether something is to be done at once. */
  get hasMore(): boolean {
    const listed = this.#readable.count + this.#touched.count + this.#waiting.count;
    return listed > 0 || this.#machine.hasPackets || this.#recheck.isOn;
  }

  /** When `expire` has something to do. */
  get deadline(): number {
    return Math.min(this.#machine.deadline, this.#deadlines.next, this.#heldUp.deadline);
  }

  expire(): void {
    for (;;) {
      const slot = this.#deadlines.take(this.#shared.now);
      if (slot === 0) break;
      if (this.#isConnecting(slot)) this.#end(slot, 'forget');
      else if (this.#handle[slot] === 0) this.#knock(slot);
      else this.#end(slot, 'abort');
    }
    this.#heldUp.begin();
    this.#heldUp.resume(this.#shared.now, this.#machine);
    this.#recheck.turn((slot) => {
      if (this.#phase[slot] !== NO_PHASE) this.#isCurrent(slot);
    });
    this.#machine.expire();
  }

  #isConnecting(slot: number): boolean {
    return this.#phase[slot] === QUEUED || this.#phase[slot] === CONNECTING;
  }

  // ---- the end ----------------------------------------------------------------------------------

  /** Rules have changed: all connections are judged again, some in each turn. */
  recheck(): void {
    if (this.#machine.connections > 0) this.#recheck.begin();
  }

  /** Whether the device may go on; a connection that may not ends, and the host gets RST. */
  #isCurrent(slot: number): boolean {
    const shared = this.#shared;
    if (this.#epoch[slot] === shared.epoch) return true;
    this.#epoch[slot] = shared.epoch;
    const connection = this.#connection[slot]!;
    const device = this.#machine.describe(connection, this.#ends);
    const reason =
      device < 0 ? reasons.peer_gone : shared.refusalOf(device, this.#ends, PROTOCOL_TCP);
    if (reason === reasons.none) return true;
    // At a door the gateway itself has answered: it is the host, so it says the end.
    const isAnswered = !this.#isConnecting(slot) && isToDoor(shared.around, this.#ends);
    if (isAnswered && isByRules(reason)) this.#end(slot, 'abort');
    else this.#end(slot, 'forget');
    return false;
  }

  /** Ends the connections that a device may no longer have: somebody may get its address. */
  recheckDevice(device: number): void {
    this.#machine.mtuChanged(device);
    for (let connection = this.#machine.firstOf(device); connection !== 0;) {
      const next = this.#machine.after(connection);
      const slot = slotOfHandle(connection);
      if (this.#phase[slot] !== NO_PHASE) this.#isCurrent(slot);
      connection = next;
    }
  }

  /** Ends all connections of a device. */
  removeDevice(device: number): void {
    this.#machine.removeDevice(device);
  }

  /**
   * Ends a connection on both sides. `forget`: without a word to the device. `abort`: the device
   * gets RST. `breakOff`: the host has gone, and the device first gets what is there of it.
   * `release`: a listener has gone, and the device is soon given up.
   */
  #end(slot: number, how: 'forget' | 'abort' | 'breakOff' | 'release'): void {
    const connection = this.#connection[slot]!;
    this.#forget(slot, how !== 'release');
    this.#machine[how](connection);
  }

  /** Closes the host's side and forgets it. */
  #forget(slot: number, resets: boolean): void {
    const device = this.#device[slot]!;
    const handle = this.#handle[slot]!;
    if (this.#isConnecting(slot)) this.#connecting--;
    if (this.#phase[slot] === QUEUED) this.#waiting.remove(device, slot);
    this.#deadlines.remove(slot);
    this.#phase[slot] = NO_PHASE;
    this.#handle[slot] = 0;
    this.#rooms.close(slot);
    if (handle !== 0) this.#shared.close(handle, device, resets);
  }
}
