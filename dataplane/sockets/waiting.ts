// Connections that wait until their host is asked. Devices take turns, so a device that asks for
// many dead hosts delays its own connections alone.

const NONE = 0;

/** The queues of all devices; an entry is the slot of a connection, from 1 on. */
export class Waiting {
  readonly #next: Int32Array;
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  /** The devices that have entries, in a ring. */
  readonly #nextDevice: Int32Array;
  readonly #isListed: Uint8Array;
  #firstDevice = -1;
  #lastDevice = -1;
  #count = 0;

  constructor(slots: number, devices: number) {
    this.#next = new Int32Array(slots + 1);
    this.#first = new Int32Array(devices);
    this.#last = new Int32Array(devices);
    this.#nextDevice = new Int32Array(devices);
    this.#isListed = new Uint8Array(devices);
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
    this.#list(device);
  }

  /** Takes the oldest entry of the device whose turn it is; 0 where there is none. */
  take(): number {
    for (;;) {
      const device = this.#firstDevice;
      if (device === -1) return NONE;
      this.#firstDevice = this.#nextDevice[device]!;
      if (this.#firstDevice === -1) this.#lastDevice = -1;
      this.#isListed[device] = 0;
      const slot = this.#first[device]!;
      // All of its entries were removed.
      if (slot === NONE) continue;
      this.#first[device] = this.#next[slot]!;
      this.#count--;
      this.#list(device);
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

  #list(device: number): void {
    if (this.#isListed[device] !== 0 || this.#first[device] === NONE) return;
    this.#isListed[device] = 1;
    this.#nextDevice[device] = -1;
    if (this.#firstDevice === -1) this.#firstDevice = device;
    else this.#nextDevice[this.#lastDevice] = device;
    this.#lastDevice = device;
  }
}
