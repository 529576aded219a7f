// What is remembered of first fragments. What it means is in judge-fragments.test.ts.

import test from 'ava';
import { MAX_FRAGMENTED } from '../../../dataplane/constants.ts';
import { FragmentTable, NO_FIRST } from '../../../dataplane/filter/fragments.ts';
import { FIRST_FRAGMENT, InnerPacket, PROTOCOL_TCP } from '../../../dataplane/wire/ip.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';

function first(identification: number, change: Partial<InnerPacket> = {}): InnerPacket {
  const packet = Object.assign(new InnerPacket(), {
    version: 4,
    protocol: 17,
    fragment: FIRST_FRAGMENT,
    source0: 1,
    destination0: 2,
    upperOffset: 20,
    fragmentedAt: 20,
    destinationPort: 53,
    identification,
  });
  return Object.assign(packet, change);
}

function tableAt(now: number): FragmentTable {
  const table = new FragmentTable(chance(1));
  table.begin(now);
  return table;
}

test('a first fragment is found by all that its followers share with it', (t) => {
  const table = tableAt(0);
  const place = table.keep(first(7), 3, 1);
  t.is(table.find(first(7), 3), place);
  t.is(table.find(first(7, { fragmentOffset: 9 }), 3), place);
  const changes: Partial<InnerPacket>[] = [
    { identification: 8 },
    { version: 6 },
    { protocol: 6 },
    ...(['source', 'destination'] as const).flatMap((end) =>
      [0, 1, 2, 3].map((word) => ({ [`${end}${word}`]: 99 })),
    ),
  ];
  for (const change of changes)
    t.is(table.find(first(7, change), 3), NO_FIRST, JSON.stringify(change));
  t.is(table.find(first(7), 4), NO_FIRST, 'its sender is another now');
});

test('a first fragment that comes again takes the same place', (t) => {
  const table = tableAt(0);
  t.is(table.keep(first(7), 0, 1), table.keep(first(7), 0, 1));
});

test('a verdict is kept with the rules that gave it', (t) => {
  const table = tableAt(0);
  const place = table.keep(first(7), 0, 1);
  table.setVerdict(place, 5, 21, 33, 44);
  const kept = [table.reasonAt(place), table.ruleAt(place), table.stagedAt(place)];
  t.deepEqual(kept, [21, 33, 44]);
  t.false(table.isOutdated(place, 5));
  t.true(table.isOutdated(place, 6));
  table.keep(first(7), 0, 0);
  t.false(table.isOutdated(place, 6), 'no rule gave it');
});

test('a fragment that begins inside the header that was judged overlaps it', (t) => {
  const table = tableAt(0);
  const udp = table.keep(first(1), 0, 1);
  t.false(table.overlaps(udp, first(1, { fragmentOffset: 1 })));
  const tcp = table.keep(first(2, { protocol: PROTOCOL_TCP }), 0, 1);
  t.true(table.overlaps(tcp, first(2, { fragmentOffset: 2 })));
  t.false(table.overlaps(tcp, first(2, { fragmentOffset: 3 })));
  const behind = table.keep(first(3, { fragmentedAt: 48, upperOffset: 64 }), 0, 1);
  t.true(table.overlaps(behind, first(3, { fragmentOffset: 2 })));
  t.false(table.overlaps(behind, first(3, { fragmentOffset: 3 })));
});

test('however many come, the table holds the last ones and no more than it can', (t) => {
  const table = tableAt(0);
  const count = 10 * MAX_FRAGMENTED;
  for (let i = 0; i < count; i++) {
    table.begin(i / 1_000);
    table.keep(first(i & 0xffff, { source0: i >> 16 }), 0, 1);
  }
  const known = (i: number): boolean =>
    table.find(first(i & 0xffff, { source0: i >> 16 }), 0) !== NO_FIRST;
  const held = Array.from({ length: count }, (_, i) => i).filter(known);
  t.true(held.length > MAX_FRAGMENTED * 0.9 && held.length <= MAX_FRAGMENTED);
  t.true(known(count - 1));
});
