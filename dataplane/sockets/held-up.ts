// How much a device may get in a batch, asked before a segment is made. What a limit, the send
// buffer or a session that is not there yet would drop, TCP would take for loss. Devices that may
// get nothing for now are asked about again, and then what waits for them goes on.

import { SlotRing } from '../tcp/ring.ts';
import type { Counting } from './outbox.ts';
import { type Around, AWAITS_SESSION } from './shared.ts';

/** A device without an allowance is asked about again after so long. */
const RESUME_MS = 4;
/** What the kernel and WireGuard add to a packet in the send buffer, and to its bytes. */
const PACKET_OVERHEAD = 1_024;
const SHARE_ADDED = 1.125;

/** Of each datagram of a run but the first: IPv6, TCP with timestamps. */
const HEADERS_MAX = 72;

/** What is asked. */
type Asked = Pick<Around, 'allowance' | 'sendRoom'>;

/** The devices. */
export class HeldUp implements Counting {
  readonly #around: Asked;
  /** Each as its number and 1. */
  readonly #devices: SlotRing;
  /** By device: bytes that were made for it in the batch of that number. */
  readonly #spent: Float64Array;
  readonly #batchOf: Float64Array;
  #batch = 1;
  /** What the send buffer takes in this batch, and how much of it is left; -1: nobody has asked. */
  #room = -1;
  #roomLeft = -1;
  /** When they are asked about again. */
  deadline = Number.POSITIVE_INFINITY;

  constructor(around: Asked, devices: number) {
    this.#around = around;
    this.#devices = new SlotRing(devices);
    this.#spent = new Float64Array(devices);
    this.#batchOf = new Float64Array(devices);
  }

  /** What was made until now has left. */
  begin(): void {
    this.#batch++;
    this.#room = -1;
  }

  /** How many bytes a device may get now; 0: none, and it is held up; or AWAITS_SESSION. */
  allowance(device: number, now: number): number {
    const allowed = this.#around.allowance(device, now);
    if (allowed === AWAITS_SESSION) return AWAITS_SESSION;
    const left = allowed - this.#spentOn(device);
    if (left <= 0) return this.#hold(device, now + RESUME_MS);
    if (this.#room < 0) this.#room = this.#roomLeft = this.#around.sendRoom();
    if (this.#roomLeft > 0) return Math.min(left, this.#roomLeft);
    // What this batch has filled is empty after it, if the network takes it.
    return this.#hold(device, this.#room > 0 ? now : now + RESUME_MS);
  }

  #spentOn(device: number): number {
    return this.#batchOf[device] === this.#batch ? this.#spent[device]! : 0;
  }

  #hold(device: number, until: number): 0 {
    this.#devices.add(device + 1);
    this.deadline = Math.min(this.deadline, until);
    return 0;
  }

  /** A packet of `length` bytes was made, which becomes so many datagrams. */
  made(device: number, length: number, datagrams: number): void {
    const bytes = length + (datagrams - 1) * HEADERS_MAX;
    this.#spent[device] = this.#spentOn(device) + bytes;
    this.#batchOf[device] = this.#batch;
    if (this.#room >= 0) this.#roomLeft -= bytes * SHARE_ADDED + PACKET_OVERHEAD;
  }

  /** Lets those go on that may get something again. */
  resume(now: number, waiting: { resume(device: number): void }): void {
    if (this.deadline > now) return;
    this.deadline = Number.POSITIVE_INFINITY;
    for (let visits = this.#devices.count; visits > 0; visits--) {
      const device = this.#devices.take() - 1;
      // One that awaits a session now is no longer listed here: its connections are to know it.
      if (this.allowance(device, now) !== 0) waiting.resume(device);
    }
  }
}
