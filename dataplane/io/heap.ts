// Collects old garbage of the worker early. Packets make no garbage, but changes and handshakes do:
// a peer, a keypair or a table of rules lives long enough to count as old. V8 collects old objects
// after they have grown by 8 MB or more. That takes thousands of changes and looks like a memory
// leak. So this file asks V8 to collect sooner: between packets, and only while that takes
// milliseconds.

import { getHeapSpaceStatistics } from 'node:v8';

const LOOK_MS = 10_000;
const GROWTH_BYTES = 2 * 1024 * 1024;
/**
 * With more living bytes V8 alone decides: it marks in small steps, while this takes 1 ms per MB.
 */
const LIVING_BYTES_MAX = 8 * 1024 * 1024;
/** With more bytes V8 alone decides: V8 does not let so much garbage grow, so most of it lives. */
const BYTES_MAX = 2 * LIVING_BYTES_MAX;

/** Bytes of old objects in the heap of this thread, dead ones included. */
function oldBytes(): number {
  const old = getHeapSpaceStatistics().find((space) => space.space_name === 'old_space');
  return old?.space_used_size ?? 0;
}

/** Checks the heap from time to time. Without `--expose-gc` V8 alone decides. */
export class HeapKeeper {
  readonly #collect: (() => void) | null;
  readonly #oldBytes: () => number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The smallest size since the last collection; living objects take at most so much. */
  #least = Number.POSITIVE_INFINITY;

  constructor(collect: (() => void) | null = globalThis.gc ?? null, bytes = oldBytes) {
    this.#collect = collect;
    this.#oldBytes = bytes;
  }

  /** Call it where no packet waits; `now` is a monotonic clock in ms. */
  look(now: number): void {
    if (this.#collect === null || now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const bytes = this.#oldBytes();
    this.#least = Math.min(this.#least, bytes);
    if (bytes - this.#least < GROWTH_BYTES || this.#least > LIVING_BYTES_MAX) return;
    if (bytes > BYTES_MAX) return;
    this.#collect();
    this.#least = this.#oldBytes();
  }
}
