// Connections that wait until their host is asked. Devices take turns, so a device that asks for
// many dead hosts delays its own connections alone.

import { SlotRing } from '../tcp/ring.ts';

/** A host that has not answered after so long is silent, ms. */
export const CONNECT_MS = 10_000;
/** Hosts that one turn asks; each costs as much as several packets. */
export const CONNECTS_PER_TURN = 16;

const NONE = 0;

/** The queues of all devices; an entry is the slot of a connection, from 1 on. */
export class Waiting {
  readonly #next: Int32Array;
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  /** The devices that have entries, each as its number and 1. */
  readonly #devices: SlotRing;
  #count = 0;

  constructor(slots: number, devices: number) {
    this.#next = new Int32Array(slots + 1);
    this.#first = new Int32Array(devices);
    this.#last = new Int32Array(devices);
    this.#devices = new SlotRing(devices);
  }

  /** How many wait. */
  get count(): number {
    return this.#count;
  }

  /** Adds an entry that is not there yet. */
  add(device: number, slot: number): void {
    this.#next[slot] = NONE;
    if (this.#first[device] === NONE) this.#first[device] = slot;
    else this.#next[this.#last[device]!] = slot;
    this.#last[device] = slot;
    this.#count++;
    this.#devices.add(device + 1);
  }

  /** Takes the oldest entry of the device whose turn it is; 0 where there is none. */
  take(): number {
    for (;;) {
      const device = this.#devices.take() - 1;
      if (device === -1) return NONE;
      const slot = this.#first[device]!;
      // All of its entries were removed.
      if (slot === NONE) continue;
      this.#first[device] = this.#next[slot]!;
      this.#count--;
      if (this.#first[device] !== NONE) this.#devices.add(device + 1);
      return slot;
    }
  }

  /** Removes an entry, if it is there. A device has few of them. */
  remove(device: number, slot: number): void {
    let before = NONE;
    let at = this.#first[device]!;
    for (; at !== NONE && at !== slot; at = this.#next[at]!) before = at;
    if (at === NONE) return;
    const next = this.#next[slot]!;
    if (before === NONE) this.#first[device] = next;
    else this.#next[before] = next;
    if (next === NONE) this.#last[device] = before;
    this.#count--;
  }
}
