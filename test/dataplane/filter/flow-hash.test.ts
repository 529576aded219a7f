// The hash by which flows are found: equal for both ways, different for what differs.

import test from 'ava';
import { hashOf, isRestAt, putAddresses } from '../../../dataplane/filter/flow-hash.ts';
import { InnerPacket } from '../../../dataplane/wire/ip.ts';

const words = [
  'source0',
  'source1',
  'source2',
  'source3',
  'destination0',
  'destination1',
  'destination2',
  'destination3',
] as const;

function packetOf(version: number, source: readonly number[], destination: readonly number[]) {
  const packet = new InnerPacket();
  packet.version = version;
  packet.protocol = 17;
  for (const [i, word] of words.entries()) packet[word] = [...source, ...destination][i] ?? 0;
  return packet;
}

const here = [1, 2, 3, 4];
const there = [5, 6, 7, 8];

for (const version of [4, 6]) {
  test(`IPv${version}: both ways of a flow have one hash`, (t) => {
    const [a, b] =
      version === 4
        ? [
            [1, 0, 0, 0],
            [5, 0, 0, 0],
          ]
        : [here, there];
    t.is(
      hashOf(packetOf(version, a!, b!), 1_000, 53, 7, 8),
      hashOf(packetOf(version, b!, a!), 53, 1_000, 7, 8),
    );
  });
}

test('every word, port, protocol and seed counts', (t) => {
  const plain = hashOf(packetOf(6, here, there), 1_000, 53, 7, 8);
  for (const word of words) {
    const packet = packetOf(6, here, there);
    packet[word] ^= 1;
    t.not(hashOf(packet, 1_000, 53, 7, 8), plain, word);
  }
  const other = packetOf(6, here, there);
  other.protocol = 6;
  const whole = packetOf(6, here, there);
  t.not(hashOf(other, 1_000, 53, 7, 8), plain);
  t.not(hashOf(whole, 1_001, 53, 7, 8), plain);
  t.not(hashOf(whole, 1_000, 54, 7, 8), plain);
  t.not(hashOf(whole, 1_000, 53, 6, 8), plain);
  t.not(hashOf(whole, 1_000, 53, 7, 9), plain);
});

test('addresses are written to where they are compared, and nowhere else', (t) => {
  const written = new Int32Array(12).fill(-1);
  const packet = packetOf(6, here, there);
  putAddresses(written, 1, 6, packet);
  t.deepEqual([...written], [-1, ...here, -1, ...there, -1, -1]);
  t.true(isRestAt(written, 1, 6, packet));
  t.false(isRestAt(written, 6, 1, packet));
});
