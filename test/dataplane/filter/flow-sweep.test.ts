// The sweep of flows: within some seconds each was looked at, in slices of limited size, and never
// while there are none.

import test from 'ava';
import {
  FLOWS_ENDED_PER_SLICE,
  FLOWS_SWEPT_PER_SLICE,
  SWEEP_BUSY_MS,
  SWEEP_ROUND_MS,
} from '../../../dataplane/constants.ts';
import { Bench, device, dropAll, exchange, host, SECOND } from '../../support/filter/tracking.ts';
import { udp, viewOf } from '../../support/dataplane/packets.ts';

/** A bench with so many flows. */
function benchWith(count: number): Bench {
  const capacity = 4 * FLOWS_SWEPT_PER_SLICE;
  const bench = new Bench({ capacity, quota: capacity, ended: { capacity, share: capacity } });
  const packet = udp({ source: device, destination: host, destinationPort: 53 });
  for (let i = 0; i < count; i++) {
    viewOf(packet).setUint16(20, 1_024 + i);
    bench.judge(packet);
  }
  return bench;
}

/** Lets time go on, slice by slice; returns how many ended in each. */
function endsIn(bench: Bench, ms: number): number[] {
  const { tracker } = bench;
  const until = bench.now + ms;
  const ends: number[] = [];
  for (;;) {
    bench.now = Math.max(bench.now, tracker.nextSweep);
    if (bench.now > until) return ends;
    const before = tracker.ended.size;
    tracker.setTime(bench.now, bench.now);
    tracker.sweep(bench.now);
    ends.push(tracker.ended.size - before);
  }
}

test('without flows nothing is looked at', (t) => {
  const bench = new Bench();
  t.is(bench.tracker.nextSweep, Infinity);
  bench.judge(exchange(device, host).ask);
  t.true(bench.tracker.nextSweep <= bench.now);
  bench.sweep();
  t.is(bench.tracker.nextSweep, bench.now + SWEEP_ROUND_MS);
  bench.now += 180 * SECOND;
  bench.sweep();
  t.is(bench.tracker.nextSweep, Infinity);
});

test('a flow that ended is noticed within a round, without any packet', (t) => {
  const bench = benchWith(100);
  endsIn(bench, 179 * SECOND);
  t.is(bench.tracker.ended.size, 0);
  endsIn(bench, SECOND + SWEEP_ROUND_MS);
  t.is(bench.tracker.ended.size, 100);
});

test('a slice is limited, and pauses are short while there is more', (t) => {
  const count = 2.5 * FLOWS_SWEPT_PER_SLICE;
  const bench = benchWith(count);
  const slices = endsIn(bench, 100 * SECOND).length;
  t.true(Math.abs(slices - (3 * 100 * SECOND) / SWEEP_ROUND_MS) <= 3, `${slices} slices`);
  bench.rules('0', ...dropAll);
  const ends = endsIn(bench, SWEEP_ROUND_MS + (count / FLOWS_ENDED_PER_SLICE) * SWEEP_BUSY_MS);
  t.is(
    ends.reduce((a, b) => a + b),
    count,
  );
  t.is(Math.max(...ends), FLOWS_ENDED_PER_SLICE);
  t.is(bench.tracker.flows.live, count);
});
