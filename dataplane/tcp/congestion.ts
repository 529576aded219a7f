// The interface of congestion control (RFC 5681, 2 and 3), and what all kinds of it share. It only
// moves CWND and SSTHRESH; what is lost, recovery.ts finds out.

import { MSS, WORDS } from './columns.ts';

/** One kind of congestion control, for all connections. */
export interface CongestionControl {
  /** A connection is open. */
  begin(slot: number): void;
  /** So many bytes were acknowledged while the window was in use, outside of fast recovery. */
  acknowledged(slot: number, bytes: number): void;
  /** A loss was found by acknowledgements, for the first time since the last recovery. */
  lost(slot: number): void;
  /** The retransmission timer has fired; `isFirst`: for the first time since the last progress. */
  timedOut(slot: number, isFirst: boolean): void;
  /** Sending begins again after a pause, which is over now. */
  resumed(slot: number): void;
  /** The last loss was none (RFC 4015, 3.2; RFC 9438, 4.9). */
  undo(slot: number): void;
}

/** More than any window (RFC 7323, 2.3: 1 GiB) is of no use; this is twice the largest here. */
export const CWND_MAX = 8 * 1_048_576;

/** The initial window (RFC 6928, 2). */
export function initialWindow(mss: number): number {
  return Math.min(10 * mss, Math.max(2 * mss, 14_600));
}

/** Bytes of a full segment, as windows are counted (RFC 5681, 2: SMSS). */
export function segmentOf(words: Int32Array, slot: number): number {
  return words[slot * WORDS + MSS]!;
}

/** The shift of the windows that the machine announces: 65,535 << 7 is 8 MiB. */
export const OWN_SHIFT = 7;
