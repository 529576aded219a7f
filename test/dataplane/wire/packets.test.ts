// Packets by hand, held against those of another implementation: a reader of ours would not show a
// error that maker and reader share.

import test from 'ava';
import {
  address,
  checksum,
  destinationOf,
  echoRequest,
  flagsOf,
  sourceOf,
  tcp,
  udp,
} from '../../../dataplane/wire/packets.ts';

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

test('the checksum is that of RFC 1071', (t) => {
  // The example of its section 3: words 0001 f203 f4f5 f6f7 sum up to ddf2.
  t.is(checksum(new Uint8Array([0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7])), ~0xddf2 & 0xffff);
  t.is(checksum(new Uint8Array([0xff])), 0x00ff, 'an odd byte is the high one');
});

test('a packet of each kind is what another implementation makes of the same fields', (t) => {
  // Made with struct and a checksum of its own in Python.
  const ends = { source: '10.0.0.2', destination: '192.0.2.80' };
  t.is(
    hex(echoRequest(ends.source, ends.destination, 1)),
    '450000240000400040016e870a000002c0000250' + '0800f7b1004d00010000000000000000',
  );
  t.is(
    hex(udp({ ...ends, data: 'hi' })),
    '4500001e0000400040116e7d0a000002c0000250' + '0fa01388000aa7f66869',
  );
  t.is(
    hex(tcp({ ...ends, sequence: 7, acknowledgement: 0, flags: flagsOf('S') })),
    '450000280000400040066e7e0a000002c0000250' + '0fa013880000000700000000500203e8bc790000',
  );
});

test('addresses are read where the family has them', (t) => {
  const four = echoRequest('10.0.0.2', '192.0.2.80');
  t.deepEqual([sourceOf(four), destinationOf(four)], [address('10.0.0.2'), address('192.0.2.80')]);
  const six = echoRequest('fd00::2', '2001:db8::80');
  t.deepEqual([sourceOf(six), destinationOf(six)], [address('fd00::2'), address('2001:db8::80')]);
});
