// Old garbage of the worker, collected before it is much. Packets leave none; changes and
// handshakes do: a peer, a keypair or a table of rules lives long enough to count as old. V8
// collects old objects when they have grown by 8 MB or more, which takes thousands of changes and
// looks like a leak meanwhile. It is asked to do so sooner: between packets, and only while that
// takes milliseconds.

import { getHeapSpaceStatistics } from 'node:v8';

const LOOK_MS = 10_000;
const GROWTH_BYTES = 2 * 1024 * 1024;
/** Where more lives, all is left to V8, which marks in small steps: this takes 1 ms for each MB. */
const LIVING_BYTES_MAX = 8 * 1024 * 1024;
/** Garbage beside that is no more than V8 lets grow; what is above has come to live. */
const BYTES_MAX = 2 * LIVING_BYTES_MAX;

/** Bytes of old objects in this thread's heap, dead ones with them. */
function oldBytes(): number {
  const old = getHeapSpaceStatistics().find((space) => space.space_name === 'old_space');
  return old?.space_used_size ?? 0;
}

/** Looks at the heap now and then. Without `--expose-gc` all is left to V8. */
export class HeapKeeper {
  readonly #collect: (() => void) | null;
  readonly #oldBytes: () => number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The least that was seen since it collected last; what lives is no more. */
  #least = Number.POSITIVE_INFINITY;

  constructor(collect: (() => void) | null = globalThis.gc ?? null, bytes = oldBytes) {
    this.#collect = collect;
    this.#oldBytes = bytes;
  }

  /** To be called where no packet waits; `now` is a monotonic clock in ms. */
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
