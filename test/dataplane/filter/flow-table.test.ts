// The table of flows: a flow is found from both sides, the table is limited, and which flow is
// removed when it is full.

import test from 'ava';
import fc from 'fast-check';
import {
  CLOSED,
  FlowTable,
  type FlowTableOptions,
  ownerOf,
  peerOf,
  REPLIED,
  TUN_OWNER,
} from '../../../dataplane/filter/flow-table.ts';
import { reasonNames } from '../../../dataplane/reasons.ts';
import { InnerPacket, PROTOCOL_UDP } from '../../../dataplane/wire/ip.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';

const PEER = ownerOf(0, 4);
const OTHER = ownerOf(1, 4);

function tableOf(options: Partial<FlowTableOptions> = {}): FlowTable {
  const table = new FlowTable({ random: chance(3), capacity: 64, quota: 16, ...options });
  table.begin(1_000);
  return table;
}

/** A packet between two addresses, each given by a number. */
function packetOf(source: number, destination: number, version = 4): InnerPacket {
  const packet = new InnerPacket();
  packet.version = version;
  packet.protocol = PROTOCOL_UDP;
  packet.source0 = source;
  packet.destination0 = destination;
  if (version === 6) {
    packet.source3 = source;
    packet.destination3 = destination;
  }
  return packet;
}

/** Opens a flow that lives for a minute, in the place of one that has ended. */
function open(table: FlowTable, source: number, owner = PEER, destination = 9): number {
  const before = table.find(packetOf(source, destination), 1, 2);
  if (before !== 0) table.remove(before >> 1);
  const flow = table.add(packetOf(source, destination), 1, 2, owner, TUN_OWNER);
  table.endIn(flow, 60_000);
  return flow;
}

function has(table: FlowTable, source: number, destination = 9): boolean {
  const found = table.find(packetOf(source, destination), 1, 2);
  return found !== 0 && !table.hasEnded(found >> 1);
}

test('an owner is a peer and a family, and never the TUN', (t) => {
  t.deepEqual(
    [ownerOf(0, 4), ownerOf(0, 6), ownerOf(65_535, 4), ownerOf(65_535, 6)].map(peerOf),
    [0, 0, 65_535, 65_535],
  );
  t.is(new Set([TUN_OWNER, PEER, OTHER, ownerOf(0, 6)]).size, 4);
});

test('a flow is found from both sides, and the result says from which', (t) => {
  for (const version of [4, 6]) {
    const table = tableOf();
    const flow = table.add(packetOf(5, 6, version), 10, 20, PEER, TUN_OWNER);
    table.endIn(flow, 1);
    t.is(table.find(packetOf(5, 6, version), 10, 20), 2 * flow);
    t.is(table.find(packetOf(6, 5, version), 20, 10), 2 * flow + 1);
    t.is(table.find(packetOf(5, 6, version), 20, 10), 0);
    t.is(table.find(packetOf(6, 5, version), 10, 20), 0);
    t.is(table.find(packetOf(5, 6, 10 - version), 10, 20), 0);
    t.true(table.isBetween(2 * flow, PEER, TUN_OWNER));
    t.true(table.isBetween(2 * flow + 1, TUN_OWNER, PEER));
    t.false(table.isBetween(2 * flow, TUN_OWNER, PEER));
    t.false(table.isBetween(2 * flow, PEER, OTHER));
  }
});

test('every word of an IPv6 address counts', (t) => {
  const words = [
    'source0',
    'source1',
    'source2',
    'source3',
    'destination0',
    'destination1',
  ] as const;
  for (const word of [...words, 'destination2', 'destination3'] as const) {
    const table = tableOf();
    table.endIn(table.add(packetOf(5, 6, 6), 1, 2, PEER, TUN_OWNER), 1);
    const packet = packetOf(5, 6, 6);
    packet[word] ^= 1 << 31;
    t.is(table.find(packet, 1, 2), 0, word);
  }
});

test('a flow describes the packet that opened it', (t) => {
  const table = tableOf();
  const flow = table.add(packetOf(5, 6, 6), 10, 20, PEER, TUN_OWNER);
  const packet = new InnerPacket();
  table.describe(flow, packet);
  const { version, protocol, destination0, destination3, destinationPort } = packet;
  t.deepEqual([version, protocol, destination0, destination3, destinationPort], [6, 17, 6, 6, 20]);
});

test('a flow that has ended is known to have ended, until a sweep removes it', (t) => {
  const table = tableOf();
  open(table, 5);
  table.begin(60_999);
  t.true(has(table, 5));
  table.begin(61_000);
  t.false(has(table, 5));
  t.is(table.live, 1, 'finding changes nothing');
  table.sweep(1);
  t.is(table.live, 0);
});

test('flows from and to a forgotten owner are not found', (t) => {
  const table = tableOf();
  open(table, 5, PEER);
  const between = table.add(packetOf(6, 7), 1, 2, OTHER, PEER);
  table.endIn(between, 60_000);
  open(table, 8, OTHER);
  table.forget(PEER);
  t.false(has(table, 5));
  t.false(has(table, 6, 7));
  t.true(has(table, 8));
  t.is(table.generationOf(PEER), 1);
});

// ---- bounds ----------------------------------------------------------------------------------

test('a peer at its quota loses its oldest unanswered flow', (t) => {
  const table = tableOf({ quota: 4 });
  const flows = [1, 2, 3, 4].map((source) => open(table, source));
  open(table, 50, OTHER);
  table.mark(flows[0]!, REPLIED);
  open(table, 5);
  t.deepEqual(
    [1, 2, 3, 4, 5, 50].filter((source) => has(table, source)),
    [1, 3, 4, 5, 50],
  );
});

test('a peer at its quota with answered flows only loses the one that would end first', (t) => {
  const table = tableOf({ quota: 4 });
  for (const source of [1, 2, 3, 4]) {
    const flow = open(table, source);
    table.mark(flow, REPLIED);
    if (source === 3) table.endIn(flow, 10);
  }
  open(table, 5);
  t.deepEqual(
    [1, 2, 3, 4, 5].filter((source) => has(table, source)),
    [1, 2, 4, 5],
  );
});

test('a closed flow goes before others, from the share of a peer and from a full table', (t) => {
  for (const [limits, opener] of [
    [{ quota: 12 }, PEER],
    [{ capacity: 16 }, OTHER],
  ] as const) {
    const table = tableOf({ quota: 16, ...limits });
    const flows = Array.from({ length: limits.quota ?? 16 }, (_, i) => open(table, i + 1));
    for (const flow of flows.slice(1)) table.mark(flow, REPLIED);
    const closed = flows.slice(-2);
    // The answer to a reset comes late.
    for (const flow of [...closed, flows[0]!]) table.mark(flow, CLOSED);
    table.mark(flows[0]!, REPLIED);
    for (const [source, gone] of [
      [101, flows.length - 1],
      [102, flows.length],
      [103, 1],
      [104, 101],
    ] as const) {
      open(table, source, opener);
      t.false(has(table, gone), `${gone} gives way to ${source}`);
    }
    t.is(flows.filter((_, i) => has(table, i + 1)).length, flows.length - 3);
  }
});

test('a full table loses its oldest unanswered flow, of whichever peer', (t) => {
  const table = tableOf({ capacity: 4 });
  table.mark(open(table, 1, OTHER), REPLIED);
  for (const source of [2, 3, 4]) open(table, source, OTHER);
  open(table, 5, PEER);
  t.deepEqual(
    [1, 2, 3, 4, 5].filter((source) => has(table, source)),
    [1, 3, 4, 5],
  );
});

test('if all flows were answered, the peer that opens one more loses one of its own', (t) => {
  const table = tableOf({ capacity: 4 });
  for (const source of [1, 2, 3]) table.mark(open(table, source, OTHER), REPLIED);
  table.mark(open(table, 4, PEER), REPLIED);
  open(table, 5, PEER);
  t.deepEqual(
    [1, 2, 3, 4, 5].filter((source) => has(table, source)),
    [1, 2, 3, 5],
  );
  table.mark(table.find(packetOf(5, 9), 1, 2) >> 1, REPLIED);
  open(table, 6, ownerOf(2, 4));
  t.is([1, 2, 3, 5].filter((source) => has(table, source)).length, 3);
  t.true(has(table, 6));
});

test('a flow that is removed early is counted, by the limit that was reached', (t) => {
  const counted: string[] = [];
  const count = (reason: number): unknown => counted.push(reasonNames[reason]!);
  const table = tableOf({ capacity: 4, quota: 2, count });
  for (const source of [1, 2]) open(table, source, PEER);
  t.deepEqual(counted, []);
  open(table, 3, PEER);
  t.deepEqual(counted, ['flows_share']);
  for (const source of [4, 5]) open(table, source, OTHER);
  open(table, 6, ownerOf(2, 4));
  t.deepEqual(counted, ['flows_share', 'flows_full']);
  table.begin(61_000);
  open(table, 7, OTHER);
  t.deepEqual(counted, ['flows_share', 'flows_full'], 'what had ended is not');
});

test('a flow that was opened to a peer counts for its quota', (t) => {
  const table = tableOf({ quota: 2 });
  for (const source of [1, 2, 3])
    table.endIn(table.add(packetOf(source, 9), 1, 2, TUN_OWNER, PEER), 60_000);
  open(table, 4, OTHER);
  t.deepEqual(
    [1, 2, 3, 4].filter((source) => has(table, source)),
    [2, 3, 4],
  );
});

test('an owner that was forgotten has its whole quota again', (t) => {
  const table = tableOf({ quota: 4 });
  for (const source of [1, 2, 3, 4]) open(table, source);
  table.forget(PEER);
  for (const source of [5, 6, 7, 8]) open(table, source);
  t.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].filter((source) => has(table, source)),
    [5, 6, 7, 8],
  );
});

test('a sweep looks at a limited number of flows, and reaches all in time', (t) => {
  const table = tableOf({ capacity: 64, quota: 64 });
  for (let source = 1; source <= 40; source++) open(table, source);
  table.begin(100_000);
  table.sweep(10);
  t.is(table.live, 30);
  table.sweep(30);
  t.is(table.live, 0);
  table.sweep(1_000_000_000);
  t.is(table.live, 0);
});

test('new flows cause a sweep of old ones', (t) => {
  const table = tableOf({ capacity: 64, quota: 64 });
  for (let source = 1; source <= 60; source++) open(table, source);
  table.begin(100_000);
  for (let source = 101; source <= 130; source++) open(table, source);
  t.is(table.live, 30);
});

test('after any sequence of changes the table holds the same flows as a map', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(5), fc.integer({ min: 1, max: 90 }), fc.nat(2)), {
        minLength: 300,
        maxLength: 300,
      }),
      (steps) => {
        const table = tableOf({ capacity: 128, quota: 128 });
        const slow = new Map<number, { owner: number; endsAt: number }>();
        let now = 1_000;
        for (const [what, source, peer] of steps) {
          const owner = ownerOf(peer, 4);
          const known = slow.get(source);
          const isLive = known !== undefined && known.endsAt > now;
          if (has(table, source) !== isLive) return false;
          if (what === 0) {
            now += 20_000;
            table.begin(now);
          } else if (what === 1) {
            table.forget(owner);
            for (const [key, flow] of slow) if (flow.owner === owner) slow.delete(key);
          } else if (what === 2 && isLive) {
            table.remove(table.find(packetOf(source, 9), 1, 2) >> 1);
            slow.delete(source);
          } else if (what === 3 && isLive) {
            const flow = table.find(packetOf(9, source), 2, 1) >> 1;
            if (table.get(flow, 12) === 0) table.mark(flow, REPLIED);
          } else if (!isLive) {
            open(table, source, owner);
            slow.set(source, { owner, endsAt: now + 60_000 });
          }
        }
        return true;
      },
    ),
    { ...SEEDED, numRuns: 200 },
  );
  t.pass();
});
