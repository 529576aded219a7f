// Which sources are under load by themselves, and how many initiations of each source wait. A
// source that sends more than its share, or many forged initiations, must prove its address and
// obey a rate, as every source must when the gateway is under load (paper, section 5.3). Other
// sources need not. The load of a source lasts as long as it sends initiations without that proof.

import {
  MAX_QUEUED_INITIATIONS,
  MAX_REFUSED_PER_SOURCE,
  MAX_WAITING_PER_SOURCE,
  UNDER_LOAD_AFTER_MS,
} from '../constants.ts';
import { Pace } from '../pace.ts';

/** Number of slots. Some sources share a slot by chance; a prime keeps neighbours apart. */
const SLOTS = 65_521;

interface Source {
  waiting: number;
  underLoadUntil: number;
  /** Initiations without proof that came under load since `unprovenSince`. */
  unproven: number;
  unprovenSince: number;
}

/**
 * The sources of waiting initiations. Their number is limited by the queue, and by how fast it
 * fills.
 */
export class SourceLoad {
  readonly #sources = new Map<bigint, Source>();
  readonly #refused = new Pace(SLOTS, MAX_REFUSED_PER_SOURCE, 1_000 / MAX_REFUSED_PER_SOURCE);
  #collectedAt = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#sources.size;
  }

  /** Whether a source sends more than its share, or did so a moment ago. */
  isUnderLoad(source: bigint, now: number): boolean {
    const found = this.#sources.get(source);
    return found !== undefined && now < found.underLoadUntil;
  }

  /** Notes that one more initiation of a source waits. */
  enter(source: bigint, now: number): void {
    const found = this.#of(source, now);
    found.waiting++;
    if (found.waiting >= MAX_WAITING_PER_SOURCE) found.underLoadUntil = now + UNDER_LOAD_AFTER_MS;
  }

  /** Notes that an initiation of a source was computed and refused. */
  refuse(source: bigint, now: number): void {
    if (this.#refused.allows(Number(source % BigInt(SLOTS)), now)) return;
    this.#of(source, now).underLoadUntil = now + UNDER_LOAD_AFTER_MS;
  }

  /** Notes an initiation without proof of a source under load; many of them prolong its load. */
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

  /** Notes that one initiation of a source no longer waits. */
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

  /**
   * Forgets sources that are no longer under load and of which nothing waits; once a second at
   * most.
   */
  #collect(now: number): void {
    if (now - this.#collectedAt < UNDER_LOAD_AFTER_MS) return;
    this.#collectedAt = now;
    for (const [source, { waiting, underLoadUntil }] of this.#sources)
      if (waiting === 0 && now >= underLoadUntil) this.#sources.delete(source);
  }
}
