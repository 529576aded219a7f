// CUBIC by the formulas of RFC 9438.

import test from 'ava';
import {
  CWND,
  MSS,
  RTO,
  SENT_AT,
  SRTT,
  SSTHRESH,
  TIMES,
  W_MAX,
  WORDS,
} from '../../../dataplane/tcp/columns.ts';
import { CWND_MAX, initialWindow } from '../../../dataplane/tcp/congestion.ts';
import { Cubic } from '../../../dataplane/tcp/cubic.ts';

const SEGMENT = 1_000;

function fresh() {
  const words = new Int32Array(2 * WORDS);
  const times = new Float64Array(2 * TIMES);
  const clock = new Float64Array([1_000]);
  words[WORDS + MSS] = SEGMENT;
  times[TIMES + SRTT] = 100;
  times[TIMES + RTO] = 300;
  const cubic = new Cubic(words, times, clock);
  cubic.begin(1);
  /** One round trip in which a whole window is acknowledged. */
  const round = (): number => {
    clock[0]! += 100;
    const window = times[TIMES + CWND]!;
    for (let at = 0; at < window; at += 2 * SEGMENT) cubic.acknowledged(1, 2 * SEGMENT);
    return times[TIMES + CWND]! / SEGMENT;
  };
  return { times, clock, cubic, round };
}

test('the initial window doubles in each round of slow start', (t) => {
  const { times, round } = fresh();
  t.is(times[TIMES + CWND], 10_000);
  t.is(round(), 20);
  t.is(round(), 40);
  t.true(times[TIMES + SSTHRESH]! >= CWND_MAX);
});

test('a loss takes three tenths, and the window comes back to where it was after K (4.2, 4.6)', (t) => {
  const { times, cubic, round } = fresh();
  times[TIMES + CWND] = 200 * SEGMENT;
  cubic.lost(1);
  t.is(times[TIMES + CWND], 140 * SEGMENT);
  t.is(times[TIMES + SSTHRESH], 140 * SEGMENT);
  t.is(times[TIMES + W_MAX], 200);
  const k = Math.cbrt((200 - 140) / 0.4);
  const windows = Array.from({ length: Math.round(k * 10) }, round);
  t.true(Math.abs(windows.at(-1)! - 200) < 4, `${windows.at(-1)}`);
  const steps = windows.map((window, i) => window - (windows[i - 1] ?? 140));
  t.true(steps[2]! > steps.at(-2)!, 'first fast, then slow');
  t.true(windows.every((window, i) => i === 0 || window >= windows[i - 1]!));
  const later = Array.from({ length: 60 }, round);
  t.true(later.at(-1)! > 230, 'then it searches further');
});

test('with a small window and a short round trip it is as fast as Reno (4.3)', (t) => {
  const { times, clock, cubic } = fresh();
  times[TIMES + SRTT] = 5;
  times[TIMES + CWND] = 20 * SEGMENT;
  cubic.lost(1);
  for (let i = 0; i < 40; i++) {
    clock[0]! += 5;
    for (let at = 0; at < 14; at++) cubic.acknowledged(1, SEGMENT);
  }
  // Reno adds one segment a round, with alpha (0.53) before it is where it was.
  t.true(times[TIMES + CWND]! > 24 * SEGMENT, `${times[TIMES + CWND]}`);
  t.true(times[TIMES + CWND]! < 60 * SEGMENT);
});

test('a second loss below the first one makes room for others (4.7: fast convergence)', (t) => {
  const { times, cubic } = fresh();
  times[TIMES + CWND] = 200 * SEGMENT;
  cubic.lost(1);
  cubic.lost(1);
  t.is(times[TIMES + W_MAX], 140 * 0.85);
});

test('a timeout leaves one segment; the next ones in a row take nothing more', (t) => {
  const { times, cubic } = fresh();
  times[TIMES + CWND] = 100 * SEGMENT;
  cubic.timedOut(1, true);
  t.is(times[TIMES + CWND], SEGMENT);
  t.is(times[TIMES + SSTHRESH], 70 * SEGMENT);
  cubic.timedOut(1, false);
  t.is(times[TIMES + SSTHRESH], 70 * SEGMENT);
});

test('a loss that was none is taken back', (t) => {
  const { times, cubic } = fresh();
  times[TIMES + CWND] = 100 * SEGMENT;
  cubic.timedOut(1, true);
  cubic.undo(1);
  t.is(times[TIMES + CWND], 100 * SEGMENT);
  t.true(times[TIMES + SSTHRESH]! >= CWND_MAX);
});

test('after a pause of more than a timeout the window begins again (RFC 5681, 4.1)', (t) => {
  const { times, clock, cubic } = fresh();
  times[TIMES + CWND] = 100 * SEGMENT;
  times[TIMES + SENT_AT] = 900;
  cubic.resumed(1);
  t.is(times[TIMES + CWND], 100 * SEGMENT);
  clock[0] = 1_300;
  cubic.resumed(1);
  t.is(times[TIMES + CWND], 10 * SEGMENT);
  times[TIMES + CWND] = 3 * SEGMENT;
  cubic.resumed(1);
  t.is(times[TIMES + CWND], 3 * SEGMENT, 'a pause opens no window');
});

test('a pause is no time in which the window grows', (t) => {
  const { times, clock, cubic, round } = fresh();
  times[TIMES + CWND] = 200 * SEGMENT;
  times[TIMES + RTO] = 1e9;
  cubic.lost(1);
  round();
  const before = round();
  times[TIMES + SENT_AT] = clock[0]!;
  clock[0]! += 60_000;
  cubic.resumed(1);
  t.true(round() - before < 20);
});

test('the window has a limit, and small segments have a larger first one (RFC 6928)', (t) => {
  const { times, cubic } = fresh();
  times[TIMES + CWND] = CWND_MAX;
  cubic.acknowledged(1, 1e6);
  t.is(times[TIMES + CWND], CWND_MAX);
  t.is(initialWindow(1_460), 14_600);
  t.is(initialWindow(500), 5_000);
  t.is(initialWindow(9_000), 18_000);
});
