// The way out: what the addon makes of super-packets and of checksums that were left to it. Packets
// go in at the TUN as a kernel hands them out, and come out opened at another engine.

import test, { type ExecutionContext } from 'ava';
import {
  DATAGRAMS,
  LENGTH,
  OFFSET,
  MARK_SEAL,
  MARK_SEAL_INVALID,
  MARK_SEALED,
} from '../../../dataplane/contract.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { place, markOf } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import {
  checksum,
  counting,
  cut,
  extension,
  GSO_ECN,
  GSO_TCPV4,
  GSO_TCPV6,
  join,
  NEEDS_CSUM,
  tcp,
  type TunMessage,
  udp,
  viewOf,
  virtioHeader,
} from '../../support/dataplane/packets.ts';
import {
  ACK,
  full,
  opened,
  sealAll,
  segment,
  tcpSegments,
  udpDatagrams,
  v4,
  withBench,
} from '../../support/dataplane/sealing.ts';

const PSH = 0x08;
const FIN = 0x01;
const CWR = 0x80;
const ECE = 0x40;
const v6 = { source: '2001:db8::7', destination: 'fd00::2' };
const timestamps = new Uint8Array([1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4]);

function assertSealed(
  t: ExecutionContext,
  native: Addon,
  message: TunMessage,
  wanted: Uint8Array[],
): void {
  withBench(native, { mtu: 1_420 }, (bench, key) => {
    bench.feed(message.packet, message.header);
    sealAll(bench, key);
    t.is(markOf(bench.engine.packets, 0), MARK_SEALED);
    const { descriptors } = bench.engine.packets;
    const [bytes, count] = [descriptors[LENGTH], descriptors[DATAGRAMS]];
    const datagrams = bench.datagrams();
    t.deepEqual(opened(bench, datagrams), wanted);
    t.is(count, wanted.length);
    t.is(
      bytes,
      datagrams.reduce((sum, { length }) => sum + length, 0),
    );
    for (const [i, datagram] of datagrams.entries())
      if (viewOf(datagram).getBigUint64(8, true) !== BigInt(i)) t.fail(`counter ${i}`);
  });
}

// ---- super-packets ---------------------------------------------------------------------------

const superPackets: readonly [title: string, segments: Uint8Array[], gsoType?: number][] = [
  ['TCP over IPv4', tcpSegments(full(5, 1_380))],
  ['TCP over IPv6', tcpSegments(full(5, 1_360), v6)],
  ['a last segment that is shorter', tcpSegments([1_380, 1_380, 7])],
  ['a last segment of one byte', tcpSegments([100, 100, 1])],
  ['odd sizes', tcpSegments([333, 333, 333, 111])],
  ['odd sizes over IPv6', tcpSegments([333, 333, 333, 111], v6)],
  ['segments smaller than their header', tcpSegments(full(40, 8))],
  ['segments of one byte', tcpSegments(full(30, 1))],
  ['segments of one byte over IPv6', tcpSegments(full(30, 1), v6)],
  ['sizes that need every length of padding', tcpSegments(full(20, 21))],
  ['one segment only', tcpSegments([1_000])],
  ['TCP timestamps', tcpSegments(full(4, 1_368), { options: timestamps })],
  ['TCP timestamps over IPv6', tcpSegments(full(4, 1_348), { ...v6, options: timestamps })],
  ['the most TCP options', tcpSegments(full(4, 900), { options: new Uint8Array(40).fill(1) })],
  ['IPv4 options', tcpSegments(full(4, 900), { ipOptions: new Uint8Array(8).fill(1) })],
  [
    'the most IPv4 and TCP options',
    tcpSegments(full(4, 900), {
      ipOptions: new Uint8Array(40).fill(1),
      options: new Uint8Array(40).fill(1),
    }),
  ],
  [
    'an IPv6 extension header',
    tcpSegments(full(4, 900), { ...v6, extensions: [extension(60, 1)] }),
  ],
  ['PSH on the last segment', tcpSegments(full(4, 900), {}, { last: PSH })],
  ['FIN and PSH on the last segment', tcpSegments(full(4, 900), {}, { last: FIN | PSH })],
  ['FIN over IPv6', tcpSegments(full(4, 900), v6, { last: FIN })],
  ['FIN on a single segment', tcpSegments([900], {}, { last: FIN | PSH })],
  ['ECE on every segment', tcpSegments(full(3, 900), { flags: ACK | ECE })],
  ['CWR on the first segment', tcpSegments(full(4, 900), {}, { first: CWR }), GSO_TCPV4 | GSO_ECN],
  ['CWR over IPv6', tcpSegments(full(4, 900), v6, { first: CWR }), GSO_TCPV6 | GSO_ECN],
  ['sequence numbers that wrap', tcpSegments(full(4, 1_000), { sequence: 0xffffff00 })],
  ['identifications that wrap', tcpSegments(full(4, 1_000), { identification: 0xfffe })],
  [
    'class, hop limit and window',
    tcpSegments(full(3, 1_000), { trafficClass: 0x2d, hopLimit: 3, window: 65_535 }),
  ],
  [
    'class and flow label of IPv6',
    tcpSegments(full(3, 1_000), { ...v6, trafficClass: 0xb8, flowLabel: 0xabcde }),
  ],
  ['fragmentation allowed', tcpSegments(full(3, 1_000), { fragment: 0 })],
  ['the largest super-packet', tcpSegments([...full(47, 1_380), 600])],
  ['more segments than one train holds', tcpSegments(full(130, 500))],
  ['UDP over IPv4', udpDatagrams(full(6, 1_200))],
  ['UDP over IPv6', udpDatagrams(full(6, 1_200), v6)],
  ['UDP with a shorter last datagram', udpDatagrams([1_200, 1_200, 3])],
  ['UDP of odd sizes', udpDatagrams([77, 77, 77, 1])],
  ['UDP of odd sizes over IPv6', udpDatagrams([77, 77, 77, 1], v6)],
];

for (const [title, segments, gsoType] of superPackets) {
  const message = join(segments, gsoType === undefined ? {} : { gsoType });

  test(`the test's own kernel cuts ${title} as wanted`, (t) => {
    t.deepEqual(cut(message), segments);
  });

  nativeTest(`${title}: every segment is as if it had been sent alone`, (t, native) => {
    assertSealed(t, native, message, segments);
  });
}

for (const headerLength of [0, 1, 54, 1_000, 65_535]) {
  nativeTest(`a hdr_len of ${headerLength} is not trusted`, (t, native) => {
    const segments = tcpSegments(full(3, 1_000), { options: timestamps });
    assertSealed(t, native, join(segments, { headerBytes: headerLength }), segments);
  });
}

nativeTest('the checksum field of a super-packet may hold anything', (t, native) => {
  const segments = tcpSegments(full(3, 1_000));
  const message = join(segments);
  viewOf(message.packet).setUint16(20 + 16, 0xdead);
  assertSealed(t, native, message, segments);
});

nativeTest('a UDP checksum that comes to zero becomes 0xffff in a segment', (t, native) => {
  const segments = [zeroSum(v4), zeroSum(v4)];
  viewOf(segments[1]!).setUint16(4, 1);
  viewOf(segments[1]!).setUint16(10, 0);
  viewOf(segments[1]!).setUint16(10, checksum(segments[1]!.subarray(0, 20)));
  assertSealed(t, native, join(segments), segments);
});

/** A UDP datagram whose checksum comes to zero and is therefore written 0xffff. */
function zeroSum(addresses: { source: string; destination: string }): Uint8Array {
  const upper = addresses.source.includes(':') ? 40 : 20;
  const sumOf = (word: number): number => {
    const data = new Uint8Array(20);
    viewOf(data).setUint16(0, word);
    return viewOf(udp({ ...addresses, data })).getUint16(upper + 6);
  };
  // The sum with 0 there, added to the word, gives a sum of zero.
  const data = new Uint8Array(20);
  viewOf(data).setUint16(0, sumOf(0));
  const packet = udp({ ...addresses, data });
  if (viewOf(packet).getUint16(upper + 6) !== 0xffff) throw new Error('not zero');
  return packet;
}

// ---- checksums that were left to us ----------------------------------------------------------

const partial: readonly [title: string, packet: Uint8Array, upper: number, offset: number][] = [
  ['TCP', tcp({ ...v4, data: counting(101) }), 20, 16],
  ['TCP over IPv6', tcp({ ...v6, data: counting(101) }), 40, 16],
  ['UDP', udp({ ...v4, data: counting(101) }), 20, 6],
  ['UDP over IPv6', udp({ ...v6, data: counting(100) }), 40, 6],
  ['UDP whose sum is zero', zeroSum(v4), 20, 6],
  ['UDP over IPv6 whose sum is zero', zeroSum(v6), 40, 6],
  ['TCP behind IPv4 options', tcp({ ...v4, ipOptions: new Uint8Array(12).fill(1) }), 32, 16],
];

for (const [title, packet, upper, offset] of partial) {
  nativeTest(`${title}: a checksum that was left to the device is completed`, (t, native) => {
    const isTcp = offset === 16;
    const unfinished = packet.slice();
    const addresses = packet[0]! >> 4 === 4 ? packet.slice(12, 20) : packet.slice(8, 40);
    const length = new Uint8Array(8);
    viewOf(length).setUint32(0, packet.length - upper);
    viewOf(length).setUint32(4, isTcp ? 6 : 17);
    viewOf(unfinished).setUint16(upper + offset, ~checksum(addresses, length) & 0xffff);
    const header = virtioHeader({
      flags: NEEDS_CSUM,
      checksumStart: upper,
      checksumOffset: offset,
    });
    assertSealed(t, native, { header, packet: unfinished }, [packet]);
  });
}

nativeTest('a packet that needs nothing passes as it is, wrong checksum and all', (t, native) => {
  const packet = tcp({ ...v4, data: 'x', checksum: 0x1234 });
  assertSealed(t, native, { header: virtioHeader({}), packet }, [packet]);
});

// ---- nonsense --------------------------------------------------------------------------------

const joined = join(segment);

const nonsense: readonly [title: string, message: TunMessage][] = [
  ['a segment size of zero', join(segment, { gsoSize: 0 })],
  ['an unknown kind of segmentation', join(segment, { gsoType: 3 })],
  ['another unknown kind', join(segment, { gsoType: 0x7f })],
  ['ECN alone', join(segment, { gsoType: GSO_ECN })],
  ['a checksum start of zero', join(segment, { checksumStart: 0 })],
  ['a checksum start inside the IPv4 header', join(segment, { checksumStart: 19 })],
  [
    'a checksum start inside the IPv6 header',
    join(tcpSegments([900, 900], v6), { checksumStart: 39 }),
  ],
  ['an IPv4 header that reaches past the checksum start', withByte(joined, 0, 0x4f)],
  ['an IPv4 header of nothing', withByte(joined, 0, 0x40)],
  ['a checksum start at the end', join(segment, { checksumStart: joined.packet.length })],
  [
    'a checksum start that leaves no TCP header',
    join(segment, { checksumStart: joined.packet.length - 19 }),
  ],
  ['a checksum start past the end', join(segment, { checksumStart: 65_535 })],
  ['a TCP header of 16 bytes', withByte(joined, 32, 0x40)],
  ['a TCP header of nothing', withByte(joined, 32, 0x00)],
  [
    'a TCP header past the end',
    { header: join(segment).header, packet: withByte(joined, 32, 0xf0).packet.slice(0, 60) },
  ],
  ['a super-packet without payload', { header: joined.header, packet: joined.packet.slice(0, 40) }],
  ['headers too long to be copied', join(segment, { checksumStart: 300 })],
  [
    'a checksum field past the end',
    {
      header: virtioHeader({ flags: NEEDS_CSUM, checksumStart: 20, checksumOffset: 16 }),
      packet: udp({ ...v4 }),
    },
  ],
  [
    'a checksum that begins past the end',
    {
      header: virtioHeader({ flags: NEEDS_CSUM, checksumStart: 65_535, checksumOffset: 65_535 }),
      packet: udp({ ...v4 }),
    },
  ],
  ['a packet of 19 bytes', { header: virtioHeader({}), packet: counting(19, 0x45) }],
];

function withByte({ header, packet }: TunMessage, at: number, value: number): TunMessage {
  const copy = packet.slice();
  copy[at] = value;
  return { header, packet: copy };
}

for (const [title, message] of nonsense) {
  nativeTest(`${title} is refused, and what comes after it is sent`, (t, native) => {
    withBench(native, {}, (bench, key) => {
      const good = udp({ ...v4, data: 'good' });
      bench.feed(message.packet, message.header);
      bench.feed(good);
      sealAll(bench, key);
      t.is(markOf(bench.engine.packets, 0), MARK_SEAL_INVALID);
      t.deepEqual(opened(bench, bench.datagrams()), [good]);
    });
  });
}

nativeTest(
  'a super-packet of random headers never crashes, and sends nothing larger than it',
  (t, native) => {
    let state = 12_345;
    const random = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % limit;
    };
    withBench(native, {}, (bench, key) => {
      const { packets } = bench.engine;
      for (let round = 0; round < 3_000; round++) {
        const packet = joined.packet.slice(0, 20 + random(joined.packet.length - 19));
        for (let i = random(4); i > 0; i--)
          packet[random(Math.min(60, packet.length))] = random(256);
        const header = virtioHeader({
          flags: random(4),
          gsoType: [0, 1, 4, 5, 0x81, 3][random(6)]!,
          headerBytes: random(65_536),
          gsoSize: [0, 1, 8, 900, 1_400, random(65_536)][random(6)]!,
          checksumStart: [0, 20, 40, random(300), random(65_536)][random(5)]!,
          checksumOffset: [6, 16, random(65_536)][random(3)]!,
        });
        packets.count = 0;
        place(packets, 0, packet, { mark: MARK_SEAL, key });
        packets.bytes.set(header, packets.descriptors[OFFSET]! - 10);
        bench.engine.seal(packets);
        const mark = markOf(packets, 0);
        if (mark !== MARK_SEALED && mark !== MARK_SEAL_INVALID) t.fail(`${mark}`);
        // Each datagram carries at least one byte of payload.
        if (packets.descriptors[DATAGRAMS]! > packet.length) t.fail('too many datagrams');
        bench.engine.flush();
      }
    });
    t.pass();
  },
);
