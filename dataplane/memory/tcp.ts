// As much of TCP as is needed to see whether a flow passes: the three-way handshake, data with
// acknowledgements, the end, and the reset. The network in memory never loses, repeats or reorders
// anything, so there are no timers, no window and no congestion control.

import { TCP_ACK, TCP_FIN, TCP_RST, TCP_SYN } from '../wire/ip.ts';
import { bytesOf, viewOf } from '../wire/packets.ts';

/** Bytes of data in one segment; a full segment fits an IPv6 link of the smallest MTU. */
const SEGMENT_BYTES = 1_200;
const FIRST_SEQUENCE = 1_000;

/** A segment, as far as it is used here. */
export interface Segment {
  readonly sequence: number;
  readonly acknowledgement: number;
  readonly flags: number;
  readonly data: Uint8Array;
}

/** Reads the TCP segment that begins at `at`. */
export function readSegment(packet: Uint8Array, at: number): Segment {
  const view = viewOf(packet);
  return {
    sequence: view.getUint32(at + 4),
    acknowledgement: view.getUint32(at + 8),
    flags: view.getUint8(at + 13),
    data: packet.slice(at + (view.getUint8(at + 12) >> 4) * 4),
  };
}

/** The reset that answers a segment without a connection. */
export function resetOf({ sequence, acknowledgement, flags, data }: Segment): Segment {
  const length = data.length + ((flags & (TCP_SYN | TCP_FIN)) === 0 ? 0 : 1);
  return {
    sequence: (flags & TCP_ACK) === 0 ? 0 : acknowledgement,
    acknowledgement: sequence + length,
    flags: TCP_RST | TCP_ACK,
    data: new Uint8Array(0),
  };
}

/** What a connection needs of its host. */
export interface Carrier {
  /** The name of the other side in messages: `10.0.0.5 port 80`. */
  readonly peer: string;
  /** Sends a segment. */
  emit(segment: Segment): void;
  /** Calls `send` until `isDone`; rejects with the reason when it is useless. */
  ask(what: string, send: () => void, isDone: () => boolean): Promise<void>;
  /** Makes the answer to data; null where nothing answers. */
  answer: ((data: Buffer) => Uint8Array | string | null) | null;
  /** Called when the connection has ended. */
  forget(): void;
}

/** One end of a TCP connection. */
export class Connection {
  readonly #carrier: Carrier;
  #state: 'opening' | 'open' | 'closing' | 'closed' | 'reset' = 'opening';
  /** Segments that were sent and are not acknowledged; SYN and FIN count as one byte. */
  #unacknowledged: readonly Segment[] = [];
  #next = FIRST_SEQUENCE;
  #expected = 0;
  #hasFinished = false;
  #received: Uint8Array[] = [];

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
  }

  /** Whether data can be sent. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Sends data; resolves when the other side has acknowledged it. */
  async send(data: Uint8Array | string): Promise<void> {
    this.#mustBeOpen();
    const bytes = bytesOf(data);
    for (let at = 0; at < bytes.length; at += SEGMENT_BYTES)
      this.#say(TCP_ACK, bytes.slice(at, at + SEGMENT_BYTES));
    await this.#insist('data');
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
      this.#state = 'closing';
      this.#say(TCP_FIN | TCP_ACK);
    }
    await this.#insist('the end', () => this.#state === 'closed');
  }

  /** For the host: opens the connection. */
  async open(): Promise<void> {
    this.#say(TCP_SYN);
    await this.#insist('a request', () => this.isOpen);
  }

  #mustBeOpen(): void {
    if (this.#state !== 'open')
      throw new Error(`the connection to ${this.#carrier.peer} is ${this.#state}`);
  }

  // ---- sending ----

  #say(flags: number, data: Uint8Array = new Uint8Array(0)): void {
    const segment = { sequence: this.#next, acknowledgement: 0, flags, data };
    this.#unacknowledged = [...this.#unacknowledged, segment];
    this.#next += lengthOf(segment);
  }

  /** Sends segments that are not acknowledged, and sends them again where that can help. */
  async #insist(
    what: string,
    isDone = (): boolean => this.#unacknowledged.length === 0,
  ): Promise<void> {
    const { peer } = this.#carrier;
    await this.#carrier.ask(
      `${what} for ${peer} (TCP)`,
      () => this.#emitAll(),
      () => isDone() || this.#state === 'reset',
    );
    if (this.#state !== 'reset') return;
    const error = new Error(`${peer} has reset the connection, or has no such port (TCP)`);
    throw Object.assign(error, { code: 'ECONNREFUSED' });
  }

  #emitAll(): void {
    for (const segment of this.#unacknowledged)
      this.#carrier.emit({ ...segment, acknowledgement: this.#acknowledgementOf(segment) });
  }

  #acknowledgementOf({ flags }: Segment): number {
    return (flags & TCP_ACK) === 0 ? 0 : this.#expected;
  }

  // ---- receiving ----

  /** For the host: takes a segment. */
  receive(segment: Segment): void {
    const { flags, sequence, acknowledgement } = segment;
    if ((flags & TCP_RST) !== 0) return this.#end('reset');
    const isFirst = (flags & TCP_SYN) !== 0;
    if (isFirst) {
      this.#expected = sequence;
      if ((flags & TCP_ACK) === 0 && this.#unacknowledged.length === 0)
        this.#say(TCP_SYN | TCP_ACK);
    }
    if ((flags & TCP_ACK) !== 0)
      this.#unacknowledged = this.#unacknowledged.filter(
        (said) => said.sequence + lengthOf(said) > acknowledgement,
      );
    const saidBefore = this.#unacknowledged;
    const isRepeated = sequence !== this.#expected;
    if (!isRepeated) this.#take(segment);
    if (this.#state === 'opening' && this.#unacknowledged.length === 0) this.#state = 'open';
    if (lengthOf(segment) > 0) this.#acknowledge(isRepeated ? [] : saidBefore);
    if (this.#hasFinished && this.#state === 'closing' && this.#unacknowledged.length === 0)
      this.#end('closed');
  }

  #take({ flags, data }: Segment): void {
    this.#expected += data.length + ((flags & (TCP_SYN | TCP_FIN)) === 0 ? 0 : 1);
    const { answer } = this.#carrier;
    if (data.length > 0) {
      const said = answer === null ? null : answer(Buffer.from(data));
      if (answer === null) this.#received.push(data);
      else if (said !== null && said.length > 0) this.#say(TCP_ACK, bytesOf(said));
    }
    if ((flags & TCP_FIN) === 0) return;
    this.#hasFinished = true;
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#say(TCP_FIN | TCP_ACK);
  }

  /** Sends new segments in return, or at least an acknowledgement. */
  #acknowledge(saidBefore: readonly Segment[]): void {
    const fresh = this.#unacknowledged.filter((said) => !saidBefore.includes(said));
    const toSay = this.#state === 'opening' ? this.#unacknowledged : fresh;
    if (toSay.length === 0)
      return this.#carrier.emit({
        sequence: this.#next,
        acknowledgement: this.#expected,
        flags: TCP_ACK,
        data: new Uint8Array(0),
      });
    for (const segment of toSay)
      this.#carrier.emit({ ...segment, acknowledgement: this.#acknowledgementOf(segment) });
  }

  #end(state: 'closed' | 'reset'): void {
    this.#state = state;
    this.#unacknowledged = [];
    this.#carrier.forget();
  }
}

/** How far a segment advances the sequence. */
function lengthOf({ flags, data }: Segment): number {
  return data.length + ((flags & (TCP_SYN | TCP_FIN)) === 0 ? 0 : 1);
}
