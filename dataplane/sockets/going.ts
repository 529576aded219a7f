// Datagrams of a batch that wait to leave, by their flows: those of one flow leave by one call, in
// the order in which they came, whatever came between them.

import { DATAGRAM_SLOTS, DATAGRAMS_PER_SLOT } from '../constants.ts';
import { SlotRing } from '../tcp/ring.ts';

const NONE = 0;
/** As many as a batch may have. */
const ENTRIES = DATAGRAM_SLOTS * DATAGRAMS_PER_SLOT;

/** The datagrams; entries and slots begin at 1. */
export class Going {
  /** By entry: where its bytes are, and the packet around them. */
  readonly offsets = new Int32Array(ENTRIES + 1);
  readonly lengths = new Int32Array(ENTRIES + 1);
  readonly packets = new Int32Array(ENTRIES + 1);
  readonly #next = new Int32Array(ENTRIES + 1);
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  readonly #slots: SlotRing;
  #count = 0;

  constructor(slots: number) {
    this.#first = new Int32Array(slots + 1);
    this.#last = new Int32Array(slots + 1);
    this.#slots = new SlotRing(slots);
  }

  /** Whether there is room for no more. */
  get isFull(): boolean {
    return this.#count === ENTRIES;
  }

  /** Adds a datagram of the flow in a slot. */
  add(slot: number, offset: number, length: number, packet: number): void {
    const entry = ++this.#count;
    this.offsets[entry] = offset;
    this.lengths[entry] = length;
    this.packets[entry] = packet;
    this.#next[entry] = NONE;
    if (this.#first[slot] === NONE) this.#first[slot] = entry;
    else this.#next[this.#last[slot]!] = entry;
    this.#last[slot] = entry;
    this.#slots.add(slot);
  }

  /** Takes the next flow that has datagrams; 0: all have left, and there is room again. */
  takeFlow(): number {
    const slot = this.#slots.take();
    if (slot === NONE) this.#count = 0;
    return slot;
  }

  /** Takes the next datagram of a flow; 0 where there is none. */
  take(slot: number): number {
    const entry = this.#first[slot]!;
    if (entry !== NONE) this.#first[slot] = this.#next[entry]!;
    return entry;
  }

  /** Drops the datagrams of a flow. */
  drop(slot: number): void {
    this.#first[slot] = NONE;
  }
}
