// A slow and simple TCP for one connection, to compare the machine with: go-back-N with four segments
// in flight and a timer of 300 ms, no options, nothing kept that comes out of order, an
// acknowledgement for each segment. It shares no line with the machine.

import { flagsOf, tcp, viewOf } from '../dataplane/packets.ts';

const MSS = 500;
const IN_FLIGHT = 4 * MSS;
const TIMER_MS = 300;
const LINGER_MS = 200_000;
const WINDOW_MAX = 20_000;

/** What a model is given: where it is, and the bytes that it sends. */
export interface SlowOptions {
  readonly port: number;
  readonly iss: number;
  readonly out: Buffer;
  /** The window that it announces at a time: it may be 0. */
  readonly windowAt: (now: number) => number;
}

/** The device's side. */
export class SlowTcp {
  readonly received: number[] = [];
  /** 'closed' and 'reset' are ends. */
  state: 'opening' | 'open' | 'closed' | 'reset' = 'opening';
  readonly #options: SlowOptions;
  /** Counted from the first byte of text; -1 is the SYN. */
  #acknowledged = -1;
  #peerIss = 0;
  #window = 0;
  #timerAt = 0;
  #hasPeerFinished = false;
  #lingerUntil = Number.POSITIVE_INFINITY;

  constructor(options: SlowOptions) {
    this.#options = options;
  }

  /** The machine's side has sent all. */
  get hasPeerFinished(): boolean {
    return this.#hasPeerFinished;
  }

  get isDone(): boolean {
    return this.state === 'closed' || this.state === 'reset';
  }

  /** When `tick` has something to do. */
  get deadline(): number {
    return this.isDone ? Number.POSITIVE_INFINITY : Math.min(this.#timerAt, this.#lingerUntil);
  }

  /** Sends what is due, and what is not acknowledged again. */
  tick(now: number): Buffer[] {
    if (now >= this.#lingerUntil) this.state = 'closed';
    if (this.isDone) return [];
    this.#timerAt = now + TIMER_MS;
    if (this.state === 'opening') return [this.#make(now, 'S', -1, 0)];
    return this.#text(now);
  }

  #text(now: number): Buffer[] {
    const { out } = this.#options;
    const packets: Buffer[] = [];
    const from = Math.max(0, this.#acknowledged);
    // One byte into a closed window, so that it is heard when the window opens.
    const end = Math.min(out.length, from + Math.max(1, Math.min(this.#window, IN_FLIGHT)));
    for (let at = from; at < end; at += MSS)
      packets.push(this.#make(now, 'PA', at, Math.min(MSS, end - at)));
    if (end === out.length && this.#acknowledged <= out.length)
      packets.push(this.#make(now, 'FA', out.length, 0));
    return packets;
  }

  /** Takes a packet; returns what answers it. */
  receive(now: number, packet: Buffer): Buffer[] {
    const view = viewOf(packet);
    const flags = packet[33]!;
    const sequence = view.getUint32(24);
    const text = packet.subarray(20 + (packet[32]! >> 4) * 4);
    if (this.isDone) return [];
    if ((flags & 4) !== 0 && this.#lingerUntil < Number.POSITIVE_INFINITY) return [];
    if ((flags & 4) !== 0) {
      this.state = 'reset';
      return [];
    }
    const hasMoved = this.#readAck(view.getUint32(28), view.getUint16(34));
    if ((flags & 2) !== 0) {
      this.#peerIss = sequence;
      this.state = 'open';
      return [...this.#text(now), this.#make(now, 'A', this.#place(), 0)];
    }
    const place = (sequence - this.#peerIss - 1) | 0;
    const fresh = this.received.length - place;
    const room = this.#options.windowAt(now);
    if (fresh >= 0 && fresh < text.length && !this.#hasPeerFinished)
      this.received.push(...text.subarray(fresh, fresh + room));
    const end = place + text.length;
    if ((flags & 1) !== 0 && end === this.received.length) this.#hasPeerFinished = true;
    if (this.#hasPeerFinished && this.#acknowledged > this.#options.out.length)
      this.#lingerUntil = Math.min(this.#lingerUntil, now + LINGER_MS);
    const isAckOnly = text.length === 0 && (flags & 1) === 0 && place >= this.received.length;
    const answers = isAckOnly ? [] : [this.#make(now, 'A', this.#place(), 0)];
    return hasMoved ? [...answers, ...this.#text(now)] : answers;
  }

  #readAck(acknowledgement: number, window: number): boolean {
    const place = (acknowledgement - this.#options.iss - 1) | 0;
    const hasMoved = place > this.#acknowledged;
    if (place >= this.#acknowledged) this.#window = window;
    if (hasMoved) this.#acknowledged = place;
    return hasMoved;
  }

  /** The next number of an empty segment. */
  #place(): number {
    return Math.max(0, this.#acknowledged);
  }

  #make(now: number, letters: string, place: number, length: number): Buffer {
    const { iss, out, port, windowAt } = this.#options;
    const finished = this.#hasPeerFinished ? 1 : 0;
    const isSyn = letters === 'S';
    return Buffer.from(
      tcp({
        source: '10.0.0.2',
        destination: '192.0.2.1',
        sourcePort: port,
        destinationPort: 80,
        flags: flagsOf(letters),
        sequence: (iss + 1 + place) >>> 0,
        acknowledgement: isSyn ? 0 : (this.#peerIss + 1 + this.received.length + finished) >>> 0,
        window: Math.min(WINDOW_MAX, windowAt(now)),
        data: out.subarray(place, place + length),
      }),
    );
  }
}
