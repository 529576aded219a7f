// Networks of the tunnel: what lies in them, and the gateway's own address.

import test from 'ava';
import { AddressRange, OwnNetwork, wordsOf } from '../../../dataplane/wire/network.ts';
import { address } from '../../support/dataplane/packets.ts';

function words(text: string): [number, number, number, number] {
  return wordsOf(address(text)) as [number, number, number, number];
}

const rows: readonly (readonly [
  network: string,
  bits: number,
  inside: string[],
  outside: string[],
])[] = [
  ['10.0.0.0', 24, ['10.0.0.0', '10.0.0.255'], ['10.0.1.0', '9.255.255.255']],
  ['10.0.0.0', 32, ['10.0.0.0'], ['10.0.0.1']],
  ['0.0.0.0', 0, ['1.2.3.4', '255.0.0.1'], []],
  ['10.3.2.0', 22, ['10.3.0.1', '10.3.3.255'], ['10.3.4.0']],
  ['fd00::', 64, ['fd00::', 'fd00::ffff:ffff:ffff:ffff'], ['fd00:0:0:1::', 'fd01::']],
  ['fd00::', 106, ['fd00::3f:ffff'], ['fd00::40:0']],
  ['fd00::5', 128, ['fd00::5'], ['fd00::4', '2001:db8::5']],
];

for (const [network, prefixBits, inside, outside] of rows) {
  test(`${network}/${prefixBits}`, (t) => {
    const bytes = address(network);
    const own = new OwnNetwork({ network: bytes, prefixBits, address: bytes });
    const range = new AddressRange({ network: bytes, prefixBits });
    const version = bytes.length === 4 ? 4 : 6;
    for (const text of inside) t.true(range.has(version, words(text)), text);
    for (const text of outside) t.false(range.has(version, words(text)), text);
    t.false(range.has(10 - version, words(inside[0]!)), 'of the other family');
    for (const text of inside) t.true(own.contains(...words(text)), text);
    for (const text of outside) t.false(own.contains(...words(text)), text);
  });
}

test("the gateway's address is that one and no other", (t) => {
  const six = new OwnNetwork({
    network: address('fd00::'),
    prefixBits: 64,
    address: address('fd00::1:0:0:1'),
  });
  t.true(six.isAddress(...words('fd00::1:0:0:1')));
  for (const text of ['fd00::1', 'fd00::1:0:0:2', 'fd00:0:0:1:1::1', 'fd01::1:0:0:1'])
    t.false(six.isAddress(...words(text)), text);
  const four = new OwnNetwork({
    network: address('10.0.0.0'),
    prefixBits: 24,
    address: address('10.0.0.1'),
  });
  t.true(four.isAddress(...words('10.0.0.1')));
  t.false(four.isAddress(...words('10.0.0.2')));
});
