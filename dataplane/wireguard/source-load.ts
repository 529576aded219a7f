// How many initiations of each source wait, and which sources are under load by themselves. One
// that sends more than its share, or much that is forged, must prove its address, and keeps to a
// rate, as everybody must when the house is under load (paper, section 5.3); but nobody else has to
// because of it. It is under load for as long as it goes on without that proof.

import {
  MAX_QUEUED_INITIATIONS,
  MAX_REFUSED_PER_SOURCE,
  MAX_WAITING_PER_SOURCE,
  UNDER_LOAD_AFTER_MS,
} from '../constants.ts';
import { Pace } from '../pace.ts';

/** Sources share a slot by chance; a prime, so that neighbours do not. */
const SLOTS = 65_521;

interface Source {
  waiting: number;
  underLoadUntil: number;
  /** Initiations without a proof while it is under load, since a time. */
  unproven: number;
  unprovenSince: number;
}

/** The sources of waiting initiations; bounded by the queue, and by how fast it can be filled. */
export class SourceLoad {
  readonly #sources = new Map<bigint, Source>();
  readonly #refused = new Pace(SLOTS, MAX_REFUSED_PER_SOURCE, 1_000 / MAX_REFUSED_PER_SOURCE);
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
    const found = this.#of(source, now);
    found.waiting++;
    if (found.waiting >= MAX_WAITING_PER_SOURCE) found.underLoadUntil = now + UNDER_LOAD_AFTER_MS;
  }

  /** An initiation of a source was computed for nothing. */
  refuse(source: bigint, now: number): void {
    if (this.#refused.allows(Number(source % BigInt(SLOTS)), now)) return;
    this.#of(source, now).underLoadUntil = now + UNDER_LOAD_AFTER_MS;
  }

  /** A source under load sent an initiation without a proof: a flood of them prolongs its load. */
  turnAway(source: bigint, now: number): void {
    const found = this.#sources.get(source);
    if (found === undefined || now >= found.underLoadUntil) return;
    if (now - found.unprovenSince >= UNDER_LOAD_AFTER_MS) {
      found.unprovenSince = now;
      found.unproven = 0;
    }
    found.unproven++;
    if (found.unproven >= MAX_WAITING_PER_SOURCE) found.underLoadUntil = now + UNDER_LOAD_AFTER_MS;
  }

  /** One initiation of a source waits no more. */
  leave(source: bigint, now: number): void {
    const found = this.#sources.get(source);
    if (found === undefined) return;
    found.waiting--;
    if (found.waiting === 0 && now >= found.underLoadUntil) this.#sources.delete(source);
  }

  #of(source: bigint, now: number): Source {
    let found = this.#sources.get(source);
    if (found === undefined) {
      if (this.#sources.size >= MAX_QUEUED_INITIATIONS) this.#collect(now);
      found = {
        waiting: 0,
        underLoadUntil: Number.NEGATIVE_INFINITY,
        unproven: 0,
        unprovenSince: Number.NEGATIVE_INFINITY,
      };
      this.#sources.set(source, found);
    }
    return found;
  }

  /** Forgets sources of which nothing waits and that are under load no more; now and then. */
  #collect(now: number): void {
    if (now - this.#collectedAt < UNDER_LOAD_AFTER_MS) return;
    this.#collectedAt = now;
    for (const [source, { waiting, underLoadUntil }] of this.#sources)
      if (waiting === 0 && now >= underLoadUntil) this.#sources.delete(source);
  }
}
