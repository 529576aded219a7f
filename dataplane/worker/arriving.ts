// Connections of devices on the way to listeners of this process: the worker has sent them, and the
// main thread has not taken them yet. Each holds a descriptor that nothing else counts, even if the
// device has ended its side.

import type { DoorConnection } from '../contract.ts';
import { mayHaveMore } from '../tcp/numbers.ts';

/** As many are on the way at most. */
export const ARRIVING_MAX = 256;
/** As many of one device at most. */
export const ARRIVING_OF_DEVICE = 64;
/** Where few places are left, a device still gets so many. */
const FEW = 4;

/** Counts connections on the way. */
export class Arriving {
  readonly #send: (connection: DoorConnection) => void;
  /** The devices of those on the way, in the order in which they were sent. */
  readonly #devices: number[] = [];
  readonly #ofDevice = new Map<number, number>();

  constructor(send: (connection: DoorConnection) => void) {
    this.#send = send;
  }

  /** Whether one more of a device may be sent now. */
  mayTake(device: number): boolean {
    const left = ARRIVING_MAX - this.#devices.length;
    return mayHaveMore(this.#ofDevice.get(device) ?? 0, ARRIVING_OF_DEVICE, left, FEW);
  }

  /** Sends one. */
  arrived(connection: DoorConnection, device: number): void {
    this.#devices.push(device);
    this.#ofDevice.set(device, (this.#ofDevice.get(device) ?? 0) + 1);
    this.#send(connection);
  }

  /** The main thread has taken as many, in the order in which they were sent. */
  taken(count: number): void {
    for (const device of this.#devices.splice(0, count)) {
      const left = (this.#ofDevice.get(device) ?? 0) - 1;
      if (left > 0) this.#ofDevice.set(device, left);
      else this.#ofDevice.delete(device);
    }
  }
}
