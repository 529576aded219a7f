// The machine of TCP: packets of devices go in, packets for devices come out, and an owner has the
// other end of each connection (RFC 9293, 3.9.1: the user). It has neither clock nor sockets: each
// call of `begin` says what time it is. README.md follows a segment in and out.

import type { InnerPacket } from '../wire/ip.ts';
import { CHUNK_BYTES } from './buffers.ts';
import { Closing } from './closing.ts';
import {
  ABORTED,
  CWND,
  DEVICE,
  DEVICE_NEXT,
  ESTABLISHED,
  FIN_WANTED,
  FLAGS,
  IRS,
  ISS,
  NEVER,
  PACE_AT,
  RST_DUE,
  SND_END,
  SND_STREAM,
  SND_UNA,
  SND_WND,
  STATE,
  TIME_WAIT,
  TIMES,
  WAITING,
  WANTS_ROOM,
  WORDS,
} from './columns.ts';
import {
  Core,
  ENDED_BY_CLOSE,
  ENDED_BY_OWNER,
  type MachineOptions,
  ROOM_RETRY_MS,
} from './core.ts';
import { Handshake, IS_MALFORMED } from './handshake.ts';
import { headerBytes, writeHeader } from './header.ts';
import { Reassembly } from './reassembly.ts';
import { Receiver } from './receive.ts';
import { Recovery } from './recovery.ts';
import { Resets } from './resets.ts';
import { readSegment, Segment } from './segment.ts';
import { Made, Sender } from './send.ts';
import { copy } from './streams.ts';
import { Ends, endsOf, NONE } from './table.ts';
import { Timers } from './timers.ts';

/** Bytes that may wait for their acknowledgement, at first and at most. */
const FIRST_SEND_LIMIT = 128 * 1_024;
const LAST_SEND_LIMIT = 4 * 1_048_576;
/** Bytes that may wait beyond the window of the other side, for when it opens. */
const BEYOND_WINDOW = 2 * CHUNK_BYTES;

/** A place for bytes that the owner has. */
export interface Place {
  bytes: Buffer;
  offset: number;
  length: number;
}

/** All connections of TCP of a worker. */
export class TcpMachine {
  readonly #core: Core;
  readonly #handshake: Handshake;
  readonly #reassembly: Reassembly;
  readonly #receiver: Receiver;
  readonly #closing: Closing;
  readonly #sender: Sender;
  readonly #timers: Timers;
  readonly #resets = new Resets();
  readonly #segment = new Segment();
  readonly #ends = new Ends();
  /** Devices for which something waits until they have an allowance again. */
  readonly #isHeldUp: Uint8Array;
  /** Whether the packet made last was an RST to a segment of no connection. */
  #wasStray = false;
  /** What `make` has made. */
  readonly made = new Made();

  constructor(options: MachineOptions) {
    const core = new Core(options);
    const recovery = new Recovery(core);
    const reassembly = new Reassembly(core);
    const handshake = new Handshake(core, reassembly, this.#resets);
    this.#core = core;
    this.#isHeldUp = new Uint8Array(options.devices);
    this.#reassembly = reassembly;
    this.#handshake = handshake;
    this.#receiver = new Receiver(core, handshake, reassembly, recovery, this.#resets);
    this.#closing = new Closing(core, reassembly);
    this.#sender = new Sender(core, handshake, reassembly, recovery);
    this.#timers = new Timers(core, handshake, reassembly, recovery);
  }

  // ---- the time ---------------------------------------------------------------------------------

  /** Sets the time until the next call, in ms of a clock that never goes back. */
  begin(now: number): void {
    this.#core.clock[0] = now;
  }

  /** Does what is due at this time. */
  expire(): void {
    this.#timers.expire();
  }

  /** When `expire` may have something to do; NEVER where no connection has a deadline. */
  get deadline(): number {
    return this.#core.wheel.deadline;
  }

  // ---- packets ----------------------------------------------------------------------------------

  /**
   * Takes a packet of a device, or a run, whose checksums are right: it is at `offset` and
   * described by `packet`. Returns what became of it (TAKEN_IN and others of handshake.ts).
   */
  receive(
    device: number,
    bytes: Buffer,
    view: DataView,
    offset: number,
    packet: InnerPacket,
  ): number {
    const segment = this.#segment;
    if (!readSegment(view, offset, packet, segment)) return IS_MALFORMED;
    const ends = this.#ends;
    endsOf(packet, ends);
    ends.words[8] = (packet.destinationPort << 16) | packet.sourcePort;
    const { table } = this.#core;
    let slot = table.find(ends);
    if (slot !== NONE && this.#core.words[slot * WORDS + DEVICE] !== device) {
      // The address has become that of another device, which must not get what was for the first.
      this.#core.end(slot, ENDED_BY_OWNER);
      slot = table.find(ends);
    }
    if (slot === NONE) return this.#handshake.listen(device, ends, segment);
    return this.#receiver.receive(slot, ends, segment, bytes);
  }

  /** Whether `make` may have a packet. */
  get hasPackets(): boolean {
    return this.#core.ready > 0 || this.#resets.count > 0;
  }

  /**
   * Makes the next packet at `offset` of a buffer with `room` bytes, at least the largest MTU; with
   * a room of 0 each packet is one segment.
   * Returns its length, 0 where there is none; `made` says the rest. Devices take turns, and so do
   * the connections of each. RSTs to segments of no connection, which cost a device nothing to
   * ask for, are at most every second packet while connections have some.
   */
  make(bytes: Buffer, view: DataView, offset: number, room: number): number {
    const { made } = this;
    made.bytes = bytes;
    made.view = view;
    made.offset = offset;
    made.room = room;
    made.length = 0;
    const hasStray = this.#resets.count > 0;
    if (hasStray && !this.#wasStray) return this.#makeStray();
    this.#wasStray = false;
    const core = this.#core;
    for (;;) {
      const device = core.takeDevice();
      if (device === -1) return hasStray ? this.#makeStray() : 0;
      const slot = core.takeReady(device);
      if (slot === NONE) continue;
      const allowance = core.owner.allowance(device);
      if (this.#sender.make(slot, made, allowance)) core.makeReady(slot);
      else if (allowance <= 0 && this.#wouldSend(slot)) this.#isHeldUp[device] = 1;
      core.list(device);
      if (made.length > 0) return made.length;
    }
  }

  /** Whether a connection waits for nothing but the allowance of its device. */
  #wouldSend(slot: number): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    if (words[w + STATE]! < ESTABLISHED || words[w + STATE]! >= TIME_WAIT) return false;
    return words[w + SND_UNA] !== words[w + SND_END] || (words[w + FLAGS]! & FIN_WANTED) !== 0;
  }

  /** A device has an allowance again. */
  resume(device: number): void {
    if (this.#isHeldUp[device] === 0) return;
    this.#isHeldUp[device] = 0;
    const { words, table } = this.#core;
    let slot = table.firstOf(device);
    for (; slot !== NONE; slot = words[slot * WORDS + DEVICE_NEXT]!)
      if (this.#wouldSend(slot)) this.#core.makeReady(slot);
  }

  #makeStray(): number {
    const { made } = this;
    const { header } = this.#core;
    this.#wasStray = true;
    made.device = this.#resets.take(header);
    made.segmentBytes = 0;
    made.hasText = false;
    made.length = headerBytes(header);
    writeHeader(made.view, made.offset, header, made.length, 0);
    return made.length;
  }

  // ---- the owner's answers to `asked` -----------------------------------------------------------

  /** The host has taken the connection: SYN-ACK. */
  accept(connection: number): void {
    const slot = this.#slotIn(connection, WAITING);
    if (slot !== NONE) this.#handshake.accept(slot);
  }

  /** The host has refused the connection: RST. */
  refuse(connection: number): void {
    const slot = this.#slotIn(connection, WAITING);
    if (slot !== NONE) this.#core.abort(slot);
  }

  #slotIn(connection: number, state: number): number {
    const slot = this.#core.table.slotOf(connection);
    return slot !== NONE && this.#core.words[slot * WORDS + STATE] === state ? slot : NONE;
  }

  /** Nothing is answered: the host is silent, or the owner answers by ICMP. */
  forget(connection: number): void {
    const slot = this.#core.table.slotOf(connection);
    if (slot !== NONE) this.#core.remove(slot);
  }

  // ---- calls of the user (RFC 9293, 3.10) -------------------------------------------------------

  /** OPEN, active (3.10.1): returns the connection; 0 where there is no room, or one already. */
  open(device: number, ends: Ends): number {
    const slot = this.#handshake.open(device, ends);
    return slot === NONE ? 0 : this.#core.table.handleOf(slot);
  }

  /**
   * SEND (3.10.2): says where the next bytes can be written, and how many. `place.length` is 0
   * where there is no room; `writable` is called then. `sent` says how many were written, 0 too.
   */
  place(connection: number, place: Place): void {
    const { words, streams, buffers, table } = this.#core;
    place.length = 0;
    const slot = table.slotOf(connection);
    if (slot === NONE || !this.#closing.maySend(slot)) return;
    const w = slot * WORDS;
    const room = this.#roomOf(slot);
    const position = (words[w + SND_END]! - words[w + ISS]! - 1) | 0;
    const start = (words[w + SND_UNA]! - words[w + ISS]! - 1) | 0;
    const from = words[w + STATE]! < ESTABLISHED ? position : start;
    const queue = w + SND_STREAM;
    if (room <= 0 || !streams.extend(queue, words[w + DEVICE]!, from, position)) {
      this.#waitForRoom(slot);
      return;
    }
    const within = position & (CHUNK_BYTES - 1);
    const chunk = streams.chunkAt(queue, position);
    place.bytes = buffers.bytesOf(chunk);
    place.offset = buffers.offsetOf(chunk) + within;
    place.length = Math.min(room, CHUNK_BYTES - within);
  }

  /**
   * Twice the congestion window, so that the path is full while the owner sleeps; and not much more
   * than the other side takes, so that what it does not read leaves memory to its next connection.
   */
  #roomOf(slot: number): number {
    const { words, times } = this.#core;
    const w = slot * WORDS;
    const wanted = Math.max(2 * times[slot * TIMES + CWND]!, FIRST_SEND_LIMIT);
    const waiting = (words[w + SND_END]! - words[w + SND_UNA]!) | 0;
    const useful = words[w + SND_WND]! + BEYOND_WINDOW;
    return Math.floor(Math.min(wanted, LAST_SEND_LIMIT, useful)) - waiting;
  }

  #waitForRoom(slot: number): void {
    const { words, times, clock } = this.#core;
    const w = slot * WORDS;
    const t = slot * TIMES;
    words[w + FLAGS]! |= WANTS_ROOM;
    if (words[w + SND_UNA] !== words[w + SND_END] || times[t + PACE_AT] !== NEVER) return;
    times[t + PACE_AT] = clock[0]! + ROOM_RETRY_MS;
    this.#core.schedule(slot);
  }

  /** So many bytes were written to the place that `place` gave; 0: it is not needed. */
  sent(connection: number, count: number): void {
    const { words, streams, table } = this.#core;
    const slot = table.slotOf(connection);
    if (slot === NONE) return;
    const w = slot * WORDS;
    if (count <= 0) {
      // An idle connection has no memory.
      if (words[w + SND_UNA] === words[w + SND_END])
        streams.clear(w + SND_STREAM, words[w + DEVICE]!);
      return;
    }
    words[w + SND_END] = (words[w + SND_END]! + count) | 0;
    this.#core.makeReady(slot);
  }

  readonly #place: Place = { bytes: Buffer.alloc(0), offset: 0, length: 0 };

  /** SEND of bytes that the owner has already; returns how many there was room for. */
  send(connection: number, bytes: Buffer, offset: number, length: number): number {
    const place = this.#place;
    let done = 0;
    while (done < length) {
      this.place(connection, place);
      if (place.length === 0) break;
      const count = Math.min(place.length, length - done);
      copy(place.bytes, place.offset, bytes, offset + done, count);
      this.sent(connection, count);
      done += count;
    }
    return done;
  }

  /** RECEIVE (3.10.3): what the owner has not taken is offered to it again. */
  take(connection: number): void {
    const { words, table } = this.#core;
    const slot = table.slotOf(connection);
    if (slot === NONE) return;
    const w = slot * WORDS;
    const state = words[w + STATE]!;
    if (state < ESTABLISHED || state === ABORTED) return;
    if (!this.#reassembly.deliver(slot) || this.#receiver.abortIfLeft(slot)) return;
    if (!this.#reassembly.finish(slot)) return;
    if (state === TIME_WAIT) {
      if (!this.#reassembly.isWaiting(slot)) this.#core.report(slot, ENDED_BY_CLOSE);
      return;
    }
    if (!this.#reassembly.isWorthAnUpdate(slot)) return;
    this.#receiver.acknowledge(slot);
  }

  /** CLOSE (3.10.4): the owner sends no more, and still receives. */
  close(connection: number): void {
    const slot = this.#core.table.slotOf(connection);
    if (slot !== NONE) this.#closing.close(slot);
  }

  /**
   * CLOSE of both directions: the owner is never called again for this connection. If there are
   * bytes that it has not taken, or more come, the other side gets RST (3.6.1).
   */
  release(connection: number): void {
    const slot = this.#core.table.slotOf(connection);
    if (slot !== NONE) this.#closing.release(slot);
  }

  /**
   * The other side gets what the owner has sent, and RST when it has that. What comes is dropped;
   * the owner is never called again for this connection.
   */
  breakOff(connection: number): void {
    const slot = this.#core.table.slotOf(connection);
    if (slot !== NONE) this.#closing.breakOff(slot);
  }

  /** ABORT (3.10.5): RST, and all bytes are dropped. */
  abort(connection: number): void {
    const slot = this.#core.table.slotOf(connection);
    if (slot !== NONE) this.#closing.abort(slot);
  }

  /** STATUS (3.10.6): the state; CLOSED where there is no such connection. */
  stateOf(connection: number): number {
    const slot = this.#core.table.slotOf(connection);
    return slot === NONE ? 0 : this.#core.words[slot * WORDS + STATE]!;
  }

  /** STATUS: bytes that the owner has sent, and the other side has not acknowledged. */
  unacknowledged(connection: number): number {
    const { words, table } = this.#core;
    const slot = table.slotOf(connection);
    if (slot === NONE) return 0;
    return (words[slot * WORDS + SND_END]! - words[slot * WORDS + SND_UNA]!) | 0;
  }

  /**
   * Writes between which ends a connection is; returns its device, -1 where there is no such one.
   */
  describe(connection: number, ends: Ends): number {
    const slot = this.#core.table.slotOf(connection);
    if (slot === NONE) return -1;
    this.#core.table.copyEnds(slot, ends);
    return this.#core.words[slot * WORDS + DEVICE]!;
  }

  /** The number of the SYN that asked for a connection. */
  sequenceOf(connection: number): number {
    const slot = this.#core.table.slotOf(connection);
    return slot === NONE ? 0 : this.#core.words[slot * WORDS + IRS]!;
  }

  // ---- devices ----------------------------------------------------------------------------------

  /** Ends all connections of a device at once, without RST: it was removed or lost its address. */
  removeDevice(device: number): void {
    const core = this.#core;
    for (;;) {
      const slot = core.table.firstOf(device);
      if (slot === NONE) return;
      core.words[slot * WORDS + FLAGS]! &= ~RST_DUE;
      core.end(slot, ENDED_BY_OWNER);
    }
  }

  /** The first connection of a device, and the one after a connection; 0 where there is none. */
  firstOf(device: number): number {
    return this.#handleAt(this.#core.table.firstOf(device));
  }

  after(connection: number): number {
    const slot = this.#core.table.slotOf(connection);
    return slot === NONE ? 0 : this.#handleAt(this.#core.words[slot * WORDS + DEVICE_NEXT]!);
  }

  #handleAt(slot: number): number {
    return slot === NONE ? 0 : this.#core.table.handleOf(slot);
  }

  /** A device takes packets of another size from now on. */
  mtuChanged(device: number): void {
    const { words, table } = this.#core;
    let slot = table.firstOf(device);
    for (; slot !== NONE; slot = words[slot * WORDS + DEVICE_NEXT]!) this.#handshake.fitToMtu(slot);
  }

  // ---- counts -----------------------------------------------------------------------------------

  /** Connections, those in TIME-WAIT included. */
  get connections(): number {
    return this.#core.table.live;
  }

  /** Connections of a device that are not open yet. */
  connectingOf(device: number): number {
    return this.#core.table.connecting[device]!;
  }

  get retransmitted(): number {
    return this.#core.retransmitted;
  }

  /** Bytes that may still wait for the owner, or for acknowledgements, of a device. */
  roomOf(device: number): number {
    return this.#core.buffers.roomOf(device);
  }

  /** Bytes of buffers in use, and how many records and ranges there are. */
  get bufferedBytes(): number {
    return this.#core.buffers.bytes;
  }

  get notes(): number {
    return this.#core.records.live + this.#core.ranges.live;
  }
}
