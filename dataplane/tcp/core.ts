// What all parts of the machine share: the table, the pools, the wheel, the owner, the time; and
// the list of connections that have something to send.

import { Buffers } from './buffers.ts';
import {
  ABORTED,
  ACK_AT,
  CONNECTING,
  DEVICE,
  END_REPORTED,
  FLAGS,
  LIFE_AT,
  NEVER,
  PACE_AT,
  RCV_STREAM,
  READY,
  READY_NEXT,
  READY_PREVIOUS,
  RETRANSMIT_AT,
  RST_DUE,
  SND_STREAM,
  STATE,
  TIMES,
  TS_OFFSET,
  WORDS,
} from './columns.ts';
import { Cubic } from './cubic.ts';
import type { CongestionControl } from './congestion.ts';
import { Header } from './header.ts';
import { Ranges } from './ranges.ts';
import { Records } from './records.ts';
import { SlotRing } from './ring.ts';
import { SipHash } from './siphash.ts';
import { Streams } from './streams.ts';
import { Ends, NONE, Table } from './table.ts';
import { Wheel } from './wheel.ts';

/** How a connection has ended. */
export const ENDED_BY_CLOSE = 0;
/** The other side has sent RST. */
export const ENDED_BY_RESET = 1;
/** The other side has not answered, however often it was asked. */
export const ENDED_BY_SILENCE = 2;
/** The owner has ended it, with all connections of a device. */
export const ENDED_BY_OWNER = 3;

/**
 * Whom the machine serves. A connection is named by its handle. Whatever is called here may call
 * the machine for the same connection.
 */
export interface Owner {
  /** The largest packet that a device takes. */
  mtuOf(device: number): number;
  /**
   * How many bytes of data a device may get now; asked before a segment is made. 0: none, until
   * `resume`. Negative: none, and the device may be away; a connection that has nothing on its way
   * waits no longer than for an answer.
   */
  allowance(device: number): number;
  /** A device asks for a connection: answer by `accept`, `refuse` or `forget`, now or later. */
  asked(connection: number): void;
  /** The other side has acknowledged the SYN: bytes may go in both directions. */
  opened(connection: number): void;
  /** Bytes that came. Returns how many of them were taken; the others come again after `take`. */
  received(connection: number, bytes: Buffer, offset: number, length: number): number;
  /** The other side sends no more, and all that it sent was taken. */
  finished(connection: number): void;
  /** After `place` found no room: there is room again. */
  writable(connection: number): void;
  /** A connection has ended, and its handle with it; not called after `abort` or `forget`. */
  ended(connection: number, how: number): void;
}

/** Sizes; tests use smaller ones. */
export interface MachineOptions {
  readonly owner: Owner;
  readonly random: (bytes: Uint8Array) => void;
  /** Devices are numbers below this. */
  readonly devices: number;
  readonly connections?: number;
  readonly poolBytes?: number;
  /** The memory of the pool, whole MiB, if the owner must know where bytes are. */
  readonly pool?: Buffer;
  readonly records?: number;
  readonly ranges?: number;
  /** Connections of a device that are not open yet, at most. */
  readonly connecting?: number;
  /** False where nothing on the way takes time: acknowledgements and bytes do not wait there. */
  readonly takesTime?: boolean;
  /** After so much silence an open connection is probed; 0: never. */
  readonly keepaliveMs?: number;
}

const MIB = 1_048_576;
const CONNECTIONS = 65_535;
const POOL_BYTES = 64 * MIB;
/** So many of them for each connection, as far as they are not said. */
const RECORDS_EACH = 2;
const RANGES_EACH = 1;
const CONNECTING_PER_DEVICE = 128;
/** An acknowledgement waits at most so long (RFC 9293, 3.8.6.3: less than 500 ms). */
const ACK_DELAY_MS = 40;
/** At least two hours, unless somebody chooses a shorter time (RFC 9293, 3.8.4: MUST-28). */
const KEEPALIVE_MS = 7_200_000;

/** Twice the life of a segment; RFC 9293 has 4 minutes, we take what Linux takes. */
export const TIME_WAIT_MS = 60_000;
/** A connection that found no room and has nothing in flight asks again after so long. */
export const ROOM_RETRY_MS = 10;
/** So long a FIN is awaited once the owner has closed both directions. */
export const ORPHAN_MS = 60_000;

/** The shared state. */
export class Core {
  readonly owner: Owner;
  readonly hash: SipHash;
  readonly table: Table;
  readonly words: Int32Array;
  readonly times: Float64Array;
  readonly buffers: Buffers;
  readonly streams: Streams;
  readonly ranges: Ranges;
  readonly records: Records;
  readonly wheel: Wheel;
  readonly congestion: CongestionControl;
  readonly connectingMax: number;
  readonly takesTime: boolean;
  readonly keepaliveMs: number;
  /**
   * Now, and the round trip that was measured last. In an array, because V8 may allocate a number
   * in a field or one that is passed.
   */
  readonly clock = new Float64Array(2);
  readonly header = new Header(new Ends());
  /** How many segments were sent again. */
  retransmitted = 0;
  /** Connections in the list of those that have something to send. */
  ready = 0;
  /** Devices with such connections, each as its number and 1; each has a list of its own. */
  readonly #devices: SlotRing;
  readonly #first: Int32Array;
  readonly #last: Int32Array;

  constructor(options: MachineOptions) {
    const connections = options.connections ?? CONNECTIONS;
    const devices = options.devices;
    this.owner = options.owner;
    this.hash = new SipHash(options.random);
    this.table = new Table(connections, devices, new SipHash(options.random));
    this.words = this.table.words;
    this.times = this.table.times;
    this.buffers = new Buffers(options.poolBytes ?? POOL_BYTES, devices, options.pool);
    this.streams = new Streams(this.words, this.buffers);
    this.ranges = new Ranges(this.words, options.ranges ?? RANGES_EACH * connections, devices);
    this.records = new Records(this.words, options.records ?? RECORDS_EACH * connections, devices);
    this.wheel = new Wheel(connections);
    this.congestion = new Cubic(this.words, this.times, this.clock);
    this.connectingMax = options.connecting ?? CONNECTING_PER_DEVICE;
    this.takesTime = options.takesTime ?? true;
    this.keepaliveMs = options.keepaliveMs ?? KEEPALIVE_MS;
    this.#devices = new SlotRing(devices);
    this.#first = new Int32Array(devices);
    this.#last = new Int32Array(devices);
  }

  /** Now as a timestamp of a connection (RFC 7323, 4.1: between 1 ms and 1 s a tick). */
  stampOf(slot: number): number {
    return (Math.floor(this.clock[0]!) + this.words[slot * WORDS + TS_OFFSET]!) | 0;
  }

  /** Sees to it that the earliest deadline of a connection fires. */
  schedule(slot: number): void {
    const t = slot * TIMES;
    const times = this.times;
    const at = Math.min(
      times[t + RETRANSMIT_AT]!,
      times[t + ACK_AT]!,
      times[t + PACE_AT]!,
      times[t + LIFE_AT]!,
    );
    this.wheel.schedule(slot, at);
  }

  /** Lets an acknowledgement wait for text, but not for long. */
  delayAck(slot: number): void {
    const t = slot * TIMES;
    if (this.times[t + ACK_AT] !== NEVER) return;
    this.times[t + ACK_AT] = this.clock[0]! + ACK_DELAY_MS;
    this.schedule(slot);
  }

  // ---- what is to be sent ----

  /** Puts a connection at the end of the list of its device. */
  makeReady(slot: number): void {
    const words = this.words;
    const w = slot * WORDS;
    if ((words[w + FLAGS]! & READY) !== 0) return;
    words[w + FLAGS]! |= READY;
    words[w + READY_NEXT] = NONE;
    const device = words[w + DEVICE]!;
    const last = this.#first[device] === NONE ? NONE : this.#last[device]!;
    words[w + READY_PREVIOUS] = last;
    if (last === NONE) this.#first[device] = slot;
    else words[last * WORDS + READY_NEXT] = slot;
    this.#last[device] = slot;
    this.ready++;
    this.list(device);
  }

  /** Puts a device into the ring, if it has something to send. */
  list(device: number): void {
    if (this.#first[device] !== NONE) this.#devices.add(device + 1);
  }

  /** Takes the first device out of the ring; -1 where there is none. */
  takeDevice(): number {
    return this.#devices.take() - 1;
  }

  /** Takes the first connection of a device out of its list; NONE where there is none. */
  takeReady(device: number): number {
    const slot = this.#first[device]!;
    if (slot === NONE) return NONE;
    this.#unready(slot);
    return slot;
  }

  #unready(slot: number): void {
    const words = this.words;
    const w = slot * WORDS;
    if ((words[w + FLAGS]! & READY) === 0) return;
    words[w + FLAGS]! &= ~READY;
    this.ready--;
    const device = words[w + DEVICE]!;
    const next = words[w + READY_NEXT]!;
    const previous = words[w + READY_PREVIOUS]!;
    if (previous === NONE) this.#first[device] = next;
    else words[previous * WORDS + READY_NEXT] = next;
    if (next === NONE) this.#last[device] = previous;
    else words[next * WORDS + READY_PREVIOUS] = previous;
  }

  // ---- the end ----

  /** The connection is no longer counted as connecting. */
  settle(slot: number): void {
    const w = slot * WORDS;
    if ((this.words[w + FLAGS]! & CONNECTING) === 0) return;
    this.words[w + FLAGS]! &= ~CONNECTING;
    this.table.connecting[this.words[w + DEVICE]!]!--;
  }

  /** Gives back all buffers of a connection. */
  empty(slot: number): void {
    const w = slot * WORDS;
    const device = this.words[w + DEVICE]!;
    this.streams.clear(w + SND_STREAM, device);
    this.streams.clear(w + RCV_STREAM, device);
    this.ranges.clear(slot);
    this.records.clear(slot);
  }

  /** Tells the owner once how a connection has ended; in TIME-WAIT it has ended for the owner. */
  report(slot: number, how: number): void {
    const w = slot * WORDS;
    if ((this.words[w + FLAGS]! & END_REPORTED) !== 0) return;
    this.words[w + FLAGS]! |= END_REPORTED;
    this.owner.ended(this.table.handleOf(slot), how);
  }

  /** ABORT (RFC 9293, 3.10.5): an RST, and nothing more. */
  abort(slot: number): void {
    const w = slot * WORDS;
    this.settle(slot);
    this.empty(slot);
    this.words[w + STATE] = ABORTED;
    this.words[w + FLAGS]! |= RST_DUE;
    this.makeReady(slot);
  }

  /** Removes a connection with all that it has. */
  remove(slot: number): void {
    this.settle(slot);
    this.empty(slot);
    this.#unready(slot);
    this.wheel.remove(slot);
    this.table.remove(slot);
  }

  /** Ends a connection: the owner learns how, then it is removed. */
  end(slot: number, how: number): void {
    const handle = this.table.handleOf(slot);
    this.report(slot, how);
    if (this.table.slotOf(handle) === slot) this.remove(slot);
  }
}
