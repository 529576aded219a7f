// From the tunnel to the TUN: which packets leave joined as one, and which never do. Joined packets
// are cut again as a kernel would cut them, and must give exactly the packets that were put in, in
// order.

import test from 'ava';
import fc from 'fast-check';
import { SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../../../dataplane/constants.ts';
import { ERROR_TUN_WRITE, LENGTH, MARK_DROP, MARK_TUN } from '../../../dataplane/contract.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import {
  NativeBench,
  type NativeBenchOptions,
  openNative,
  place,
  markOf,
} from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import {
  checksum,
  counting,
  cut,
  DATA_VALID,
  extension,
  fragmentHeader,
  GSO_TCPV4,
  GSO_TCPV6,
  GSO_UDP_L4,
  ip,
  NEEDS_CSUM,
  readVirtioHeader,
  tcp,
  type TcpFields,
  type TunMessage,
  udp,
  type UdpFields,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const ACK = 0x10;
const PSH = 0x08;

const v4 = { source: '192.0.2.7', destination: '10.0.0.2' };
const v6 = { source: '2001:db8::7', destination: 'fd00::2' };
const timestamps = new Uint8Array([1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4]);

/** What comes out at the TUN when these packets are written in one batch. */
function write(
  native: Addon,
  packets: readonly Uint8Array[],
  options: NativeBenchOptions = {},
): TunMessage[] {
  const bench = new NativeBench(native, options);
  try {
    return writeWith(bench, packets);
  } finally {
    bench.close();
  }
}

function writeWith(bench: NativeBench, packets: readonly Uint8Array[]): TunMessage[] {
  const { datagrams } = bench.engine;
  datagrams.count = 0;
  // Small packets share a slot, as the datagrams of one message do.
  const perSlot = packets.length > 64 ? 64 : 1;
  for (const [i, packet] of packets.entries()) {
    const offset =
      Math.floor(i / perSlot) * SLOT_BYTES + (i % perSlot) * 1_024 + SLOT_HEADROOM_BYTES;
    place(datagrams, i, packet, { mark: MARK_TUN, offset });
  }
  bench.engine.writeTun(datagrams);
  return bench.drain();
}

/** Two segments of one flow; the second follows the first, except for what `second` says. */
function pairOf(
  common: Partial<TcpFields>,
  second: Partial<TcpFields> = {},
  sizes: readonly [number, number] = [1_000, 1_000],
): Uint8Array[] {
  const fields: TcpFields = { ...v4, flags: ACK, sequence: 7_000, identification: 9, ...common };
  return [
    tcp({ ...fields, data: counting(sizes[0], 1) }),
    tcp({
      ...fields,
      sequence: (fields.sequence! + sizes[0]) >>> 0,
      identification: 10,
      data: counting(sizes[1], 2),
      ...second,
    }),
  ];
}

function udpPair(
  common: Partial<UdpFields>,
  second: Partial<UdpFields> = {},
  sizes: readonly [number, number] = [800, 800],
): Uint8Array[] {
  const fields: UdpFields = { ...v4, identification: 9, ...common };
  return [
    udp({ ...fields, data: counting(sizes[0], 1) }),
    udp({ ...fields, identification: 10, data: counting(sizes[1], 2), ...second }),
  ];
}

// ---- what joins ------------------------------------------------------------------------------

const joining: readonly [title: string, packets: Uint8Array[], gsoType: number][] = [
  ['TCP over IPv4', pairOf({}), GSO_TCPV4],
  ['TCP over IPv6', pairOf(v6), GSO_TCPV6],
  ['a shorter second segment', pairOf({}, {}, [1_000, 1]), GSO_TCPV4],
  ['odd sizes', pairOf({}, {}, [333, 111]), GSO_TCPV4],
  ['PSH on the second segment', pairOf({}, { flags: ACK | PSH }), GSO_TCPV4],
  ['equal TCP options', pairOf({ options: timestamps }), GSO_TCPV4],
  ['equal TCP options over IPv6', pairOf({ ...v6, options: timestamps }), GSO_TCPV6],
  ['a sequence that wraps', pairOf({ sequence: 0xffffff00 }), GSO_TCPV4],
  ['equal class and hop limit', pairOf({ trafficClass: 3, hopLimit: 1 }), GSO_TCPV4],
  ['equal class and flow label', pairOf({ ...v6, trafficClass: 3, flowLabel: 0x12345 }), GSO_TCPV6],
  ['fragmentation allowed in both', pairOf({ fragment: 0 }), GSO_TCPV4],
  ['UDP over IPv4', udpPair({}), GSO_UDP_L4],
  ['UDP over IPv6', udpPair(v6), GSO_UDP_L4],
  ['a shorter second datagram', udpPair({}, {}, [800, 3]), GSO_UDP_L4],
];

for (const [title, packets, gsoType] of joining) {
  nativeTest(`${title}: two leave as one, and are two again behind the TUN`, (t, native) => {
    const messages = write(native, packets);
    t.is(messages.length, 1);
    t.deepEqual(messages.flatMap(cut), packets);
    const header = readVirtioHeader(messages[0]!.header);
    t.is(header.flags, NEEDS_CSUM);
    t.is(header.gsoType, gsoType);
  });
}

nativeTest('a whole stream leaves as few super-packets as can be', (t, native) => {
  const packets = Array.from({ length: 90 }, (_, i) =>
    tcp({ ...v4, sequence: 1 + i * 700, identification: i, data: counting(700, i) }),
  );
  const messages = write(native, packets);
  t.deepEqual(messages.flatMap(cut), packets);
  t.is(messages.length, 2);
});

nativeTest('no super-packet is longer than an IP packet may be', (t, native) => {
  for (const addresses of [v4, v6]) {
    const packets = Array.from({ length: 50 }, (_, i) =>
      tcp({ ...addresses, sequence: 1 + i * 1_380, identification: i, data: counting(1_380, i) }),
    );
    const messages = write(native, packets);
    t.deepEqual(messages.flatMap(cut), packets);
    t.true(messages.every(({ packet }) => packet.length <= 65_535));
    t.is(messages.length, 2);
  }
});

nativeTest('the headers of a super-packet say what it is', (t, native) => {
  const [{ header, packet }] = write(native, pairOf({ options: timestamps })) as [TunMessage];
  t.deepEqual(readVirtioHeader(header), {
    flags: NEEDS_CSUM,
    gsoType: GSO_TCPV4,
    headerBytes: 52,
    gsoSize: 1_000,
    checksumStart: 20,
    checksumOffset: 16,
  });
  t.is(viewOf(packet).getUint16(2), packet.length);
  t.is(checksum(packet.subarray(0, 20)), 0);
});

nativeTest(
  'the checksum of a super-packet is complete once the kernel has summed it',
  (t, native) => {
    for (const packets of [pairOf({}), pairOf(v6), udpPair({}), udpPair(v6)]) {
      const [message] = write(native, packets) as [TunMessage];
      const header = readVirtioHeader(message.header);
      const [whole] = cut({ ...message, header: asOnePacket(message.header) }) as [Uint8Array];
      const addresses = whole[0]! >> 4 === 4 ? whole.subarray(12, 20) : whole.subarray(8, 40);
      const tail = new Uint8Array(8);
      viewOf(tail).setUint32(0, whole.length - header.checksumStart);
      viewOf(tail).setUint32(4, header.gsoType === GSO_UDP_L4 ? 17 : 6);
      t.is(checksum(addresses, tail, whole.subarray(header.checksumStart)), 0);
    }
  },
);

/** A header that says that nothing is to be cut. */
function asOnePacket(header: Uint8Array): Uint8Array {
  const copy = header.slice();
  copy[1] = 0;
  return copy;
}

nativeTest('a packet alone whose checksum was verified says so to the kernel', (t, native) => {
  for (const packet of [tcp({ ...v4, data: 'x' }), udp({ ...v6, data: 'x' })]) {
    const [message] = write(native, [packet]) as [TunMessage];
    t.is(readVirtioHeader(message.header).flags, DATA_VALID);
    t.is(readVirtioHeader(message.header).gsoType, 0);
    t.deepEqual(message.packet, packet);
  }
});

nativeTest(
  'a single packet with a wrong checksum is written, and the kernel refuses it',
  (t, native) => {
    const packet = tcp({ ...v4, data: 'x', checksum: 1 });
    t.deepEqual(write(native, [packet]), [{ header: new Uint8Array(10), packet }]);
  },
);

// ---- what does not ---------------------------------------------------------------------------

const wrongIpv4Checksum = (packets: Uint8Array[]): Uint8Array[] => {
  packets[1]![10]! ^= 1;
  return packets;
};

const separate: readonly [title: string, packets: Uint8Array[], options?: NativeBenchOptions][] = [
  ['another source', pairOf({}, { source: '192.0.2.8' })],
  ['another destination', pairOf({}, { destination: '10.0.0.3' })],
  ['another source over IPv6', pairOf(v6, { source: '2001:db8::8' })],
  ['another destination over IPv6', pairOf(v6, { destination: 'fd00::3' })],
  ['another source port', pairOf({}, { sourcePort: 4_001 })],
  ['another destination port', pairOf({}, { destinationPort: 5_001 })],
  ['another class', pairOf({}, { trafficClass: 1 })],
  ['another ECN mark', pairOf({ trafficClass: 2 }, { trafficClass: 3 })],
  ['another class of IPv6', pairOf(v6, { trafficClass: 0x10 })],
  ['another ECN mark of IPv6', pairOf({ ...v6, trafficClass: 2 }, { trafficClass: 3 })],
  ['another flow label', pairOf(v6, { flowLabel: 1 })],
  ['another hop limit', pairOf({}, { hopLimit: 63 })],
  ['another hop limit of IPv6', pairOf(v6, { hopLimit: 63 })],
  ["another don't-fragment flag", pairOf({}, { fragment: 0 })],
  ['the reserved flag', pairOf({}, { fragment: 0xc000 })],
  ['another acknowledgement', pairOf({}, { acknowledgement: 2 })],
  ['another window', pairOf({}, { window: 999 })],
  [
    'other TCP options',
    pairOf({ options: timestamps }, { options: timestamps.map((byte) => byte & 3) }),
  ],
  ['more TCP options', pairOf({}, { options: timestamps })],
  ['fewer TCP options', pairOf({ options: timestamps }, { options: new Uint8Array(0) })],
  ['a gap in the sequence', pairOf({}, { sequence: 8_001 })],
  ['a segment that overlaps', pairOf({}, { sequence: 7_999 })],
  ['the same segment again', pairOf({}, { sequence: 7_000 })],
  ['an earlier segment', pairOf({}, { sequence: 6_000 })],
  ['a larger second segment', pairOf({}, {}, [500, 501])],
  ['SYN on the second', pairOf({}, { flags: ACK | 0x02 })],
  ['FIN on the second', pairOf({}, { flags: ACK | 0x01 })],
  ['RST on the second', pairOf({}, { flags: ACK | 0x04 })],
  ['URG on the second', pairOf({}, { flags: ACK | 0x20 })],
  ['ECE on the second', pairOf({}, { flags: ACK | 0x40 })],
  ['CWR on the second', pairOf({}, { flags: ACK | 0x80 })],
  ['no ACK on the second', pairOf({}, { flags: 0 })],
  ['SYN on the first', pairOf({ flags: ACK | 0x02 }, { flags: ACK })],
  ['FIN on the first', pairOf({ flags: ACK | 0x01 }, { flags: ACK })],
  ['ECE on both', pairOf({ flags: ACK | 0x40 })],
  ['PSH on the first', pairOf({ flags: ACK | PSH }, { flags: ACK })],
  ['PSH on both', pairOf({ flags: ACK | PSH })],
  ['no payload in the second', pairOf({}, {}, [1_000, 0])],
  ['no payload in the first', pairOf({}, {}, [0, 1_000])],
  ['no payload in either', pairOf({}, {}, [0, 0])],
  ['a wrong TCP checksum in the second', pairOf({}, { checksum: 1 })],
  ['a wrong TCP checksum in the first', pairOf({ checksum: 1 }, { sequence: 8_000 })],
  ['a wrong IPv4 checksum in the second', wrongIpv4Checksum(pairOf({}))],
  ['a wrong TCP checksum over IPv6', pairOf(v6, { checksum: 1 })],
  ['IPv4 options in the second', pairOf({}, { ipOptions: new Uint8Array(4).fill(1) })],
  ['equal IPv4 options in both', pairOf({ ipOptions: new Uint8Array(4).fill(1) })],
  ['equal extension headers in both', pairOf({ ...v6, extensions: [extension(60)] })],
  ['atomic fragments', pairOf({ ...v6, extensions: [fragmentHeader(0, false)] })],
  ['first fragments', pairOf({ fragment: 0x2000 })],
  ['first fragments over IPv6', pairOf({ ...v6, extensions: [fragmentHeader(0, true)] })],
  ['UDP to another port', udpPair({}, { destinationPort: 1 })],
  ['UDP from another port', udpPair({}, { sourcePort: 1 })],
  ['UDP with another hop limit', udpPair({}, { hopLimit: 1 })],
  ['UDP with another class', udpPair({}, { trafficClass: 4 })],
  ['UDP with another class of IPv6', udpPair(v6, { trafficClass: 4 })],
  ['UDP with another flow label', udpPair(v6, { flowLabel: 4 })],
  ['UDP, the second larger', udpPair({}, {}, [500, 501])],
  ['UDP, the second empty', udpPair({}, {}, [500, 0])],
  ['UDP, the first empty', udpPair({}, {}, [0, 0])],
  ['UDP without checksums', udpPair({ checksum: 0 })],
  ['UDP over IPv6 without checksums', udpPair({ ...v6, checksum: 0 })],
  ['UDP, the second without a checksum', udpPair({}, { checksum: 0 })],
  ['UDP with a wrong checksum', udpPair({}, { checksum: 7 })],
  ['UDP fragments', udpPair({ fragment: 0x2000 })],
  ['UDP where the kernel takes no joined datagrams', udpPair({}), { tunTakesUdp: false }],
  ['TCP and UDP with the same ports', [pairOf({})[0]!, udpPair({})[0]!]],
  [
    'other protocols',
    [
      ip({ ...v4, protocol: 47, payload: counting(60) }),
      ip({ ...v4, protocol: 47, payload: counting(60) }),
    ],
  ],
];

for (const [title, packets, options] of separate) {
  nativeTest(`${title}: two leave as two, unchanged and in order`, (t, native) => {
    const messages = write(native, packets, options);
    t.deepEqual(
      messages.map(({ packet }) => packet),
      packets,
    );
    t.true(messages.every(({ header }) => readVirtioHeader(header).gsoType === 0));
  });
}

nativeTest('TCP is joined where the kernel takes no joined datagrams', (t, native) => {
  t.is(write(native, pairOf({}), { tunTakesUdp: false }).length, 1);
});

// ---- order -----------------------------------------------------------------------------------

/** The packets of a batch by number, in the order in which the kernel has them. */
function orderOf(native: Addon, packets: readonly Uint8Array[]): number[] {
  const out = write(native, packets).flatMap(cut);
  return out.map((packet) => packets.findIndex((one) => Buffer.compare(one, packet) === 0));
}

/** Segments of one flow with these payload sizes. */
function streamOf(sizes: readonly number[], fields: Partial<TcpFields> = {}): Uint8Array[] {
  let sequence = 1;
  return sizes.map((size, i) => {
    const packet = tcp({
      ...v4,
      sequence,
      identification: i,
      data: counting(size, i),
      ...fields,
    });
    sequence += size;
    return packet;
  });
}

nativeTest('PSH ends a super-packet, and the next begins', (t, native) => {
  const packets = streamOf([100, 100, 100, 100, 100]);
  const pushed = tcp({
    ...v4,
    sequence: 101,
    identification: 1,
    flags: ACK | PSH,
    data: counting(100, 1),
  });
  const stream = [packets[0]!, pushed, ...packets.slice(2)];
  const messages = write(native, stream);
  t.deepEqual(messages.flatMap(cut), stream);
  t.deepEqual(
    messages.map((message) => cut(message).length),
    [2, 3],
  );
});

nativeTest('a short segment ends a super-packet', (t, native) => {
  const stream = streamOf([100, 100, 40, 100, 100]);
  const messages = write(native, stream);
  t.deepEqual(messages.flatMap(cut), stream);
  t.deepEqual(
    messages.map((message) => cut(message).length),
    [3, 2],
  );
});

nativeTest('flows that take turns are joined each for itself', (t, native) => {
  const [a, b] = [streamOf([100, 100, 100]), streamOf([90, 90, 90], { sourcePort: 1 })];
  const messages = write(native, [a[0]!, b[0]!, a[1]!, b[1]!, a[2]!, b[2]!]);
  t.deepEqual(messages.map(cut), [a, b]);
});

nativeTest(
  'an acknowledgement between two segments of its flow stays between them',
  (t, native) => {
    const [first, second] = streamOf([100, 100]) as [Uint8Array, Uint8Array];
    const pure = tcp({ ...v4, sequence: 101, acknowledgement: 50 });
    t.deepEqual(orderOf(native, [first, pure, second]), [0, 1, 2]);
  },
);

nativeTest('a FIN is not overtaken by what comes after it', (t, native) => {
  const [first, second] = streamOf([100, 100]) as [Uint8Array, Uint8Array];
  const fin = tcp({ ...v4, sequence: 101, flags: ACK | 1 });
  t.deepEqual(orderOf(native, [first, fin, second]), [0, 1, 2]);
});

const middles: readonly [title: string, packet: Uint8Array][] = [
  ['without a checksum', udp({ ...v4, identification: 10, checksum: 0, data: counting(800, 2) })],
  [
    'with IPv4 options',
    udp({
      ...v4,
      identification: 10,
      ipOptions: new Uint8Array(4).fill(1),
      data: counting(800, 2),
    }),
  ],
  ['in fragments', udp({ ...v4, identification: 10, fragment: 0x2000, data: counting(800, 2) })],
];

for (const [title, middle] of middles) {
  nativeTest(`a datagram ${title} is not overtaken by the next one of its flow`, (t, native) => {
    const [first, last] = udpPair({}) as [Uint8Array, Uint8Array];
    t.deepEqual(orderOf(native, [first, middle, last]), [0, 1, 2]);
  });
}

nativeTest('a datagram with an extension header is not overtaken either', (t, native) => {
  const [first, last] = udpPair(v6) as [Uint8Array, Uint8Array];
  const middle = udp({ ...v6, extensions: [extension(60)], data: counting(800, 2) });
  t.deepEqual(orderOf(native, [first, middle, last]), [0, 1, 2]);
});

nativeTest('more flows than the table holds lose nothing and keep their order', (t, native) => {
  const flows = Array.from({ length: 600 }, (_, i) =>
    streamOf([20, 20, 20], { sourcePort: 1_000 + i }),
  );
  const bench = new NativeBench(native);
  try {
    const packets = [0, 1, 2].flatMap((turn) => flows.map((flow) => flow[turn]!));
    const messages: TunMessage[] = [];
    // The memory of the TUN is short: a few hundred packets at a time.
    for (let at = 0; at < packets.length; at += 150)
      messages.push(...writeWith(bench, packets.slice(at, at + 150)));
    t.deepEqual(byFlow(messages.flatMap(cut)), byFlow(packets));
  } finally {
    bench.close();
  }
});

/** Packets by their addresses, protocol and ports, each list in order. */
function byFlow(packets: readonly Uint8Array[]): Map<string, string[]> {
  const flows = new Map<string, string[]>();
  for (const packet of packets) {
    const upper = packet[0]! >> 4 === 4 ? (packet[0]! & 15) * 4 : 40;
    const addresses = packet.subarray(packet[0]! >> 4 === 4 ? 12 : 8, upper);
    const name = Buffer.concat([addresses, packet.subarray(upper, upper + 4)]).toString('hex');
    const list = flows.get(name) ?? [];
    list.push(Buffer.from(packet).toString('hex'));
    flows.set(name, list);
  }
  return new Map([...flows].sort(([a], [b]) => a.localeCompare(b)));
}

/** A packet of one of a few flows, which it continues mostly, but not always. */
const step = fc.record({
  flow: fc.nat(4),
  size: fc.constantFrom(100, 100, 100, 100, 60, 0, 101),
  flags: fc.constantFrom(ACK, ACK, ACK, ACK, ACK | PSH, ACK | 1, ACK | 4),
  skip: fc.constantFrom(0, 0, 0, 0, 0, 1, -100),
  window: fc.constantFrom(1_000, 1_000, 1_000, 1_001),
});

// docs/bugs-of-others.md#bug-17: order of each peer.
nativeTest('any mixture of flows comes out complete, each flow in order', (t, native) => {
  const bench = new NativeBench(native);
  let joined = 0;
  try {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const sequences = [1_000, 2_000, 3_000, 4_000, 5_000];
        const identifications = [0, 0, 0, 0, 0];
        const packets = steps.map(({ flow, size, flags, skip, window }) => {
          const addresses = flow % 2 === 0 ? v4 : v6;
          const common = {
            ...addresses,
            sourcePort: flow,
            identification: identifications[flow]!++,
          };
          if (flow === 4) return udp({ ...common, data: counting(size) });
          sequences[flow]! += skip;
          const sequence = sequences[flow]!;
          sequences[flow]! += size;
          return tcp({ ...common, flags, sequence, window, data: counting(size, sequence) });
        });
        const messages = writeWith(bench, packets);
        joined += packets.length - messages.length;
        const out = messages.flatMap(cut);
        return isSame(byFlow(withoutIds(out)), byFlow(withoutIds(packets)));
      }),
      { ...SEEDED, numRuns: 300 },
    );
  } finally {
    bench.close();
  }
  t.true(joined > 1_000, `${joined}`);
});

function isSame(a: Map<string, string[]>, b: Map<string, string[]>): boolean {
  return JSON.stringify([...a]) === JSON.stringify([...b]);
}

/** The kernel sets new identifications; these packets may not be fragmented anyway. */
function withoutIds(packets: readonly Uint8Array[]): Uint8Array[] {
  return packets.map((packet) => {
    if (packet[0]! >> 4 !== 4) return packet;
    const copy = packet.slice();
    copy.fill(0, 4, 6);
    copy.fill(0, 10, 12);
    return copy;
  });
}

// ---- errors ----------------------------------------------------------------------------------

nativeTest('what is written is done with, joined or not', (t, native) => {
  const bench = new NativeBench(native);
  try {
    writeWith(bench, [...pairOf({}), ...udpPair({ checksum: 0 })]);
    for (let i = 0; i < 4; i++) t.is(markOf(bench.engine.datagrams, i), MARK_DROP);
    bench.engine.writeTun(bench.engine.datagrams);
    t.deepEqual(bench.drain(), []);
  } finally {
    bench.close();
  }
});

nativeTest('a packet shorter than an IPv4 header is not written', (t, native) => {
  t.deepEqual(write(native, [counting(19, 0x45)]), []);
});

nativeTest('a packet longer than a length can say is not written', (t, native) => {
  for (const [length, wanted] of [
    [65_575, 1],
    [65_576, 0],
  ] as const) {
    const bench = new NativeBench(native);
    try {
      const { packets } = bench.engine;
      packets.count = 0;
      place(packets, 0, counting(1_000, 0x60), { mark: MARK_TUN });
      packets.descriptors[LENGTH] = length;
      bench.engine.writeTun(packets);
      t.is(bench.drain().length, wanted, `${length}`);
    } finally {
      bench.close();
    }
  }
});

nativeTest(
  'packets that a TUN refuses are counted one by one, and nothing waits for it',
  (t, native) => {
    const engine = openNative(native, {
      udp4: -1,
      udp6: -1,
      wake: -1,
      tun: 1_000_000,
      tunTakesUdp: true,
      mtu: 1_420,
    });
    for (const [i, packet] of [...udpPair({ checksum: 0 }), ...pairOf({})].entries())
      place(engine.datagrams, i, packet, { mark: MARK_TUN });
    engine.writeTun(engine.datagrams);
    engine.close();
    // The last two would have been one.
    t.is(engine.errors[ERROR_TUN_WRITE], 3);
  },
);

nativeTest('a full TUN loses packets, and counts them', (t, native) => {
  const bench = new NativeBench(native);
  try {
    const packets = Array.from({ length: 60 }, (_, i) =>
      ip({ ...v4, protocol: 50, payload: counting(60_000, i) }),
    );
    const arrived = writeWith(bench, packets).length;
    t.true(arrived > 0 && arrived < 60);
    t.is(bench.engine.errors[ERROR_TUN_WRITE], 60 - arrived);
  } finally {
    bench.close();
  }
});

test('the kernel of the test does not change a packet that needs nothing', (t) => {
  const packet = udp(v4);
  t.deepEqual(cut({ header: new Uint8Array(10), packet }), [packet]);
});
