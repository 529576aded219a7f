// How late the event loop of this thread is. Work that is due during a turn of the loop waits for
// the end of the turn, so the lengths of all turns say how late work was at any moment. No timer
// looks at the loop: a process at rest is not woken.

import { performance } from 'node:perf_hooks';
import { clearImmediate, setImmediate } from 'node:timers';

/** How many groups of turns there are for each doubling of their length. */
const GROUPS_PER_DOUBLING = 4;
/** Turns of at most so many ms are in the first group. */
const SHORTEST_MS = 0.125;

/** How late it was, in ms. */
export interface Lateness {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
}

/** Turns of about one length. */
interface Group {
  readonly count: number;
  readonly ms: number;
}

const NONE: Group = { count: 0, ms: 0 };

/** The lengths of turns; memory grows with their logarithm. */
export class TurnLengths {
  readonly #groups: Group[] = [];
  #max = 0;
  #squares = 0;

  /** Adds a turn of so many ms. */
  add(ms: number): void {
    const doublings = Math.log2(Math.max(1, ms / SHORTEST_MS));
    const index = Math.ceil(doublings * GROUPS_PER_DOUBLING);
    while (this.#groups.length <= index) this.#groups.push(NONE);
    const { count, ms: sum } = this.#groups[index] ?? NONE;
    this.#groups[index] = { count: count + 1, ms: sum + ms };
    this.#squares += ms * ms;
    this.#max = Math.max(this.#max, ms);
  }

  /** How late something was that fell due at any moment of so many ms with these turns. */
  latenessIn(ms: number): Lateness {
    const mean = ms > 0 ? this.#squares / 2 / ms : 0;
    return { mean, p99: this.#exceededFor(ms / 100), max: this.#max };
  }

  /** The lateness that is exceeded for so many ms of the time in all. */
  #exceededFor(ms: number): number {
    let count = 0;
    let sum = 0;
    // A turn exceeds a lateness for as long as it is longer; the longest turns come first.
    for (let index = this.#groups.length - 1; index >= 0; index -= 1) {
      const group = this.#groups[index] ?? NONE;
      count += group.count;
      sum += group.ms;
      const lateness = (sum - ms) / count;
      if (lateness >= shortestOf(index)) return lateness;
    }
    return 0;
  }
}

/** The length above which turns are in a group, in ms. */
function shortestOf(index: number): number {
  return index === 0 ? 0 : SHORTEST_MS * 2 ** ((index - 1) / GROUPS_PER_DOUBLING);
}

/** The delay of this thread's loop, from the first `take` to the stop. */
export class LoopDelay {
  #turns = new TurnLengths();
  #takenAt = performance.now();
  #activeMs = 0;
  #next: NodeJS.Immediate | null = null;
  #isStopped = false;

  /** How late the loop was since the last call. */
  take(): Lateness {
    const now = performance.now();
    const lateness = this.#turns.latenessIn(now - this.#takenAt);
    this.#turns = new TurnLengths();
    this.#takenAt = now;
    if (this.#next === null && !this.#isStopped) {
      this.#activeMs = activeMs();
      this.#await();
    }
    return lateness;
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#next !== null) clearImmediate(this.#next);
    this.#next = null;
  }

  /** Looks once in each turn that the loop takes; an immediate without `ref` makes it take none. */
  #await(): void {
    this.#next = setImmediate(() => {
      const active = activeMs();
      this.#turns.add(Math.max(0, active - this.#activeMs));
      this.#activeMs = active;
      this.#await();
    }).unref();
  }
}

/** How long the loop has not waited in the kernel. */
function activeMs(): number {
  return performance.eventLoopUtilization().active;
}
