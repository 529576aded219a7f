// The retransmission timeout by the formulas of RFC 6298.

import test from 'ava';
import {
  MIN_RTT,
  RETRIES,
  RTO,
  RTTVAR,
  SRTT,
  TIMES,
  WORDS,
} from '../../../dataplane/tcp/columns.ts';
import { beginRtt, takeSample, timeoutOf } from '../../../dataplane/tcp/rtt.ts';

function fresh(): { times: Float64Array; sample: (rtt: number, now?: number) => void } {
  const times = new Float64Array(2 * TIMES);
  return {
    times,
    sample: (rtt, now = 1_000) => takeSample(times, 1, new Float64Array([now, rtt])),
  };
}

test('before a sample: 1 s, and 3 s after a SYN that was sent again', (t) => {
  const { times } = fresh();
  beginRtt(times, 1, false);
  t.is(times[TIMES + RTO], 1_000);
  beginRtt(times, 1, true);
  t.is(times[TIMES + RTO], 3_000);
});

test('the first sample, and those after it (2.2 and 2.3)', (t) => {
  const { times, sample } = fresh();
  sample(100);
  t.deepEqual([times[TIMES + SRTT], times[TIMES + RTTVAR], times[TIMES + RTO]], [100, 50, 300]);
  sample(300);
  t.is(times[TIMES + RTTVAR], 0.75 * 50 + 0.25 * 200);
  t.is(times[TIMES + SRTT], 0.875 * 100 + 0.125 * 300);
  t.is(times[TIMES + RTO], 125 + 4 * 87.5);
  beginRtt(times, 1, true);
  t.is(times[TIMES + RTO], 125 + 4 * 87.5);
});

test('the timeout doubles, up to a minute (5.5 and 2.5)', (t) => {
  const { times, sample } = fresh();
  const words = new Int32Array(2 * WORDS);
  sample(100);
  for (const [retries, timeout] of [
    [0, 300],
    [1, 600],
    [7, 38_400],
    [8, 60_000],
    [15, 60_000],
  ]) {
    words[WORDS + RETRIES] = retries!;
    t.is(timeoutOf(words, times, 1), timeout!);
  }
  for (let i = 0; i < 100; i++) sample(100_000);
  t.is(times[TIMES + RTO], 60_000);
});

test('the smallest round trip is that of the last half minute', (t) => {
  const { times, sample } = fresh();
  sample(50, 1_000);
  sample(80, 2_000);
  t.is(times[TIMES + MIN_RTT], 50);
  sample(20, 3_000);
  t.is(times[TIMES + MIN_RTT], 20);
  sample(90, 33_100);
  t.is(times[TIMES + MIN_RTT], 90);
});

test('a round trip of no time is some time', (t) => {
  const { times, sample } = fresh();
  sample(0);
  t.true(times[TIMES + SRTT]! > 0);
});
