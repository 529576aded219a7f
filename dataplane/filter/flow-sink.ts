// Gets the beginnings and ends of flows, and the refused packets, if something outside of the
// packet path wants them.

import type { FlowEnd } from './ended-flows.ts';

/** Takes what becomes of flows. Nothing here may allocate. */
export interface FlowSink {
  /** Takes a flow that opens; the cause in `end` has no meaning yet. */
  opened(flow: number, end: FlowEnd): void;
  /** Takes a flow that ends, before it is removed. */
  ended(flow: number, end: FlowEnd): void;
}

/** Takes refused packets that are alike, all of one second at once. Nothing here may allocate. */
export interface RefusalSink {
  /**
   * Takes the record whose words begin at `at` (refusals.ts). `waiting`, from `from` on: packets,
   * bytes, and when the first and the latest of them came.
   */
  refused(
    words: Int32Array,
    at: number,
    waiting: Float64Array,
    from: number,
    rule: string | null,
  ): void;
}
