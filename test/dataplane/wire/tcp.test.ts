// Maximum segment sizes: they are lowered where they do not fit, wherever the option is, and the
// checksum stays right, complete or partial.

import test from 'ava';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { clampSegmentSize, isHandshake } from '../../../dataplane/wire/tcp.ts';
import { extension, join, tcp, type TcpFields, viewOf } from '../../support/dataplane/packets.ts';

const SYN = 0x02;
const v4 = { source: '10.0.0.2', destination: '192.0.2.1', flags: SYN };
const v6 = { source: 'fd00::2', destination: '2001:db8::1', flags: SYN };
const families = [
  ['IPv4', v4, 1_380],
  ['IPv6', v6, 1_360],
] as const;

function parsed(bytes: Uint8Array): InnerPacket {
  const packet = new InnerPacket();
  parseInner(viewOf(bytes), 0, bytes.length, packet);
  return packet;
}

/** A packet as it leaves through a tunnel of 1,420 bytes. */
function clamped(bytes: Uint8Array, isPartial = false, mtu = 1_420): Uint8Array {
  const copy = bytes.slice();
  clampSegmentSize(viewOf(copy), 0, parsed(copy), mtu, isPartial);
  return copy;
}

function mss(size: number): number[] {
  return [2, 4, size >> 8, size & 0xff];
}

/** TCP options, filled up to whole words. */
function options(...bytes: number[]): Uint8Array {
  return Uint8Array.from([
    ...bytes,
    ...Array.from({ length: (4 - (bytes.length % 4)) % 4 }, () => 0),
  ]);
}

const TIMESTAMPS = [8, 10, 1, 2, 3, 4, 5, 6, 7, 8];
const layouts: readonly (readonly [title: string, around: (size: number) => number[]])[] = [
  ['alone', (size) => mss(size)],
  ['behind one empty option, at an odd place', (size) => [1, ...mss(size)]],
  ['behind two', (size) => [1, 1, ...mss(size)]],
  ['behind three', (size) => [1, 1, 1, ...mss(size)]],
  ['behind timestamps and a window scale', (size) => [...TIMESTAMPS, 3, 3, 7, ...mss(size)]],
  ['before everything else', (size) => [...mss(size), 4, 2, ...TIMESTAMPS, 1, 3, 3, 7]],
  ['twice', (size) => [...mss(size), 1, ...mss(size)]],
];

for (const [family, fields, fits] of families) {
  for (const [title, around] of layouts) {
    test(`${family}: a size that is too large is lowered: ${title}`, (t) => {
      for (const size of [fits + 1, 1_460, 8_960, 65_535]) {
        const before = tcp({ ...fields, options: options(...around(size)) });
        // The packet is built again with the size that fits: everything else, and the checksum,
        // must be equal.
        t.deepEqual(clamped(before), tcp({ ...fields, options: options(...around(fits)) }));
      }
    });

    test(`${family}: under a partial checksum only the size changes: ${title}`, (t) => {
      const partial = (size: number): Uint8Array =>
        join([tcp({ ...fields, options: options(...around(size)), data: 'x' })]).packet;
      t.deepEqual(clamped(partial(1_460), true), partial(fits));
    });
  }

  test(`${family}: a size that fits stays as it is`, (t) => {
    for (const size of [0, 536, 1_220, fits - 1, fits]) {
      const bytes = tcp({ ...fields, options: options(...mss(size)) });
      t.deepEqual(clamped(bytes), bytes);
    }
  });

  test(`${family}: the limit is that of the path`, (t) => {
    const lowered = tcp({ ...fields, options: options(...mss(fits - 140)) });
    t.deepEqual(
      clamped(tcp({ ...fields, options: options(...mss(1_460)) }), false, 1_280),
      lowered,
    );
  });
}

const untouched: readonly (readonly [title: string, options: number[]])[] = [
  ['without options', []],
  ['without the option', [1, 1, 4, 2, ...TIMESTAMPS]],
  ['whose options end before it', [0, 1, ...mss(1_460)]],
  ['whose option has another length', [2, 3, 5, 180]],
  ['with an option of length 0', [8, 0, ...mss(1_460)]],
  ['with an option of length 1', [8, 1, ...mss(1_460)]],
  ['with an option that goes past the header', [8, 40, ...mss(1_460)]],
  ['with half an option at the end', [1, 1, 1, 2]],
  ['whose size goes past the header', [1, 1, 2, 4]],
];

for (const [title, bytes] of untouched) {
  test(`a handshake ${title} stays as it is`, (t) => {
    const packet = tcp({
      ...v4,
      options: options(...bytes),
      data: Uint8Array.from([255, 255, 255]),
    });
    t.deepEqual(clamped(packet), packet);
  });
}

test('a header that says it is longer than the packet is not followed', (t) => {
  const packet = tcp({ ...v4, options: options(1, 1, 2, 4) });
  packet[32] = 0xf0;
  t.deepEqual(clamped(packet), packet);
});

test('the option is found behind IP options and extension headers', (t) => {
  const four = (size: number): Uint8Array =>
    tcp({ ...v4, ipOptions: new Uint8Array(8).fill(1), options: options(...mss(size)) });
  t.deepEqual(clamped(four(1_460)), four(1_380));
  const six = (size: number): Uint8Array =>
    tcp({ ...v6, extensions: [extension(60, 1)], options: options(1, ...mss(size)) });
  t.deepEqual(clamped(six(1_460)), six(1_360));
});

test('a checksum stays right over its whole range', (t) => {
  for (let i = 0; i < 3_000; i++) {
    const fields: TcpFields = { ...v4, sequence: i * 1_431_655, sourcePort: i * 21 };
    const around = i % 2 === 0 ? mss(1_381 + i) : [1, ...mss(1_381 + i)];
    const wanted = i % 2 === 0 ? mss(1_380) : [1, ...mss(1_380)];
    const after = clamped(tcp({ ...fields, options: options(...around) }));
    const right = tcp({ ...fields, options: options(...wanted) });
    const [sum, rightSum] = [after, right].map((bytes) => viewOf(bytes).getUint16(36));
    // Zero has two forms in one's complement.
    if ((sum! + 0xffff) % 0xffff !== (rightSum! + 0xffff) % 0xffff) t.fail(`${i}`);
  }
  t.pass();
});

test('only packets with SYN are handshakes', (t) => {
  const flagged = (flags: number): boolean => isHandshake(parsed(tcp({ ...v4, flags })));
  t.deepEqual([0x02, 0x12, 0xc2].map(flagged), [true, true, true]);
  t.deepEqual([0x10, 0x11, 0x04, 0x18, 0].map(flagged), [false, false, false, false, false]);
});
