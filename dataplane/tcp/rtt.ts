// The round-trip time and the retransmission timeout (RFC 6298).

import { MIN_RTT, MIN_RTT_AT, RETRIES, RTO, RTTVAR, SRTT, TIMES, WORDS } from './columns.ts';

/** 2.1: before anything is measured. */
const INITIAL_MS = 1_000;
/** 5.7: after a SYN that had to be sent again. */
const AFTER_SYN_TIMEOUT_MS = 3_000;
/**
 * Added to SRTT at least. 2.4 wants a timeout of at least 1 s; like all systems of today we take
 * less, because timers are as fine as 1 ms, and acknowledgements wait at most 40 ms here.
 */
const LEAST_VARIATION_MS = 200;
/** 2.5: at least 60 s. */
const LONGEST_MS = 60_000;
/** RFC 8985, 6.2: the smallest RTT of this time, so that a longer path is noticed. */
const MIN_RTT_WINDOW_MS = 30_000;

/** Before the first sample; `wasRepeated`: the SYN was sent more than once. */
export function beginRtt(times: Float64Array, slot: number, wasRepeated: boolean): void {
  const t = slot * TIMES;
  if (times[t + SRTT] !== 0) return;
  times[t + RTO] = wasRepeated ? AFTER_SYN_TIMEOUT_MS : INITIAL_MS;
}

/**
 * Takes a sample, in ms, of what was sent once (3: Karn's algorithm): `clock[1]`, at `clock[0]`.
 */
export function takeSample(times: Float64Array, slot: number, clock: Float64Array): void {
  const t = slot * TIMES;
  // A round trip within one turn of the clock takes some time too.
  const sample = Math.max(clock[1]!, 0.01);
  if (times[t + SRTT] === 0) {
    times[t + SRTT] = sample;
    times[t + RTTVAR] = sample / 2;
  } else {
    const difference = Math.abs(times[t + SRTT]! - sample);
    times[t + RTTVAR] = 0.75 * times[t + RTTVAR]! + 0.25 * difference;
    times[t + SRTT] = 0.875 * times[t + SRTT]! + 0.125 * sample;
  }
  const timeout = times[t + SRTT]! + Math.max(LEAST_VARIATION_MS, 4 * times[t + RTTVAR]!);
  times[t + RTO] = Math.min(timeout, LONGEST_MS);
  const isOld = clock[0]! - times[t + MIN_RTT_AT]! > MIN_RTT_WINDOW_MS;
  if (times[t + MIN_RTT] !== 0 && !isOld && sample > times[t + MIN_RTT]!) return;
  times[t + MIN_RTT] = sample;
  times[t + MIN_RTT_AT] = clock[0]!;
}

/** The timeout after so many in a row (5.5: each doubles it). */
export function timeoutOf(words: Int32Array, times: Float64Array, slot: number): number {
  const doubled = times[slot * TIMES + RTO]! * 2 ** words[slot * WORDS + RETRIES]!;
  return Math.min(doubled, LONGEST_MS);
}
