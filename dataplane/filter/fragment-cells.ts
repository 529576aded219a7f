// The memory of fragments: cells of one size. A fragment takes as many as it needs, in a chain, and
// has the number of the first one. Cell 0 means none. Nothing is allocated.

import { FRAGMENT_BYTES, FRAGMENT_CELL_BYTES } from '../constants.ts';

/** How many cells there are. */
export const CELLS = FRAGMENT_BYTES / FRAGMENT_CELL_BYTES;

/** Cells of fragments. */
export class FragmentCells {
  readonly #bytes = new Uint8Array(FRAGMENT_BYTES);
  /** By cell: the next one of its fragment, or the next free one. */
  readonly #next = new Int32Array(CELLS + 1);
  #firstFree = 1;
  #free = CELLS;

  constructor() {
    for (let cell = 1; cell < CELLS; cell++) this.#next[cell] = cell + 1;
  }

  /** How many cells are free. */
  get free(): number {
    return this.#free;
  }

  /** Copies bytes to so many free cells, which they fill; returns the first one. */
  store(view: DataView, offset: number, length: number, cells: number): number {
    const bytes = this.#bytes;
    const first = this.#firstFree;
    let cell = first;
    let copied = 0;
    for (let i = 0; i < cells; i++) {
      const begin = (cell - 1) * FRAGMENT_CELL_BYTES;
      const count = Math.min(length - copied, FRAGMENT_CELL_BYTES);
      for (let k = 0; k < count; k++) bytes[begin + k] = view.getUint8(offset + copied + k);
      copied += count;
      const following = this.#next[cell]!;
      if (i === cells - 1) this.#next[cell] = 0;
      cell = following;
    }
    this.#firstFree = cell;
    this.#free -= cells;
    return first;
  }

  /** Gives the cells of a fragment back. */
  release(first: number): void {
    let cell = first;
    while (cell !== 0) {
      const following = this.#next[cell]!;
      this.#next[cell] = this.#firstFree;
      this.#firstFree = cell;
      this.#free++;
      cell = following;
    }
  }

  /** Copies the bytes of a fragment from `from` up to, but without, `to`; to `at` in `target`. */
  copy(first: number, from: number, to: number, target: Uint8Array, at: number): void {
    const bytes = this.#bytes;
    let cell = first;
    let skipped = from;
    for (; skipped >= FRAGMENT_CELL_BYTES; skipped -= FRAGMENT_CELL_BYTES) cell = this.#next[cell]!;
    let left = to - from;
    let put = at;
    while (left > 0) {
      const begin = (cell - 1) * FRAGMENT_CELL_BYTES + skipped;
      const count = Math.min(left, FRAGMENT_CELL_BYTES - skipped);
      for (let i = 0; i < count; i++) target[put + i] = bytes[begin + i]!;
      put += count;
      left -= count;
      skipped = 0;
      cell = this.#next[cell]!;
    }
  }

  /** Whether the bytes of a fragment from `from` on are the `count` bytes at `offset`. */
  holds(first: number, from: number, view: DataView, offset: number, count: number): boolean {
    const bytes = this.#bytes;
    let cell = first;
    let skipped = from;
    for (let i = 0; i < count; i++, skipped++) {
      for (; skipped >= FRAGMENT_CELL_BYTES; skipped -= FRAGMENT_CELL_BYTES)
        cell = this.#next[cell]!;
      if (bytes[(cell - 1) * FRAGMENT_CELL_BYTES + skipped] !== view.getUint8(offset + i))
        return false;
    }
    return true;
  }
}
