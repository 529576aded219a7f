// How many sockets there may be: of all devices, and of each. TCP, UDP and echo share them. And how
// many flows of UDP, or echoes, may open one in one turn.

import { mayHaveMore } from '../tcp/numbers.ts';

/** A device has at most this part of all sockets, as it has of the connections of `tcp`. */
const SHARE = 4;
/** Where there are few sockets, a device still gets so many, if there are. */
const LEAST = 16;

/** Counts sockets. */
export class Budgets {
  readonly capacity: number;
  readonly #perDevice: number;
  readonly #ofDevice: Int32Array;
  #used = 0;

  constructor(capacity: number, devices: number) {
    this.capacity = capacity;
    this.#perDevice = Math.max(LEAST, Math.floor(capacity / SHARE));
    this.#ofDevice = new Int32Array(devices);
  }

  /** How many there are. */
  get used(): number {
    return this.#used;
  }

  /** How many a device has. */
  of(device: number): number {
    return this.#ofDevice[device]!;
  }

  /**
   * Counts one more of a device; false where it, or all, have as many as they may, or where it
   * would not leave as many to others.
   */
  take(device: number): boolean {
    const left = this.capacity - this.#used;
    if (!mayHaveMore(this.#ofDevice[device]!, this.#perDevice, left, LEAST)) return false;
    this.#used++;
    this.#ofDevice[device]!++;
    return true;
  }

  /** One of a device is closed. */
  give(device: number): void {
    this.#used--;
    this.#ofDevice[device]!--;
  }
}

/** Counts what may be opened in one turn. */
export class Openings {
  readonly #most: number;
  readonly #ofDevice: Int32Array;
  /** By device: the turn of its count. */
  readonly #turnOf: Int32Array;
  #turn = 0;
  #left = 0;

  constructor(most: number, devices: number) {
    this.#most = most;
    this.#ofDevice = new Int32Array(devices);
    this.#turnOf = new Int32Array(devices);
  }

  /** A turn begins. */
  begin(): void {
    this.#turn = (this.#turn + 1) | 0;
    this.#left = this.#most;
  }

  /** Counts one more of a device, which leaves to others at least as many as it has had. */
  take(device: number): boolean {
    if (this.#turnOf[device] !== this.#turn) {
      this.#turnOf[device] = this.#turn;
      this.#ofDevice[device] = 0;
    }
    if (this.#ofDevice[device]! >= this.#left) return false;
    this.#ofDevice[device]!++;
    this.#left--;
    return true;
  }
}
