// Until when each connection may wait, by slot. A wheel may be early, so the times are kept, too.

import { Wheel } from '../tcp/wheel.ts';

/** One deadline for each connection that has one. */
export class Deadlines {
  readonly #wheel: Wheel;
  readonly #until: Float64Array;

  constructor(connections: number) {
    this.#wheel = new Wheel(connections);
    this.#until = new Float64Array(connections + 1);
  }

  /** When `take` may have something. */
  get next(): number {
    return this.#wheel.deadline;
  }

  set(slot: number, until: number): void {
    this.#until[slot] = until;
    this.#wheel.schedule(slot, until);
  }

  remove(slot: number): void {
    this.#wheel.remove(slot);
  }

  /** Takes one whose time has come; 0: there is none. */
  take(now: number): number {
    for (;;) {
      const slot = this.#wheel.take(now);
      if (slot === 0 || this.#until[slot]! <= now) return slot;
      this.#wheel.schedule(slot, this.#until[slot]!);
    }
  }
}
