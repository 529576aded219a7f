// Devices that may get nothing for now, because a limit of theirs is reached: they are asked about
// again, and then what waits for them goes on.

import { SlotRing } from './ring.ts';
import type { Around } from './shared.ts';

/** A device without an allowance is asked about again after so long. */
const RESUME_MS = 4;

/** The devices. */
export class HeldUp {
  readonly #around: Pick<Around, 'allowance'>;
  /** Each as its number and 1. */
  readonly #devices: SlotRing;
  /** When they are asked about again. */
  deadline = Number.POSITIVE_INFINITY;

  constructor(around: Pick<Around, 'allowance'>, devices: number) {
    this.#around = around;
    this.#devices = new SlotRing(devices);
  }

  /** How many bytes a device may get now; 0: none, and it is held up. */
  allowance(device: number, now: number): number {
    const allowed = this.#around.allowance(device);
    if (allowed > 0) return allowed;
    this.#devices.add(device + 1);
    this.deadline = Math.min(this.deadline, now + RESUME_MS);
    return 0;
  }

  /** Lets those go on that may get something again. */
  resume(now: number, waiting: { resume(device: number): void }): void {
    if (this.deadline > now) return;
    this.deadline = Number.POSITIVE_INFINITY;
    for (let visits = this.#devices.count; visits > 0; visits--) {
      const device = this.#devices.take() - 1;
      if (this.allowance(device, now) > 0) waiting.resume(device);
    }
  }
}
