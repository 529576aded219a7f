// TCP connections of a device in memory as streams of Node. The machine of `tcp` has the device's
// side of each: windows, timers and losses are those of a real host.

import { Duplex } from 'node:stream';
import type { Random } from '../noise/handshake.ts';
import { isRight } from '../tcp/checksum.ts';
import { ENDED_BY_CLOSE, ENDED_BY_RESET, type Owner } from '../tcp/core.ts';
import { TcpMachine } from '../tcp/machine.ts';
import { Ends, setEnds } from '../tcp/table.ts';
import { isIcmpError } from '../wire/icmp.ts';
import { InnerPacket, parseInner, parseQuoted, PROTOCOL_TCP } from '../wire/ip.ts';
import { viewOf } from '../wire/packets.ts';
import { reasons } from '../reasons.ts';
import { LateTimer } from './late-timer.ts';
import { MadePackets } from './made-packets.ts';

/** A device in memory has one machine, so its number in it is always the same. */
const SELF = 0;
const MTU = 1_420;
/** Below the ports that the other connections of a host in memory have. */
const PORTS_FROM = 32_768;
const PORTS = 16_384;
/** How long nobody answers before a connection fails. */
const CONNECT_MS = 15_000;
const LATEST_MS = 1_000;

/** What streams are made of. */
export interface StreamParts {
  /** Monotonic, in ms. */
  readonly now: () => number;
  readonly random: Random;
  /** Sends a packet of the device. */
  readonly send: (packet: Uint8Array) => void;
}

/** One connection. */
export class DeviceStream extends Duplex {
  readonly #machine: TcpMachine;
  readonly #moved: () => void;
  readonly #timer: NodeJS.Timeout;
  connection = 0;
  #isConnected = false;
  #isDraining = true;
  #waiting: { bytes: Buffer; done: () => void } | null = null;

  constructor(machine: TcpMachine, moved: () => void) {
    super({ allowHalfOpen: true });
    this.#machine = machine;
    this.#moved = moved;
    this.#timer = setTimeout(() => this.fail('ETIMEDOUT'), CONNECT_MS);
  }

  /** Whether the other side has answered. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** An agent of `http` calls these; no stream keeps a process alive. */
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  opened(): void {
    clearTimeout(this.#timer);
    this.#isConnected = true;
    this.emit('connect');
    this.#writeMore();
  }

  received(bytes: Buffer, offset: number, length: number): number {
    if (!this.#isDraining) return 0;
    this.#isDraining = this.push(Buffer.from(bytes.subarray(offset, offset + length)));
    return length;
  }

  finished(): void {
    this.push(null);
  }

  ended(how: number): void {
    this.connection = 0;
    if (how === ENDED_BY_CLOSE) {
      if (!this.readableEnded) this.push(null);
      return;
    }
    const before = this.#isConnected ? 'ECONNRESET' : 'ECONNREFUSED';
    this.fail(how === ENDED_BY_RESET ? before : 'ETIMEDOUT');
  }

  fail(code: string): void {
    this.destroy(Object.assign(new Error(`the connection has failed: ${code}`), { code }));
  }

  /** There is room again. */
  roomy(): void {
    this.#writeMore();
  }

  override _read(): void {
    const hasLeftBytes = !this.#isDraining;
    this.#isDraining = true;
    if (!hasLeftBytes || this.connection === 0) return;
    this.#machine.take(this.connection);
    this.#moved();
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.#waiting = { bytes, done };
    if (this.#isConnected) this.#writeMore();
  }

  #writeMore(): void {
    const waiting = this.#waiting;
    if (waiting === null || this.connection === 0) return;
    const { bytes, done } = waiting;
    const sent = this.#machine.send(this.connection, bytes, 0, bytes.length);
    this.#waiting = sent < bytes.length ? { bytes: bytes.subarray(sent), done } : null;
    this.#moved();
    if (this.#waiting === null) done();
  }

  override _final(done: () => void): void {
    this.#machine.close(this.connection);
    this.#moved();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    if (this.connection !== 0) {
      this.#machine.release(this.connection);
      this.connection = 0;
      this.#moved();
    }
    done(error);
  }
}

/** All streams of a device. */
export class DeviceStreams implements Owner {
  readonly #parts: StreamParts;
  readonly #machine: TcpMachine;
  readonly #streams = new Map<number, DeviceStream>();
  readonly #made: MadePackets;
  readonly #packet = new InnerPacket();
  readonly #quoted = new InnerPacket();
  readonly #ends = new Ends();
  #port: number;
  readonly #timer = new LateTimer(() => this.#expire());
  #isSending = false;
  #isClosed = false;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    const { random } = parts;
    this.#machine = new TcpMachine({ owner: this, random, devices: 1, connections: 1_024 });
    this.#made = new MadePackets(this.#machine, MTU);
    this.#machine.begin(parts.now());
    this.#machine.expire();
    const chance = new Uint16Array(1);
    random(new Uint8Array(chance.buffer));
    this.#port = chance[0]! % PORTS;
  }

  /** Opens a connection from an address of the device, 4 or 16 bytes. */
  connect(from: Uint8Array, to: Uint8Array, port: number): DeviceStream {
    const machine = this.#machine;
    machine.begin(this.#parts.now());
    const stream = new DeviceStream(machine, () => this.#move());
    const ends = this.#ends;
    for (let tries = 0; tries < PORTS && stream.connection === 0; tries++) {
      this.#port = (this.#port + 1) % PORTS;
      setEnds(ends, from, PORTS_FROM + this.#port, to, port);
      stream.connection = machine.open(SELF, ends);
    }
    if (stream.connection === 0) stream.fail('EADDRNOTAVAIL');
    else this.#streams.set(stream.connection, stream);
    this.#move();
    return stream;
  }

  /** Takes a packet; whether it was for a stream. */
  receive(packet: Uint8Array): boolean {
    const bytes = Buffer.from(packet.buffer, packet.byteOffset, packet.length);
    const view = viewOf(bytes);
    const inner = this.#packet;
    if (parseInner(view, 0, bytes.length, inner) !== reasons.none) return false;
    if (isIcmpError(view, 0, inner)) return this.#takeError(view, inner);
    if (inner.protocol !== PROTOCOL_TCP) return false;
    const port = inner.destinationPort - PORTS_FROM;
    const isOurs = port >= 0 && port < PORTS;
    if (!isOurs || !isRight(view, 0, inner.upperOffset, inner.length - inner.upperOffset))
      return false;
    this.#machine.begin(this.#parts.now());
    this.#machine.receive(SELF, bytes, view, 0, inner);
    this.#move();
    return true;
  }

  /** An ICMP error about a connection that is not open yet ends it. */
  #takeError(view: DataView, { upperOffset, length }: InnerPacket): boolean {
    const quoted = this.#quoted;
    const at = upperOffset + 8;
    if (!parseQuoted(view, at, length - at, quoted) || quoted.protocol !== PROTOCOL_TCP)
      return false;
    for (const [connection, stream] of this.#streams) {
      this.#machine.describe(connection, this.#ends);
      const isThis = this.#ends.words[8]! >>> 16 === quoted.sourcePort;
      if (!isThis || stream.isConnected) continue;
      this.#machine.forget(connection);
      this.#streams.delete(connection);
      stream.connection = 0;
      stream.fail('EHOSTUNREACH');
      return true;
    }
    return false;
  }

  /** Sends what is to be sent, and sees to the next deadline. */
  #move(): void {
    if (this.#isSending || this.#isClosed) return;
    this.#isSending = true;
    const machine = this.#machine;
    try {
      this.#made.sendAll(this.#parts.send);
    } finally {
      this.#isSending = false;
    }
    const isIdle = this.#streams.size === 0 && machine.deadline === Number.POSITIVE_INFINITY;
    const wait = Math.min(LATEST_MS, machine.deadline - this.#parts.now());
    this.#timer.set(isIdle ? Number.POSITIVE_INFINITY : wait);
  }

  #expire(): void {
    this.#machine.begin(this.#parts.now());
    this.#machine.expire();
    this.#move();
  }

  // ---- what the machine asks --------------------------------------------------------------------

  mtuOf(): number {
    return MTU;
  }

  allowance(): number {
    return 1 << 30;
  }

  /** Nobody connects to a device by this way. */
  asked(connection: number): void {
    this.#machine.refuse(connection);
  }

  opened(connection: number): void {
    this.#streams.get(connection)?.opened();
  }

  received(connection: number, bytes: Buffer, offset: number, length: number): number {
    return this.#streams.get(connection)?.received(bytes, offset, length) ?? length;
  }

  finished(connection: number): void {
    this.#streams.get(connection)?.finished();
  }

  writable(connection: number): void {
    this.#streams.get(connection)?.roomy();
  }

  ended(connection: number, how: number): void {
    const stream = this.#streams.get(connection);
    this.#streams.delete(connection);
    stream?.ended(how);
  }

  /** Ends all streams. */
  close(): void {
    this.#isClosed = true;
    this.#timer.clear();
    for (const stream of this.#streams.values()) stream.destroy();
    this.#streams.clear();
  }
}
