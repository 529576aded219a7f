// The table of ended flows: each is kept with what it carried, the latest one is found first, the
// table is limited for all and for each device, and nothing is allocated.

import test from 'ava';
import fc from 'fast-check';
import {
  deciders,
  EndedFlows,
  endReasons,
  type FlowEnd,
} from '../../../dataplane/filter/ended-flows.ts';
import { FlowCounts } from '../../../dataplane/filter/flow-counts.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const CAPACITY = 32;
const FLOW = 1;

/** A flow table that says of its one flow that each field is its own number. */
const flows = { get: (_flow: number, field: number): number => (4 << 8) + field };

function countsOf(packets: number): FlowCounts {
  const counts = new FlowCounts(FLOW);
  counts.begin(packets);
  counts.open(FLOW);
  counts.count(FLOW, 0, packets, 10 * packets);
  counts.begin(packets + 1);
  counts.count(FLOW, 1, 2 * packets, 30 * packets);
  return counts;
}

function endOf(slot: number, because = 0): FlowEnd {
  const opener = { key: `key of ${slot}`, scope: `owner of ${slot}` };
  const by = deciders.indexOf('rule');
  return { slot, opener, target: null, because, by, rule: `rule ${slot}`, isAnswered: true };
}

/** The numbers of all records, from the newest one back. */
function numbersOf(ended: EndedFlows, before = Infinity): number[] {
  const numbers: number[] = [];
  for (let place = ended.before(before); place !== 0; place = ended.earlier(place))
    numbers.push(ended.read(place).number);
  return numbers;
}

test('a record says all of its flow', (t) => {
  const ended = new EndedFlows({ capacity: CAPACITY });
  ended.begin(77);
  for (const because of endReasons.keys()) {
    ended.add(flows, countsOf(5), FLOW, endOf(3, because));
    const { source, destination, ...rest } = ended.read(ended.before(Infinity));
    t.deepEqual([...source], [1_025, 1_026, 1_027, 1_028]);
    t.deepEqual([...destination], [1_030, 1_031, 1_032, 1_033]);
    t.deepEqual(rest, {
      number: because + 1,
      version: 4,
      protocol: 0,
      sourcePort: 1_029,
      destinationPort: 1_034,
      isAnswered: true,
      opener: { key: 'key of 3', scope: 'owner of 3' },
      target: null,
      because: endReasons[because]!,
      by: 'rule',
      rule: 'rule 3',
      openedAt: 5,
      latestAt: 6,
      sentPackets: 5,
      sentBytes: 50,
      replyPackets: 10,
      replyBytes: 150,
      endedAt: 77,
    });
  }
});

test('any course of ends leaves the records of a slow twin', (t) => {
  const courses = fc.sample(fc.array(fc.oneof(fc.nat(1), fc.nat(40)), { minLength: 200 }), {
    ...SEEDED,
    numRuns: 60,
  });
  const met = { share: 0, full: 0 };
  for (const course of courses) {
    const ended = new EndedFlows({ capacity: CAPACITY, share: 4 });
    let slow: { slot: number; number: number }[] = [];
    const forgotten = { share: 0, full: 0 };
    for (const [i, slot] of course.entries()) {
      const own = slow.filter((one) => one.slot === slot);
      if (own.length === 4) {
        slow = slow.filter((one) => one !== own[0]);
        forgotten.share++;
      } else if (slow.length === CAPACITY) {
        slow.shift();
        forgotten.full++;
      }
      slow.push({ slot, number: i + 1 });
      ended.add(flows, countsOf(i), FLOW, endOf(slot));
    }
    const numbers = slow.map(({ number }) => number).toReversed();
    t.deepEqual(numbersOf(ended), numbers);
    for (const before of [1, 50, course.length - 3, course.length + 1])
      t.deepEqual(
        numbersOf(ended, before),
        numbers.filter((number) => number < before),
      );
    for (let place = 1; place <= ended.size; place++) {
      const { number, opener, rule, sentPackets } = ended.read(place);
      const slot = course[number - 1]!;
      t.deepEqual([opener!.key, rule, sentPackets], [`key of ${slot}`, `rule ${slot}`, number - 1]);
    }
    t.deepEqual(ended.forgotten, forgotten);
    met.share += forgotten.share;
    met.full += forgotten.full;
  }
  t.true(met.share > 100 && met.full > 100);
});

test('one device has a sixteenth at most, and others keep theirs', (t) => {
  const ended = new EndedFlows({ capacity: 64 });
  ended.add(flows, countsOf(1), FLOW, endOf(1));
  for (let i = 0; i < 1_000; i++) ended.add(flows, countsOf(1), FLOW, endOf(2));
  t.is(ended.size, 5);
  t.deepEqual(ended.forgotten, { share: 996, full: 0 });
  t.is(numbersOf(ended).at(-1), 1);
});

test('the end of a flow allocates nothing', (t) => {
  const ended = new EndedFlows({ capacity: 64, share: 64 });
  const counts = countsOf(1);
  const ends = Array.from({ length: 7 }, (_, slot) => endOf(slot));
  let i = 0;
  const bytes = bytesPerCall(
    () => {
      for (let n = 0; n < 100; n++) ended.add(flows, counts, FLOW, ends[i++ % 7]!);
    },
    { calls: 10, rounds: 51 },
  );
  t.true(bytes < 100, `${bytes} bytes`);
});
