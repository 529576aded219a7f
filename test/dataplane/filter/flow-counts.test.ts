// What flows have carried: each flow by itself, each way by itself, and nothing of the flow that had
// the number before.

import test from 'ava';
import { COUNT_FIELDS, FlowCounts, readCount } from '../../../dataplane/filter/flow-counts.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';

test('packets and bytes are counted for each flow, each way', (t) => {
  const counts = new FlowCounts(4);
  counts.begin(1_000);
  counts.open(1);
  counts.open(4);
  counts.count(4, 0, 1, 60);
  counts.begin(2_500);
  counts.count(4, 1, 3, 4_500);
  counts.count(4, 0, 1, 52);
  t.deepEqual(counts.of(4), {
    openedAt: 1_000,
    latestAt: 2_500,
    sentPackets: 2,
    sentBytes: 112,
    replyPackets: 3,
    replyBytes: 4_500,
  });
  const nothing = { sentPackets: 0, sentBytes: 0, replyPackets: 0, replyBytes: 0 };
  t.deepEqual(counts.of(1), { openedAt: 1_000, latestAt: 1_000, ...nothing });
});

test('the next flow of a number begins with nothing', (t) => {
  const counts = new FlowCounts(1);
  counts.begin(1);
  counts.open(1);
  counts.count(1, 0, 1, 60);
  counts.begin(9);
  counts.open(1);
  t.like(counts.of(1), { openedAt: 9, latestAt: 9, sentPackets: 0, sentBytes: 0 });
});

test('what a flow has carried can be kept elsewhere', (t) => {
  const counts = new FlowCounts(2);
  counts.begin(7);
  counts.open(2);
  counts.count(2, 1, 3, 400);
  const kept = new Float64Array(2 * COUNT_FIELDS);
  counts.copy(2, kept, COUNT_FIELDS);
  t.deepEqual(readCount(kept, COUNT_FIELDS), counts.of(2));
});

test('counting allocates nothing', (t) => {
  const counts = new FlowCounts(64);
  let flow = 0;
  const count = (): void => {
    counts.begin(flow * 1.5);
    flow = (flow % 64) + 1;
    counts.open(flow);
    counts.count(flow, flow & 1, 1, 1_400);
  };
  t.true(bytesPerCall(count) < 1);
});
