// The flows of a worker that carry most at present, for people who look at them. A worker walks its
// table in parts, and the last part has the flows. What each flow had carried is remembered from
// look to look; nothing is counted for it while packets pass, nor done while nobody looks.

import { FLOWS_RANKED, FLOWS_RANKED_PER_PART } from '../constants.ts';

/** What each flow is remembered by: the bytes that it had carried, and when. */
const FIELDS = 2;
/** A rate over less time is mostly chance; the time before that look counts, too. */
const LEAST_MS = 500;

/** What is ranked: the flows of a table, by number from 1 on. */
export interface RankedFlows {
  /** The highest number that a flow can have, and the highest that one has had. */
  readonly capacity: number;
  readonly used: number;
  /** Whether a flow is to be ranked at all; it costs little. */
  readonly isAsked: (flow: number) => boolean;
  /** Whether it may be listed; asked of those alone that would be among the first. */
  readonly mayBeListed: (flow: number) => boolean;
  /** What it has carried. */
  readonly bytes: (flow: number) => number;
  /** On the clock of the packet path. */
  readonly openedAt: (flow: number) => number;
  readonly latestAt: (flow: number) => number;
}

/** A flow among the first. */
export interface Ranked {
  readonly flow: number;
  /** Bytes a second, both ways together. */
  readonly rate: number;
  readonly latestAt: number;
}

/** Ranks the flows of a worker. */
export class FlowRanking {
  #memory = new Float64Array(0);
  #first: Ranked[] = [];

  /**
   * Ranks the next flows, from the flow of that number on; 1 begins anew. The flows are there when
   * `next` is null, the fastest first.
   */
  part(
    flows: RankedFlows,
    from: number,
    now: number,
  ): { readonly found: readonly Ranked[]; readonly next: number | null } {
    if (from === 1) this.#first = [];
    const memory = this.#memoryFor(flows);
    const end = Math.min(flows.used + 1, from + FLOWS_RANKED_PER_PART);
    for (let flow = from; flow < end; flow++) {
      if (!flows.isAsked(flow)) continue;
      const one = {
        flow,
        rate: this.#rate(memory, flows, flow, now),
        latestAt: flows.latestAt(flow),
      };
      const last = this.#first[FLOWS_RANKED - 1];
      if (last !== undefined && !isBefore(one, last)) continue;
      if (flows.mayBeListed(flow)) this.#insert(one);
    }
    if (end <= flows.used) return { found: [], next: end };
    const found = this.#first;
    this.#first = [];
    return { found, next: null };
  }

  /** The memory, with room for all flows that there have been. */
  #memoryFor({ capacity, used }: RankedFlows): Float64Array {
    if (this.#memory.length > used * FIELDS + FIELDS) return this.#memory;
    const memory = new Float64Array((Math.min(2 * used, capacity) + 1) * FIELDS + 1);
    memory.set(this.#memory);
    this.#memory = memory;
    return memory;
  }

  /** Bytes a second since the last look, or since the flow was opened. */
  #rate(memory: Float64Array, flows: RankedFlows, flow: number, now: number): number {
    const at = flow * FIELDS;
    const bytes = flows.bytes(flow);
    const openedAt = flows.openedAt(flow);
    // Another flow may have had that number before.
    const isKnown = memory[at + 1]! > openedAt && memory[at]! <= bytes;
    const since = isKnown ? memory[at + 1]! : openedAt;
    const before = isKnown ? memory[at]! : 0;
    const ms = now - since;
    if (!isKnown || ms >= LEAST_MS) {
      memory[at] = bytes;
      memory[at + 1] = now;
    }
    return Math.round((1_000 * (bytes - before)) / Math.max(ms, LEAST_MS));
  }

  #insert(one: Ranked): void {
    const first = this.#first;
    const place = first.findIndex((other) => isBefore(one, other));
    first.splice(place === -1 ? first.length : place, 0, one);
    if (first.length > FLOWS_RANKED) first.pop();
  }
}

function isBefore(one: Ranked, other: Ranked): boolean {
  return one.rate > other.rate || (one.rate === other.rate && one.latestAt > other.latestAt);
}
