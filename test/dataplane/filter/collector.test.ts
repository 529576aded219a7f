// Fragments by datagram: what makes one complete, what ends it, and whose memory it takes. Random
// courses beside a slow twin; a table for which fragments belong together.

import test from 'ava';
import {
  FRAGMENT_BYTES,
  FRAGMENT_BYTES_PER_PEER,
  FRAGMENT_CELL_BYTES,
} from '../../../dataplane/constants.ts';
import { FragmentCollector } from '../../../dataplane/filter/collector.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { dice, fragmentsOf, shuffled } from '../../support/dataplane/fragments.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { counting, fragmentHeader, ip, udp, viewOf } from '../../support/dataplane/packets.ts';
import { tries } from '../../support/dataplane/seed.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';
import { Collecting, CollectingPair } from '../../support/filter/collecting.ts';

const SECOND = 1_000;
const ends = { source: '10.0.0.2', destination: '192.0.2.1' };
const ends6 = { source: 'fd00::2', destination: '2001:db8::1' };

interface Fields {
  id?: number;
  start: number;
  bytes: number;
  isLast?: boolean;
  protocol?: number;
  source?: string;
  destination?: string;
}

function part({
  id = 7,
  start,
  bytes,
  isLast = false,
  protocol = 17,
  ...rest
}: Fields): Uint8Array {
  return ip({
    ...ends,
    ...rest,
    protocol,
    payload: new Uint8Array(bytes),
    identification: id,
    fragment: (isLast ? 0 : 0x2000) | (start / 8),
  });
}

function part6({
  id = 7,
  start,
  bytes,
  isLast = false,
  protocol = 17,
  ...rest
}: Fields): Uint8Array {
  return ip({
    ...ends6,
    ...rest,
    protocol,
    payload: new Uint8Array(bytes),
    extensions: [fragmentHeader(start / 8, !isLast, id)],
  });
}

// ---- which belong together -------------------------------------------------------------------

const others: readonly [title: string, first: Uint8Array, last: Uint8Array, isOne: boolean][] = [
  [
    'one datagram',
    part({ start: 0, bytes: 800 }),
    part({ start: 800, bytes: 8, isLast: true }),
    true,
  ],
  [
    'another identification',
    part({ start: 0, bytes: 800 }),
    part({ id: 8, start: 800, bytes: 8, isLast: true }),
    false,
  ],
  [
    'another protocol',
    part({ start: 0, bytes: 800 }),
    part({ protocol: 47, start: 800, bytes: 8, isLast: true }),
    false,
  ],
  [
    'another source',
    part({ start: 0, bytes: 800 }),
    part({ source: '10.0.0.3', start: 800, bytes: 8, isLast: true }),
    false,
  ],
  [
    'another destination',
    part({ start: 0, bytes: 800 }),
    part({ destination: '192.0.2.2', start: 800, bytes: 8, isLast: true }),
    false,
  ],
  ['IPv6', part6({ start: 0, bytes: 800 }), part6({ start: 800, bytes: 8, isLast: true }), true],
  [
    'IPv6, another next header',
    part6({ start: 0, bytes: 800 }),
    part6({ protocol: 60, start: 800, bytes: 8, isLast: true }),
    true,
  ],
  [
    'IPv6, 32 bits of identification',
    part6({ id: 0x1_0007, start: 0, bytes: 800 }),
    part6({ start: 800, bytes: 8, isLast: true }),
    false,
  ],
];

for (const [title, first, last, isOne] of others)
  test(`${title}: ${isOne ? 'belong together' : 'belong to two datagrams'}`, (t) => {
    for (const parts of [
      [first, last],
      [last, first],
    ]) {
      const bench = new Collecting();
      t.is(bench.take(parts[0]!), 'kept');
      t.is(bench.take(parts[1]!), isOne ? 'complete' : 'kept');
      if (isOne) t.deepEqual(bench.complete, [first, last]);
      t.is(bench.collector.heldBy(0), isOne ? 0 : 3 * FRAGMENT_CELL_BYTES);
    }
  });

test('owners have nothing in common', (t) => {
  const bench = new Collecting();
  t.is(bench.take(part({ start: 0, bytes: 800 }), 0), 'kept');
  t.is(bench.take(part({ start: 800, bytes: 8, isLast: true }), 1), 'kept');
  bench.collector.forget(0);
  t.deepEqual([bench.collector.heldBy(0), bench.collector.heldBy(1)], [0, FRAGMENT_CELL_BYTES]);
  t.is(bench.take(part({ start: 800, bytes: 8, isLast: true }), 0), 'kept');
  t.deepEqual(bench.losses, [], 'nobody hears of what is forgotten');
});

// ---- an identification that is used again ---------------------------------------------------

/** Takes so many fragments of other datagrams, each of which is complete at once with its second. */
function takeOthers(bench: Collecting, count: number, owner = 0): void {
  for (let i = 0; i < count; i++) {
    const id = 1_000 + (i >> 1);
    bench.take(
      part(i % 2 === 0 ? { id, start: 0, bytes: 8 } : { id, start: 8, bytes: 8, isLast: true }),
      owner,
    );
  }
}

/** The fragments of a datagram, whose bytes depend on a number. */
function datagram(from: number, end: typeof ends): Uint8Array[] {
  const data = counting(2_900, from);
  return fragmentsOf(udp({ ...end, data, ...(end === ends ? { fragment: 0 } : {}) }), 1_000, 7);
}

for (const missing of [0, 1, 2])
  test(`an old datagram without part ${missing} is in nobody's way when much has come since`, (t) => {
    const bench = new Collecting();
    const [old, fresh] = [datagram(1, ends), datagram(2, ends)];
    t.is(old.length, 3);
    for (const [i, fragment] of old.entries()) if (i !== missing) bench.take(fragment);
    takeOthers(bench, 256);
    t.deepEqual(bench.losses, []);
    t.deepEqual(
      fresh.map((fragment) => bench.take(fragment)),
      ['kept', 'kept', 'complete'],
    );
    t.deepEqual(bench.complete, fresh, 'and nothing of the old one is in it');
    t.deepEqual(
      bench.losses.map(({ reason }) => reason),
      ['inner_fragments_expired'],
    );
    t.is(bench.collector.heldBy(0), 0);
  });

for (const [title, others, owner, end] of [
  ['little has come since', 254, 0, ends],
  ['much has come of somebody else', 600, 1, ends],
  ['it is of IPv6, whose identifications are not used again so soon', 600, 0, ends6],
] as const)
  test(`an overlap ends both datagrams where ${title}`, (t) => {
    const bench = new Collecting();
    const [old, fresh] = [datagram(1, end), datagram(2, end)];
    bench.take(old[0]!);
    takeOthers(bench, others, owner);
    t.is(bench.take(fresh[0]!), 'kept');
    t.deepEqual(
      bench.losses.map(({ reason }) => reason),
      ['inner_fragment_unsafe'],
    );
  });

test('a datagram whose fragments keep coming is not old, however long it takes', (t) => {
  const bench = new Collecting();
  const fragments = datagram(1, ends);
  bench.take(fragments[0]!);
  for (const fragment of [fragments[0]!, fragments[2]!, fragments[0]!]) {
    takeOthers(bench, 200);
    t.is(bench.take(fragment), 'kept');
  }
  takeOthers(bench, 200);
  t.is(bench.take(fragments[1]!), 'complete');
  t.deepEqual(bench.losses, []);
});

// ---- memory ----------------------------------------------------------------------------------

test('a full share gives up the oldest of the same owner', (t) => {
  const bench = new Collecting();
  const room = FRAGMENT_BYTES_PER_PEER / (2 * FRAGMENT_CELL_BYTES);
  for (let id = 0; id < room; id++) bench.take(part({ id, start: 0, bytes: 800 }), 3);
  bench.take(part({ id: 1, start: 800, bytes: 8, isLast: true }), 4);
  t.deepEqual(bench.losses, []);
  t.is(bench.take(part({ id: room, start: 0, bytes: 800 }), 3), 'kept');
  t.deepEqual(
    bench.losses.map(({ reason }) => reason),
    ['inner_fragments_share'],
  );
  t.is(bench.take(part({ id: 1, start: 800, bytes: 8, isLast: true }), 3), 'complete');
  t.is(bench.take(part({ id: 0, start: 800, bytes: 8, isLast: true }), 3), 'kept', 'the oldest');
});

test('where all is full, who holds most gives up its oldest', (t) => {
  const bench = new Collecting();
  const shares = FRAGMENT_BYTES / FRAGMENT_BYTES_PER_PEER;
  const room = FRAGMENT_BYTES_PER_PEER / FRAGMENT_CELL_BYTES;
  for (let owner = 0; owner < shares; owner++)
    for (let id = 0; id < room; id++) bench.take(part({ id, start: 0, bytes: 8 }), owner);
  t.deepEqual(bench.losses, []);
  for (let id = 0; id < 20; id++) bench.take(part({ id, start: 0, bytes: 8 }), 40);
  t.is(bench.losses.length, 20);
  t.true(bench.losses.every(({ reason }) => reason === 'inner_fragments_full'));
  for (let id = 0; id < 20; id++)
    t.is(bench.take(part({ id, start: 8, bytes: 8, isLast: true }), 40), 'complete');
});

test('a datagram that needs more than a share is given up itself', (t) => {
  const bench = new Collecting();
  const fragments = fragmentsOf(udp({ ...ends, data: counting(60_000), fragment: 0 }), 28);
  for (const fragment of fragments) bench.take(fragment);
  t.true(bench.losses.length > 0);
  t.true(bench.losses.every(({ reason }) => reason === 'inner_fragments_share'));
  t.true(bench.collector.heldBy(0) <= FRAGMENT_BYTES_PER_PEER);
});

test('what waits too long is given up: 30 s, over IPv6 60 s', (t) => {
  const bench = new Collecting();
  bench.take(part6({ start: 0, bytes: 800 }));
  bench.take(part({ start: 0, bytes: 800 }));
  t.is(bench.collector.nextDeadline, bench.now + 30 * SECOND);
  bench.wait(30 * SECOND - 1);
  t.deepEqual(bench.losses, []);
  bench.wait(1);
  t.is(bench.losses.length, 1);
  bench.wait(30 * SECOND);
  t.is(bench.losses.length, 2);
  t.is(bench.collector.nextDeadline, Infinity);
  t.is(bench.collector.heldBy(0), 0);
});

// ---- beside the twin -------------------------------------------------------------------------

test('random courses: the collector does what its slow twin does', (t) => {
  const roll = dice(11);
  const met = new Set<string>();
  for (let course = 0; course < tries(10, 100); course++) {
    const pair = new CollectingPair(20);
    const waiting: [bytes: Uint8Array, owner: number][] = [];
    for (let step = 0; step < 300; step++) {
      const owner = roll(4) === 0 ? roll(20) : roll(2);
      if (roll(3) === 0) {
        const end = roll(2) === 0 ? ends : ends6;
        const data = counting(roll(8) === 0 ? roll(60_000) : roll(3_000), step);
        const whole = udp({ ...end, data, ...(end === ends ? { fragment: 0 } : {}) });
        const id = roll(roll(3) === 0 ? 400 : 6);
        const fragments = fragmentsOf(whole, [156, 600, 1_300, 20_000][roll(4)]!, id);
        for (const fragment of roll(2) === 0 ? fragments : shuffled(fragments, roll))
          if (roll(20) > 0) waiting.push([fragment, owner]);
      } else if (roll(60) === 0) pair.wait(roll(40_000));
      else if (roll(100) === 0) pair.forget(owner);
      for (let sent = roll(12); sent > 0 && waiting.length > 0; sent--) {
        const [bytes, of] = waiting.splice(roll(3) === 0 ? roll(waiting.length) : 0, 1)[0]!;
        if (roll(10) === 0) waiting.push([bytes, of]);
        met.add(pair.take(bytes, of));
      }
    }
  }
  t.true(met.has('complete') && met.has('kept'));
});

test('a full pool beside the twin', (t) => {
  const roll = dice(12);
  const pair = new CollectingPair(18);
  for (let i = 0; i < tries(400, 2_000); i++)
    pair.take(part({ id: i, start: 8 * roll(4), bytes: 60_000 - 8 * roll(900) }), roll(18));
  t.pass();
});

test('collecting allocates nothing', (t) => {
  const collector = new FragmentCollector({
    random: chance(1),
    owners: 4,
    lose: () => undefined,
  });
  const target = new Uint8Array(2_000);
  const views = [
    viewOf(part({ start: 0, bytes: 1_000 })),
    viewOf(part({ start: 1_000, bytes: 1_000, isLast: true })),
    viewOf(part({ id: 8, start: 0, bytes: 1_000 })),
  ];
  const packet = new InnerPacket();
  let now = 2_000.5;
  const collect = (): void => {
    now += 1;
    collector.begin(now);
    for (const view of views) {
      parseInner(view, 0, view.byteLength, packet);
      const datagram = collector.take(view, 0, packet, 0);
      if (datagram === 0) continue;
      collector.copy(collector.firstOf(datagram), 0, 1_000, target, 0);
      collector.remove(datagram);
    }
  };
  // A call copies and compares thousands of bytes.
  t.true(bytesPerCall(collect, { calls: 100, rounds: 151 }) < 24);
});
