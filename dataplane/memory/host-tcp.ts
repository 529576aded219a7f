// TCP of a host in memory, by the machine of `tcp`. Nothing waits on this network: acknowledgements
// leave at once, and whoever asks again moves its clock in place of waiting for a timeout.

import type { Random } from '../noise/handshake.ts';
import { isRight } from '../tcp/checksum.ts';
import { ENDED_BY_CLOSE, type Owner } from '../tcp/core.ts';
import { TcpMachine } from '../tcp/machine.ts';
import { Ends, setEnds } from '../tcp/table.ts';
import { formatAddress, parseAddress } from '../wire/address.ts';
import { type InnerPacket, TCP_FIN } from '../wire/ip.ts';
import { bytesOf, sourceOf, viewOf } from '../wire/packets.ts';
import { MadePackets } from './made-packets.ts';

/** A host is the one device of its machine. */
const SELF = 0;
/** A full segment fits an IPv6 link of the smallest MTU. */
const MTU = 1_280;
/** A device may have a quarter of these, so a host has at most 4,096. */
const CONNECTIONS = 16_384;
const POOL_BYTES = 8 * 1_048_576;
const RECORDS = 8_192;
const RANGES = 1_024;
/** A timeout after which something is sent again is shorter, as often as anybody tries. */
const TIMEOUT_MAX_MS = 10_000;

/** The ends of a connection, as a host sees them: the other side, and the own port. */
export interface OtherEnd {
  readonly address: string;
  readonly port: number;
  readonly at: number;
}

/** Makes the answer to the data of a segment; null for none. */
export type AnswerTo = (data: Buffer) => Uint8Array | string | null;

/** What the TCP of a host is made of. */
export interface HostTcpParts {
  /** Monotonic, in ms. */
  readonly now: () => number;
  readonly random: Random;
  readonly send: (packet: Uint8Array) => void;
  /** Who answers a connection that somebody opens; null: nobody, and it is refused. */
  readonly answerer: (end: OtherEnd) => AnswerTo | null;
  /** Calls `send` until `isDone`; rejects with the reason when that is useless. */
  readonly ask: (
    what: string,
    to: string,
    send: () => void,
    isDone: () => boolean,
  ) => Promise<void>;
}

/** All TCP connections of a host. */
export class HostTcp implements Owner {
  readonly #parts: HostTcpParts;
  readonly #machine: TcpMachine;
  readonly #connections = new Map<number, Connection>();
  readonly #ends = new Ends();
  readonly #made: MadePackets;
  /** Who has sent the packet that is taken now. */
  #sender = '';
  /** Whether the packet that is taken now brings something that was not there. */
  #hasNews = false;
  /** How far the clock of this TCP is ahead of that of the network. */
  #aheadMs = 0;

  constructor(parts: HostTcpParts) {
    this.#parts = parts;
    this.#machine = new TcpMachine({
      owner: this,
      random: parts.random,
      devices: 1,
      connections: CONNECTIONS,
      poolBytes: POOL_BYTES,
      records: RECORDS,
      ranges: RANGES,
      takesTime: false,
    });
    this.#made = new MadePackets(this.#machine, MTU);
  }

  /** Opens a connection from an address of the host. */
  async connect(from: string, end: OtherEnd): Promise<Connection> {
    const machine = this.#machine;
    const [source, destination] = [parseAddress(from)!, parseAddress(end.address)!];
    setEnds(this.#ends, source, end.at, destination, end.port);
    this.#begin();
    const handle = machine.open(SELF, this.#ends);
    if (handle === 0) throw new Error('this host has too many TCP connections');
    const connection = this.#add(handle, end, null);
    try {
      await connection.open();
      return connection;
    } catch (error) {
      this.#connections.delete(handle);
      machine.abort(handle);
      throw error;
    }
  }

  #add(handle: number, end: OtherEnd, answer: AnswerTo | null): Connection {
    const connection = new Connection({
      peer: `${end.address} port ${end.port}`,
      handle,
      machine: this.#machine,
      answer,
      ask: (what, isDone) => this.#ask(what, end.address, isDone),
    });
    this.#connections.set(handle, connection);
    return connection;
  }

  #ask(what: string, to: string, isDone: () => boolean): Promise<void> {
    let isFirst = true;
    const send = (): void => {
      if (!isFirst) this.#skipToDeadline();
      isFirst = false;
      this.#move();
    };
    return this.#parts.ask(what, to, send, isDone);
  }

  /** Takes a packet, which `inner` describes. */
  receive(packet: Uint8Array, inner: InnerPacket): void {
    const bytes = Buffer.from(packet.buffer, packet.byteOffset, packet.length);
    const view = viewOf(bytes);
    if (!isRight(view, 0, inner.upperOffset, inner.length - inner.upperOffset)) return;
    this.#sender = formatAddress(sourceOf(packet));
    this.#begin();
    this.#hasNews = false;
    this.#machine.receive(SELF, bytes, view, 0, inner);
    // Who hears something twice was not heard: what it has said is said again, too.
    if (!this.#hasNews && saysSomething(view, inner)) this.#skipToDeadline();
    this.#move();
  }

  #begin(): void {
    this.#machine.begin(this.#parts.now() + this.#aheadMs);
  }

  /** What waits to be sent again is sent again now. */
  #skipToDeadline(): void {
    const { deadline } = this.#machine;
    const now = this.#parts.now() + this.#aheadMs;
    // Later ones are of connections that are over, or idle.
    if (deadline > now + TIMEOUT_MAX_MS) return;
    // The wheel fires once a tick of 1 ms has passed.
    this.#aheadMs += Math.max(0, deadline + 1 - now);
  }

  /** Sends what is to be sent. */
  #move(): void {
    const machine = this.#machine;
    this.#begin();
    machine.expire();
    this.#made.sendAll(this.#parts.send);
  }

  // ---- what the machine asks --------------------------------------------------------------------

  mtuOf(): number {
    return MTU;
  }

  allowance(): number {
    return 1 << 30;
  }

  asked(handle: number): void {
    this.#machine.describe(handle, this.#ends);
    const ports = this.#ends.words[8]!;
    const end = { address: this.#sender, port: ports & 0xffff, at: ports >>> 16 };
    const answer = this.#parts.answerer(end);
    if (answer === null) return this.#machine.refuse(handle);
    this.#add(handle, end, answer);
    this.#machine.accept(handle);
  }

  opened(handle: number): void {
    this.#connections.get(handle)?.opened();
  }

  received(handle: number, bytes: Buffer, offset: number, length: number): number {
    this.#hasNews = true;
    const data = Buffer.from(bytes.subarray(offset, offset + length));
    this.#connections.get(handle)?.received(data);
    return length;
  }

  finished(handle: number): void {
    this.#hasNews = true;
    this.#connections.get(handle)?.finished();
  }

  writable(handle: number): void {
    this.#connections.get(handle)?.writeMore();
  }

  ended(handle: number, how: number): void {
    this.#connections.get(handle)?.ended(how === ENDED_BY_CLOSE);
    this.#connections.delete(handle);
  }
}

/** Whether a segment has text or an end, which is acknowledged. */
function saysSomething(view: DataView, { upperOffset, length, flags }: InnerPacket): boolean {
  const header = (view.getUint8(upperOffset + 12) >> 4) * 4;
  return length > upperOffset + header || (flags & TCP_FIN) !== 0;
}

/** What a connection is made of. */
interface ConnectionParts {
  /** The name of the other side in messages: `10.0.0.5 port 80`. */
  readonly peer: string;
  readonly handle: number;
  readonly machine: TcpMachine;
  readonly answer: AnswerTo | null;
  readonly ask: (what: string, isDone: () => boolean) => Promise<void>;
}

/** One end of a TCP connection. */
export class Connection {
  readonly #parts: ConnectionParts;
  #state: 'opening' | 'open' | 'closing' | 'closed' | 'reset' = 'opening';
  /** Bytes for which the machine has no room yet. */
  #waiting = Buffer.alloc(0);
  #received: Buffer[] = [];

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Whether data can be sent. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Sends data; resolves when the other side has acknowledged it. */
  async send(data: Uint8Array | string): Promise<void> {
    this.#mustBeOpen();
    this.#write(data);
    await this.#insist('data', () => this.#hasArrived);
  }

  /** Sends data; resolves to all data that has come since. */
  async exchange(data: Uint8Array | string): Promise<Buffer> {
    await this.send(data);
    return this.take();
  }

  /** Takes the data that has come since the last call; empty when there is none. */
  take(): Buffer {
    const received = Buffer.concat(this.#received);
    this.#received = [];
    return received;
  }

  /** Ends the connection in both directions. */
  async close(): Promise<void> {
    if (this.#state !== 'closing') {
      this.#mustBeOpen();
      this.#end();
    }
    await this.#insist('the end', () => this.#state === 'closed');
  }

  /** For the host: opens the connection. */
  async open(): Promise<void> {
    await this.#insist('a request', () => this.isOpen);
  }

  #mustBeOpen(): void {
    if (this.#state !== 'open')
      throw new Error(`the connection to ${this.#parts.peer} is ${this.#state}`);
  }

  async #insist(what: string, isDone: () => boolean): Promise<void> {
    const { peer, ask } = this.#parts;
    await ask(`${what} for ${peer} (TCP)`, () => isDone() || this.#state === 'reset');
    if (this.#state !== 'reset') return;
    const error = new Error(`${peer} has reset the connection, or has no such port (TCP)`);
    throw Object.assign(error, { code: 'ECONNREFUSED' });
  }

  get #hasArrived(): boolean {
    const { machine, handle } = this.#parts;
    return this.#waiting.length === 0 && machine.unacknowledged(handle) === 0;
  }

  #write(data: Uint8Array | string): void {
    this.#waiting = Buffer.concat([this.#waiting, bytesOf(data)]);
    this.writeMore();
  }

  /** The end comes after the last byte. */
  #end(): void {
    this.#state = 'closing';
    this.writeMore();
  }

  // ---- what happens to it -----------------------------------------------------------------------

  /** For the host: there is room for bytes. */
  writeMore(): void {
    const { machine, handle } = this.#parts;
    const bytes = this.#waiting;
    this.#waiting = bytes.subarray(machine.send(handle, bytes, 0, bytes.length));
    if (this.#state === 'closing' && this.#waiting.length === 0) machine.close(handle);
  }

  /** For the host: the other side has answered. */
  opened(): void {
    this.#state = 'open';
  }

  /** For the host: bytes have come. */
  received(data: Buffer): void {
    const { answer } = this.#parts;
    if (answer === null) {
      this.#received.push(data);
      return;
    }
    const said = answer(data);
    if (said !== null && said.length > 0) this.#write(said);
  }

  /** For the host: the other side sends nothing more. */
  finished(): void {
    if (this.#state === 'open') this.#end();
  }

  /** For the host: the connection is no more. */
  ended(isClosed: boolean): void {
    this.#state = isClosed ? 'closed' : 'reset';
    this.#waiting = Buffer.alloc(0);
  }
}
