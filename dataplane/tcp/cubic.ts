// CUBIC (RFC 9438). Windows are bytes in the columns and segments in the formulas; times are
// seconds in the formulas. The window grows by a cubic function of the time since the last loss,
// with its plateau at W_MAX, where the last loss was; and at least as fast as Reno.

import {
  CWND,
  CWND_PRIOR,
  EPOCH,
  K,
  RTO,
  SENT_AT,
  SRTT,
  SSTHRESH,
  TIMES,
  UNDO_CWND,
  UNDO_SSTHRESH,
  UNDO_W_MAX,
  W_EST,
  W_MAX,
} from './columns.ts';
import { type CongestionControl, CWND_MAX, initialWindow, segmentOf } from './congestion.ts';

/** 4.1.1: C, beta and alpha for equal shares with Reno. */
const C = 0.4;
const BETA = 0.7;
const ALPHA = (3 * (1 - BETA)) / (1 + BETA);

/** CUBIC for all connections. */
export class Cubic implements CongestionControl {
  readonly #words: Int32Array;
  readonly #times: Float64Array;
  readonly #clock: Float64Array;

  constructor(words: Int32Array, times: Float64Array, clock: Float64Array) {
    this.#words = words;
    this.#times = times;
    this.#clock = clock;
  }

  begin(slot: number): void {
    const t = slot * TIMES;
    this.#times[t + CWND] = initialWindow(segmentOf(this.#words, slot));
    this.#times[t + SSTHRESH] = CWND_MAX;
    this.#times[t + W_MAX] = 0;
    this.#times[t + EPOCH] = 0;
  }

  acknowledged(slot: number, bytes: number): void {
    const times = this.#times;
    const t = slot * TIMES;
    const cwnd = times[t + CWND]!;
    if (cwnd < times[t + SSTHRESH]!) {
      // Slow start (RFC 5681, 3.1) counts bytes (RFC 3465). The pace makes bursts harmless.
      times[t + CWND] = Math.min(cwnd + bytes, CWND_MAX);
      return;
    }
    this.#avoid(slot, bytes);
  }

  /** 4.2 to 4.5: congestion avoidance. */
  #avoid(slot: number, bytes: number): void {
    const times = this.#times;
    const t = slot * TIMES;
    const mss = segmentOf(this.#words, slot);
    const cwnd = times[t + CWND]! / mss;
    if (times[t + EPOCH] === 0) this.#beginEpoch(t, cwnd);
    const plateau = times[t + W_MAX]!;
    const elapsed = (this.#clock[0]! - times[t + EPOCH]!) / 1_000;
    const ahead = elapsed + times[t + SRTT]! / 1_000 - times[t + K]!;
    const behind = elapsed - times[t + K]!;
    const target = Math.min(Math.max(C * ahead * ahead * ahead + plateau, cwnd), 1.5 * cwnd);
    const segments = bytes / mss;
    const alpha = times[t + W_EST]! >= times[t + CWND_PRIOR]! ? 1 : ALPHA;
    times[t + W_EST]! += (alpha * segments) / cwnd;
    const estimate = times[t + W_EST]!;
    const isFriendly = C * behind * behind * behind + plateau < estimate;
    const grown = isFriendly
      ? Math.max(cwnd, estimate)
      : cwnd + ((target - cwnd) / cwnd) * segments;
    times[t + CWND] = Math.min(grown * mss, CWND_MAX);
  }

  #beginEpoch(t: number, cwnd: number): void {
    const times = this.#times;
    times[t + EPOCH] = this.#clock[0]!;
    times[t + W_EST] = cwnd;
    if (times[t + W_MAX]! > cwnd) {
      times[t + K] = Math.cbrt((times[t + W_MAX]! - cwnd) / C);
      return;
    }
    times[t + K] = 0;
    times[t + W_MAX] = cwnd;
    times[t + CWND_PRIOR] = cwnd;
  }

  lost(slot: number): void {
    this.#reduce(slot);
    this.#times[slot * TIMES + CWND] = this.#times[slot * TIMES + SSTHRESH]!;
  }

  timedOut(slot: number, isFirst: boolean): void {
    if (isFirst) this.#reduce(slot);
    this.#times[slot * TIMES + CWND] = segmentOf(this.#words, slot);
  }

  /** 4.6 and 4.7: multiplicative decrease, fast convergence. */
  #reduce(slot: number): void {
    const times = this.#times;
    const t = slot * TIMES;
    const mss = segmentOf(this.#words, slot);
    const cwnd = times[t + CWND]!;
    times[t + UNDO_CWND] = cwnd;
    times[t + UNDO_SSTHRESH] = times[t + SSTHRESH]!;
    times[t + UNDO_W_MAX] = times[t + W_MAX]!;
    const isSmaller = cwnd / mss < times[t + W_MAX]!;
    times[t + W_MAX] = (isSmaller ? (1 + BETA) / 2 : 1) * (cwnd / mss);
    times[t + CWND_PRIOR] = cwnd / mss;
    times[t + SSTHRESH] = Math.max(cwnd * BETA, 2 * mss);
    times[t + EPOCH] = 0;
  }

  /**
   * 5.8 and RFC 5681, 4.1: a pause says nothing about the path. CUBIC's time does not pass in it,
   * and after more than a timeout the window begins again.
   */
  resumed(slot: number): void {
    const times = this.#times;
    const t = slot * TIMES;
    const idle = this.#clock[0]! - times[t + SENT_AT]!;
    if (times[t + EPOCH]! > 0) times[t + EPOCH] = times[t + EPOCH]! + idle;
    if (idle <= times[t + RTO]!) return;
    const window = initialWindow(segmentOf(this.#words, slot));
    times[t + CWND] = Math.min(times[t + CWND]!, window);
  }

  undo(slot: number): void {
    const times = this.#times;
    const t = slot * TIMES;
    times[t + CWND] = Math.max(times[t + CWND]!, times[t + UNDO_CWND]!);
    times[t + SSTHRESH] = times[t + UNDO_SSTHRESH]!;
    times[t + W_MAX] = times[t + UNDO_W_MAX]!;
    times[t + EPOCH] = 0;
  }
}
