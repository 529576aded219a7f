// The peers that are over their quota: only packets from and to the gateway itself pass for them.

import { MAX_PEERS } from '../constants.ts';

/** The peers that are over their quota. */
export class OverQuota {
  /** By peer slot; null until one is over its quota. */
  #slots: Uint8Array | null = null;
  #count = 0;

  /** Sets whether a peer is over its quota. */
  set(slot: number, isOver: boolean): void {
    if (this.has(slot) === isOver) return;
    this.#slots ??= new Uint8Array(MAX_PEERS);
    this.#slots[slot] = Number(isOver);
    this.#count += isOver ? 1 : -1;
  }

  /** Whether a peer is over its quota. */
  has(slot: number): boolean {
    return this.#count > 0 && this.#slots![slot] === 1;
  }
}
