// The places of peers. A place is a slot, a small number by which tables find what belongs to a
// peer, and a generation, which tells the peers apart that had the slot one after the other. The
// configuration in force gives places, so that they are the same in all workers.

import { MAX_PEERS } from './constants.ts';

/** In place of a slot: all slots are taken. */
export const NO_SLOT = -1;

/** The place of a peer, from when it is added until it is removed. */
export interface Place {
  /** Below MAX_PEERS, or NO_SLOT. */
  readonly slot: number;
  /** Grows by one each time the slot is given. */
  readonly generation: number;
}

/** Gives places and takes them back. */
export class Places {
  /** By slot: the generation that was given last. */
  readonly #generations: number[] = [];
  readonly #free: number[] = [];

  /** Gives a place; its slot is NO_SLOT when all are taken. */
  give(): Place {
    const slot = this.#free.pop() ?? this.#generations.length;
    if (slot === MAX_PEERS) return { slot: NO_SLOT, generation: 0 };
    const generation = ((this.#generations[slot] ?? 0) + 1) | 0;
    this.#generations[slot] = generation;
    return { slot, generation };
  }

  /** Takes a place back. */
  takeBack({ slot }: Pick<Place, 'slot'>): void {
    if (slot !== NO_SLOT) this.#free.push(slot);
  }
}
