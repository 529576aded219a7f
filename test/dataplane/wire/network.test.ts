// Networks of the tunnel: what lies in them, and the gateway's own address.

import test from 'ava';
import {
  AddressRange,
  boundsOf,
  isBroadcastIn,
  isInNetwork,
  OwnNetwork,
  wordsOf,
} from '../../../dataplane/wire/network.ts';
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
    const isIn = (text: string) => isInNetwork(address(text), { network: bytes, prefixBits });
    for (const text of inside) t.true(isIn(text), text);
    for (const text of outside) t.false(isIn(text), text);
    for (const text of inside) t.true(own.contains(...words(text)), text);
    for (const text of outside) t.false(own.contains(...words(text)), text);
  });
}

test('a network has a first address, a mask, and an address behind it but for the last of all', (t) => {
  const table: [network: string, bits: number, first: string, mask: string, beyond: string][] = [
    ['10.3.2.7', 22, '10.3.0.0', '255.255.252.0', '10.3.4.0'],
    ['10.3.2.7', 32, '10.3.2.7', '255.255.255.255', '10.3.2.8'],
    ['0.0.0.9', 8, '0.0.0.0', '255.0.0.0', '1.0.0.0'],
    ['fd00::40:1', 106, 'fd00::40:0', 'ffff:ffff:ffff:ffff:ffff:ffff:ffc0:0', 'fd00::80:0'],
  ];
  for (const [network, prefixBits, ...wanted] of table) {
    const { first, mask, beyond } = boundsOf({ network: address(network), prefixBits });
    t.deepEqual(
      [first, mask, beyond].map((bytes) => [...bytes!]),
      wanted.map((text) => [...address(text)]),
    );
  }
  for (const [network, prefixBits] of [
    ['255.255.0.0', 16],
    ['0.0.0.0', 0],
    ['ff00::', 8],
  ] as const)
    t.is(boundsOf({ network: address(network), prefixBits }).beyond, null);
});

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

test('the first and the last address of an IPv4 network of more than two are broadcasts', (t) => {
  const table: [network: string, bits: number, broadcasts: string[], others: string[]][] = [
    ['10.3.2.7', 22, ['10.3.0.0', '10.3.3.255'], ['10.3.0.1', '10.3.1.255', '10.3.2.0']],
    ['192.0.2.8', 30, ['192.0.2.8', '192.0.2.11'], ['192.0.2.9', '192.0.2.12']],
    ['200.0.0.0', 8, ['200.0.0.0', '200.255.255.255'], ['201.0.0.0']],
    ['0.0.0.0', 0, ['0.0.0.0', '255.255.255.255'], ['128.0.0.0']],
    ['192.0.2.8', 31, [], ['192.0.2.8', '192.0.2.9']],
    ['192.0.2.8', 32, [], ['192.0.2.8']],
    ['fd00::', 64, [], ['0.0.0.0']],
  ];
  for (const [network, prefixBits, broadcasts, others] of table) {
    const is = (text: string) =>
      isBroadcastIn({ network: address(network), prefixBits }, words(text)[0]);
    for (const text of broadcasts) t.true(is(text), `${text} in ${network}/${prefixBits}`);
    for (const text of others) t.false(is(text), `${text} in ${network}/${prefixBits}`);
  }
});
