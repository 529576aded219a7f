// How many initiations of each source wait, and which sources are under load by themselves. One
// that sends more than its share must prove its address, and keeps to a rate, as everybody must
// when the house is under load (paper, section 5.3); but nobody else has to because of it.

import {
  MAX_QUEUED_INITIATIONS,
  MAX_WAITING_PER_SOURCE,
  UNDER_LOAD_AFTER_MS,
} from '../constants.ts';

interface Source {
  waiting: number;
  underLoadUntil: number;
}

/** The sources of waiting initiations; bounded by the queue, and by how fast it can be filled. */
export class SourceLoad {
  readonly #sources = new Map<bigint, Source>();
  #collectedAt = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#sources.size;
  }

  /** Whether a source has had more than its share, now or a moment ago. */
  isUnderLoad(source: bigint, now: number): boolean {
    const found = this.#sources.get(source);
    return found !== undefined && now < found.underLoadUntil;
  }

  /** One more initiation of a source waits. */
  enter(source: bigint, now: number): void {
    let found = this.#sources.get(source);
    if (found === undefined) {
      if (this.#sources.size >= MAX_QUEUED_INITIATIONS) this.#collect(now);
      found = { waiting: 0, underLoadUntil: Number.NEGATIVE_INFINITY };
      this.#sources.set(source, found);
    }
    found.waiting++;
    if (found.waiting >= MAX_WAITING_PER_SOURCE) found.underLoadUntil = now + UNDER_LOAD_AFTER_MS;
  }

  /** One initiation of a source waits no more. */
  leave(source: bigint, now: number): void {
    const found = this.#sources.get(source);
    if (found === undefined) return;
    found.waiting--;
    if (found.waiting === 0 && now >= found.underLoadUntil) this.#sources.delete(source);
  }

  /** Forgets sources of which nothing waits and that are under load no more; now and then. */
  #collect(now: number): void {
    if (now - this.#collectedAt < UNDER_LOAD_AFTER_MS) return;
    this.#collectedAt = now;
    for (const [source, { waiting, underLoadUntil }] of this.#sources)
      if (waiting === 0 && now >= underLoadUntil) this.#sources.delete(source);
  }
}
