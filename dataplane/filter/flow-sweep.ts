// Looks at all flows in turn, in slices between batches, also while no packets come: removes those
// that have ended, and judges those again whose rules have changed. So the end of a flow is noticed
// within a few seconds.

import {
  FLOWS_ENDED_PER_SLICE,
  FLOWS_SWEPT_PER_SLICE,
  SWEEP_BUSY_MS,
  SWEEP_ROUND_MS,
} from '../constants.ts';
import { type FlowTable, KIND } from './flow-table.ts';

/** What a sweep works on. */
export interface SweepParts {
  readonly flows: FlowTable;
  /** Judges a flow again where its rules have changed; returns whether it did. */
  readonly renew: (flow: number) => boolean;
  /** Called when all flows were looked at. */
  readonly endRound: () => void;
}

/** Sweeps the table of flows. Never allocates. */
export class FlowSweep {
  readonly #flows: FlowTable;
  readonly #renew: SweepParts['renew'];
  readonly #endRound: SweepParts['endRound'];
  #at = 0;
  /** When the next slice is due; in an array, because V8 may allocate a number in a field. */
  readonly #next = new Float64Array(1);

  constructor({ flows, renew, endRound }: SweepParts) {
    this.#flows = flows;
    this.#renew = renew;
    this.#endRound = endRound;
  }

  /** When the next slice is due; infinite while there are no flows. */
  get nextAt(): number {
    return this.#flows.live === 0 ? Number.POSITIVE_INFINITY : this.#next[0]!;
  }

  /** Looks at the flows of one slice. The table knows the time. */
  slice(now: number): void {
    const flows = this.#flows;
    const slices = Math.max(1, Math.ceil(flows.used / FLOWS_SWEPT_PER_SLICE));
    let left = FLOWS_ENDED_PER_SLICE;
    for (let i = Math.min(flows.used, FLOWS_SWEPT_PER_SLICE); i > 0 && left > 0; i--)
      if (this.#look()) left--;
    this.#next[0] = now + (left === 0 ? SWEEP_BUSY_MS : SWEEP_ROUND_MS / slices);
  }

  /** Looks at the next flow; returns whether it was removed or judged. */
  #look(): boolean {
    const flows = this.#flows;
    if (this.#at >= flows.used) {
      this.#at = 0;
      this.#endRound();
    }
    const flow = ++this.#at;
    if (flows.get(flow, KIND) === 0) return false;
    if (!flows.hasEnded(flow)) return this.#renew(flow);
    flows.remove(flow);
    return true;
  }
}
