// Addresses are compared as numbers without sign, word by word, in both families.

import test from 'ava';
import { find } from '../../../dataplane/filter/find.ts';
import { address } from '../../support/dataplane/packets.ts';
import { innerPacket } from '../../support/filter/random-rules.ts';
import { addressValue } from '../../support/filter/slow-filter.ts';

/** Addresses as words, the first of them zero, and which of them is the last not after another. */
function foundAmong(texts: readonly string[]): (text: string) => string {
  const all = texts.map((text) => address(text));
  const words = all.flatMap((bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i));
  });
  const isIpv4 = all[0]!.length === 4;
  return (text) => {
    const packet = innerPacket({
      version: isIpv4 ? 4 : 6,
      destination: addressValue(address(text)),
      protocol: 17,
      port: 53,
    });
    return texts[find(Uint32Array.from(words), isIpv4 ? 1 : 4, packet)]!;
  };
}

test('the last address that is not after the destination is found, over IPv4', (t) => {
  const found = foundAmong(['0.0.0.0', '10.0.0.0', '127.255.255.255', '128.0.0.0', '192.0.2.1']);
  t.is(found('9.255.255.255'), '0.0.0.0');
  t.is(found('10.0.0.0'), '10.0.0.0');
  t.is(found('127.255.255.254'), '10.0.0.0');
  t.is(found('128.0.0.0'), '128.0.0.0');
  t.is(found('255.255.255.255'), '192.0.2.1');
  t.is(foundAmong(['0.0.0.0'])('255.255.255.255'), '0.0.0.0');
});

test('the last address that is not after the destination is found, over IPv6', (t) => {
  const found = foundAmong([
    '::',
    '2001:db8::',
    '2001:db8::8000:0:0:0',
    '2001:db8:0:1::',
    'fd00::1',
  ]);
  t.is(found('2001:db7:ffff::'), '::');
  t.is(found('2001:db8::7fff:0:0:0'), '2001:db8::');
  t.is(foundAmong(['::', 'fd00::1', 'fd00::8000:0'])('fd00::7fff:ffff'), 'fd00::1');
  t.is(foundAmong(['::', 'fd00::1', 'fd00::8000:0'])('fd00::8000:0'), 'fd00::8000:0');
  t.is(found('ffff::'), 'fd00::1');
});
