// Checksums, compared with another way to add.

import test from 'ava';
import { complete, isRight, writeIpv4, writePartial } from '../../../dataplane/tcp/checksum.ts';
import { counting, tcp, viewOf } from '../../support/dataplane/packets.ts';
import { finished, sum } from '../../support/tcp/ends.ts';

const ENDS = [
  ['10.0.0.2', '192.0.2.1', 20],
  ['fd00::2', '2001:db8::1', 40],
] as const;

test('a partial sum that is completed is the right checksum, for every length', (t) => {
  for (const [source, destination, at] of ENDS)
    for (const bytes of [0, 1, 2, 7, 500, 1_401, 64_000]) {
      const packet = Buffer.from(tcp({ source, destination, data: counting(bytes) }));
      const view = viewOf(packet);
      const right = view.getUint16(at + 16);
      const length = packet.length - at;
      t.true(isRight(view, 0, at, length));
      writePartial(view, 0, at, length);
      complete(view, at, length);
      t.is(view.getUint16(at + 16), right);
      t.deepEqual(finished(Buffer.from(packet), at), packet);
      packet[at + 4]! ^= 1;
      t.false(isRight(view, 0, at, length));
    }
});

test('full sums of ones are folded', (t) => {
  const packet = Buffer.from(
    tcp({
      source: '255.255.255.255',
      destination: '255.255.255.255',
      data: new Uint8Array(60_000).fill(255),
    }),
  );
  t.true(isRight(viewOf(packet), 0, 20, packet.length - 20));
});

test('the checksum of an IPv4 header', (t) => {
  const packet = Buffer.from(tcp({ source: '10.0.0.2', destination: '192.0.2.1' }));
  const right = packet.readUInt16BE(10);
  packet.writeUInt16BE(0xbeef, 10);
  writeIpv4(viewOf(packet), 0);
  t.is(packet.readUInt16BE(10), right);
  t.is(sum(packet, 0, 20), 0xffff);
});
