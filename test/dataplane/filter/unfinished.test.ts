// Fragmented datagrams before the TUN: how much a peer may have unfinished, when a datagram is
// complete, and what only looks complete.

import test from 'ava';
import {
  MAX_UNFINISHED,
  UNFINISHED_BYTES_PER_FRAGMENT,
  UNFINISHED_BYTES_PER_PEER,
} from '../../../dataplane/constants.ts';
import { UnfinishedDatagrams } from '../../../dataplane/filter/unfinished.ts';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { extension, fragmentHeader, ip, viewOf } from '../../support/dataplane/packets.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';

const SECOND = 1_000;

interface Fields {
  identification?: number;
  /** Bytes. */
  from: number;
  bytes: number;
  isLast?: boolean;
  source?: string;
  destination?: string;
  protocol?: number;
}

/** A fragment over IPv4. */
function piece({ from, bytes, isLast = false, identification = 7, ...rest }: Fields): Uint8Array {
  return ip({
    source: rest.source ?? '10.0.0.2',
    destination: rest.destination ?? '192.0.2.1',
    protocol: rest.protocol ?? 17,
    payload: new Uint8Array(bytes),
    identification,
    fragment: (isLast ? 0 : 0x2000) | (from / 8),
  });
}

/** A fragment over IPv6. */
function piece6({ from, bytes, isLast = false, identification = 7, ...rest }: Fields): Uint8Array {
  return ip({
    source: rest.source ?? 'fd00::2',
    destination: '2001:db8::1',
    protocol: rest.protocol ?? 17,
    payload: new Uint8Array(bytes),
    extensions: [fragmentHeader(from / 8, !isLast, identification)],
  });
}

class Bench {
  readonly table = new UnfinishedDatagrams(chance(1), 64);
  now = 1_000;

  take(bytes: Uint8Array, slot = 0): ReasonName {
    const packet = new InnerPacket();
    const view = viewOf(bytes);
    parseInner(view, 0, bytes.length, packet);
    this.table.begin(this.now);
    const reason = this.table.judge(view, 0, packet, slot);
    if (this.table.judge(view, 0, packet, slot) !== reason) throw new Error('judging changed it');
    if (reason === reasons.none) this.table.take(view, 0, packet, slot);
    return reasonNames[reason]!;
  }

  /** How many more datagrams of 1,000 bytes a peer may leave unfinished. */
  room(slot = 0): number {
    for (let count = 0; ; count++) {
      const identification = 0x8000 + count;
      if (this.take(piece({ from: 0, bytes: 1_000, identification }), slot) !== 'none')
        return count;
    }
  }
}

const ROOM = Math.floor(UNFINISHED_BYTES_PER_PEER / (1_000 + UNFINISHED_BYTES_PER_FRAGMENT));

test('a peer has its share, and takes nothing from the share of others', (t) => {
  const bench = new Bench();
  t.is(bench.room(0), ROOM);
  t.is(bench.take(piece({ from: 0, bytes: 1_000 })), 'inner_fragments_share');
  t.is(bench.room(1), ROOM);
});

test('datagrams that the kernel has given up make room: after 30 s, over IPv6 after 60 s', (t) => {
  const bench = new Bench();
  bench.room();
  bench.now += 30 * SECOND;
  t.is(bench.take(piece({ from: 0, bytes: 1_000 })), 'inner_fragments_share');
  bench.now += 2 * SECOND;
  t.is(bench.take(piece6({ from: 0, bytes: 1_000 })), 'none');
  t.is(bench.room(), ROOM - 1);
  bench.now += 59 * SECOND;
  t.is(bench.room(), ROOM - 1, 'the one over IPv6 is still there');
  bench.now += 62 * SECOND;
  t.is(bench.room(), ROOM);
});

const orders: readonly [title: string, order: number[]][] = [
  ['in order', [0, 1, 2, 3]],
  ['backwards', [3, 2, 1, 0]],
  ['the last one first', [3, 0, 1, 2]],
  ['two of them swapped', [0, 2, 1, 3]],
  ['the last two swapped', [0, 1, 3, 2]],
  ['the first two swapped', [1, 0, 2, 3]],
];

for (const [title, order] of orders) {
  for (const make of [piece, piece6]) {
    test(`complete datagrams take no share: ${title}, ${make.name}`, (t) => {
      const bench = new Bench();
      for (let identification = 0; identification < 1_000; identification++)
        for (const i of order) {
          const fields = { identification, from: i * 1_000, isLast: i === 3 };
          t.is(bench.take(make({ ...fields, bytes: i === 3 ? 500 : 1_000 })), 'none');
        }
      t.is(bench.room(), ROOM);
    });
  }
}

const pretences: readonly [title: string, parts: Uint8Array[]][] = [
  ['the same part twice', [piece({ from: 0, bytes: 1_000 }), piece({ from: 0, bytes: 1_000 })]],
  ['a gap', [piece({ from: 0, bytes: 1_000 }), piece({ from: 1_008, bytes: 100, isLast: true })]],
  [
    'parts that overlap',
    [piece({ from: 0, bytes: 1_000 }), piece({ from: 800, bytes: 200, isLast: true })],
  ],
  [
    'two ends',
    [
      piece({ from: 2_000, bytes: 8, isLast: true }),
      piece({ from: 0, bytes: 1_000 }),
      piece({ from: 1_000, bytes: 8, isLast: true }),
    ],
  ],
  [
    'an end of another datagram',
    [
      piece({ from: 0, bytes: 1_000 }),
      piece({ from: 1_000, bytes: 8, isLast: true, identification: 8 }),
      piece({ from: 1_000, bytes: 8, isLast: true, destination: '192.0.2.2' }),
      piece({ from: 1_000, bytes: 8, isLast: true, protocol: 6 }),
    ],
  ],
  [
    'an end of another host behind the device',
    [
      piece({ from: 0, bytes: 1_000 }),
      piece({ from: 1_000, bytes: 8, isLast: true, source: '192.168.7.2' }),
    ],
  ],
  [
    'an end of another host behind the device, over IPv6',
    [
      piece6({ from: 0, bytes: 1_000 }),
      piece6({ from: 1_000, bytes: 8, isLast: true, source: 'fd07::2' }),
    ],
  ],
  [
    'options that the kernel may refuse before it looks',
    [
      piece6({ from: 0, bytes: 1_000 }),
      ip({
        source: 'fd00::2',
        destination: '2001:db8::1',
        protocol: 17,
        payload: new Uint8Array(8),
        extensions: [extension(0), fragmentHeader(125, false, 7)],
      }),
    ],
  ],
];

for (const [title, parts] of pretences) {
  test(`${title} makes no datagram complete`, (t) => {
    const bench = new Bench();
    for (const part of parts) t.is(bench.take(part), 'none');
    t.true(bench.room() < ROOM);
  });
}

test('over IPv6 the protocol of a later fragment does not count', (t) => {
  const bench = new Bench();
  t.is(bench.take(piece6({ from: 0, bytes: 1_000, protocol: 60 })), 'none');
  t.is(bench.take(piece6({ from: 1_000, bytes: 8, isLast: true })), 'none');
  t.is(bench.room(), ROOM);
});

test('fragments that no kernel accepts are refused', (t) => {
  const bench = new Bench();
  const broken = piece({ from: 1_000, bytes: 8, isLast: true });
  broken[10]! ^= 1;
  for (const part of [
    broken,
    piece({ from: 0, bytes: 1_001 }),
    piece({ from: 8, bytes: 0, isLast: true }),
    piece({ from: 65_528, bytes: 8, isLast: true }),
    piece6({ from: 0, bytes: 1_001 }),
    piece6({ from: 65_528, bytes: 8, isLast: true }),
  ])
    t.is(bench.take(part), 'inner_fragment_malformed');
  t.is(bench.room(), ROOM);
});

test('when the limit of watched datagrams is reached, more are refused', (t) => {
  const bench = new Bench();
  for (let i = 0; i < MAX_UNFINISHED; i++)
    t.is(bench.take(piece({ from: 0, bytes: 8, identification: i }), i >> 7), 'none');
  t.is(bench.take(piece({ from: 0, bytes: 8 }), 63), 'inner_fragments_full');
  t.is(bench.take(piece({ from: 8, bytes: 8, isLast: true, identification: 0 })), 'none');
  t.is(bench.take(piece({ from: 0, bytes: 8 }), 63), 'none', 'one of them is complete');
  bench.now += 31 * SECOND;
  t.is(bench.room(), ROOM);
});

test('watching allocates nothing', (t) => {
  const bench = new Bench();
  const view = viewOf(piece({ from: 0, bytes: 8 }));
  const packet = new InnerPacket();
  parseInner(view, 0, view.byteLength, packet);
  let now = 2_000.5;
  t.true(
    bytesPerCall(() => {
      now += 1_000;
      packet.identification = (packet.identification + 1) & 0xffff;
      bench.table.begin(now);
      if (bench.table.judge(view, 0, packet, 0) !== reasons.none) throw new Error('refused');
      bench.table.take(view, 0, packet, 0);
    }) < 24,
  );
});
