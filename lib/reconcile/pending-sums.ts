// Sums of one kind of history that are on their way into the database: what was seen of each
// subject in ten minutes, until it is written. They are bounded: when the database is away for
// long, the oldest are lost, and counted.

import type { HistoryReport } from '../../models/index.ts';

/** How long something waits for more of its kind before it is written: what a kill may lose. */
export const GATHER_MS = 60_000;
/** Rows of one statement, at least. */
const ROWS_MIN = 300;
/** A statement takes a part of all that waits, so that nothing waits for a minute more. */
const STATEMENTS_MIN = 60;

/** One sum that waits. */
interface Waiting extends HistoryReport {
  readonly counts: [number, number];
  /** Monotonic ms. */
  readonly sinceMs: number;
}

/** What waits to be written, of one kind. */
export class PendingSums {
  readonly #max: number;
  /** By subject, the one that has waited longest first: sums of ten minutes that may go on. */
  readonly #open = new Map<string, Waiting>();
  /** Sums of ten minutes that are over, the oldest first. */
  #closed: Waiting[] = [];
  #lost = 0;

  /** `max`: how many sums may wait. */
  constructor(max: number) {
    this.#max = max;
  }

  /** How many sums wait. */
  get size(): number {
    return this.#open.size + this.#closed.length;
  }

  /** How many sums were lost because too many waited. */
  get lost(): number {
    return this.#lost;
  }

  /** Adds to the sum of a subject in the ten minutes that begin at `start` (Unix seconds). */
  add(subject: string, start: number, first: number, second: number, nowMs: number): void {
    const present = this.#open.get(subject);
    if (present !== undefined && present.start === start) {
      addTo(present, [first, second]);
      return;
    }
    if (present !== undefined) {
      this.#open.delete(subject);
      this.#closed.push(present);
    }
    this.#open.set(subject, { subject, start, counts: [first, second], sinceMs: nowMs });
    if (this.size > this.#max) this.#loseOldest();
  }

  /** Takes what is to be written now, some rows at most; `all`: also what could wait for more. */
  take(nowMs: number, all = false): readonly HistoryReport[] {
    const limit = Math.max(ROWS_MIN, Math.ceil(this.size / STATEMENTS_MIN));
    // What has waited too long takes the rest with it: so small gateways write once a minute.
    if (!all && !this.#isDue(nowMs)) return [];
    const taken = this.#closed.splice(0, limit);
    for (const waiting of this.#open.values()) {
      if (taken.length >= limit) break;
      this.#open.delete(waiting.subject);
      taken.push(waiting);
    }
    return joined(taken);
  }

  /** Takes back what could not be written. */
  giveBack(reports: readonly HistoryReport[], nowMs: number): void {
    const before: Waiting[] = [];
    for (const { subject, start, counts } of reports) {
      const present = this.#open.get(subject);
      if (present?.start === start) addTo(present, counts);
      else
        before.push({ subject, start, counts: [counts[0] ?? 0, counts[1] ?? 0], sinceMs: nowMs });
    }
    this.#closed = [...before, ...this.#closed];
    while (this.size > this.#max) this.#loseOldest();
  }

  #isDue(nowMs: number): boolean {
    if (this.#closed.length > 0) return true;
    const [oldest] = this.#open.values();
    return oldest !== undefined && nowMs - oldest.sinceMs >= GATHER_MS;
  }

  #loseOldest(): void {
    this.#lost += 1;
    if (this.#closed.shift() !== undefined) return;
    const [oldest = ''] = this.#open.keys();
    this.#open.delete(oldest);
  }
}

/** A statement names each sum once; of one there may be two, if the first was not written. */
function joined(taken: readonly Waiting[]): HistoryReport[] {
  const sums = new Map<string, Waiting>();
  for (const one of taken) {
    const key = `${one.start} ${one.subject}`;
    const present = sums.get(key);
    if (present === undefined) sums.set(key, one);
    else addTo(present, one.counts);
  }
  return [...sums.values()];
}

function addTo({ counts }: Waiting, [first = 0, second = 0]: readonly number[]): void {
  counts[0] += first;
  counts[1] += second;
}
