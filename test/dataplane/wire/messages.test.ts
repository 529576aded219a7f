// Which datagrams have the form of a WireGuard message.

import test from 'ava';
import fc from 'fast-check';
import {
  COOKIE_REPLY,
  cookieReply,
  HANDSHAKE_INITIATION,
  HANDSHAKE_RESPONSE,
  initiation,
  messageType,
  response,
  TRANSPORT_DATA,
  transport,
} from '../../../dataplane/wire/messages.ts';
import { viewOf } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

function typeOf(firstBytes: readonly number[], length: number): number {
  const bytes = new Uint8Array(length);
  bytes.set(firstBytes.slice(0, length));
  return messageType(viewOf(bytes), 0, length);
}

// Type and exact sizes: paper, sections 5.4.2, 5.4.3, 5.4.7 and 5.4.6.
const table: readonly [title: string, first: number[], length: number, wanted: number][] = [
  ['an initiation of 148 bytes', [1, 0, 0, 0], 148, HANDSHAKE_INITIATION],
  ['an initiation one byte short', [1, 0, 0, 0], 147, 0],
  ['an initiation one byte long', [1, 0, 0, 0], 149, 0],
  ['a response of 92 bytes', [2, 0, 0, 0], 92, HANDSHAKE_RESPONSE],
  ['a response one byte short', [2, 0, 0, 0], 91, 0],
  ['a response one byte long', [2, 0, 0, 0], 93, 0],
  ['a cookie reply of 64 bytes', [3, 0, 0, 0], 64, COOKIE_REPLY],
  ['a cookie reply one byte short', [3, 0, 0, 0], 63, 0],
  ['a cookie reply one byte long', [3, 0, 0, 0], 65, 0],
  ['a keepalive of 32 bytes', [4, 0, 0, 0], 32, TRANSPORT_DATA],
  ['transport data one byte too short for its tag', [4, 0, 0, 0], 31, 0],
  ['transport data of an odd size', [4, 0, 0, 0], 47, TRANSPORT_DATA],
  ['the largest datagram of transport data', [4, 0, 0, 0], 65_507, TRANSPORT_DATA],
  ['type 0', [0, 0, 0, 0], 148, 0],
  ['type 5', [5, 0, 0, 0], 148, 0],
  ['type 255', [255, 0, 0, 0], 148, 0],
  ['a reserved byte that is not zero', [4, 1, 0, 0], 100, 0],
  ['another reserved byte', [1, 0, 1, 0], 148, 0],
  ['the last reserved byte', [2, 0, 0, 128], 92, 0],
  ['nothing', [], 0, 0],
  ['one byte', [4], 1, 0],
  ['three bytes', [4, 0, 0], 3, 0],
];

for (const [title, first, length, wanted] of table) {
  test(`${title}: type ${wanted}`, (t) => {
    t.is(typeOf(first, length), wanted);
  });
}

test('any type byte with any length is judged by the table of sizes alone', (t) => {
  const sizes: Record<number, (length: number) => boolean> = {
    1: (length) => length === 148,
    2: (length) => length === 92,
    3: (length) => length === 64,
    4: (length) => length >= 32,
  };
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 255 }), fc.nat(300), (type, length) => {
      const fits = sizes[type]?.(length) ?? false;
      t.is(typeOf([type, 0, 0, 0], length), fits ? type : 0);
    }),
    { ...SEEDED, numRuns: 2_000 },
  );
});

test('a message in the middle of an arena is read where it begins', (t) => {
  const arena = new Uint8Array(400).fill(0xff);
  arena.fill(0, 101, 101 + 148);
  arena[101] = 1;
  t.is(messageType(viewOf(arena), 101, 148), HANDSHAKE_INITIATION);
});

test('fields follow each other without a gap, as the paper draws them', (t) => {
  const lengths = (offsets: readonly number[]): number[] =>
    offsets.slice(1).map((offset, i) => offset - offsets[i]!);
  t.deepEqual(lengths(Object.values(initiation)), [4, 32, 48, 28, 16, 16]);
  t.deepEqual(lengths(Object.values(response)), [4, 4, 32, 16, 16, 16]);
  t.deepEqual(lengths(Object.values(cookieReply)), [4, 24, 32]);
  t.deepEqual(lengths(Object.values(transport)), [4, 8]);
});
