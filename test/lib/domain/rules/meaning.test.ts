// What destinations mean that are typed with the bits of a host.

import test from 'ava';
import { meaningOf, meantNetwork } from '../../../../lib/domain/rules/meaning.ts';

for (const [destination, network] of [
  ['192.168.50.20/24', '192.168.50.0/24'],
  ['192.168.50.0/24', null],
  ['192.168.50.20', null],
  ['192.168.50.20/32', null],
  ['10.0.0.1/0', '0.0.0.0/0'],
  ['fd00::1/64', 'fd00::/64'],
  ['FD00:0::/64', null],
  ['::ffff:10.0.0.1/96', '::ffff:0:0/96'],
  ['nonsense/24', null],
  ['', null],
] as const)
  test(`"${destination}" means ${network ?? 'what it says'}`, (t) => {
    t.is(meantNetwork(destination), network);
  });

test('the sentence says how one host is typed', (t) => {
  t.is(
    meaningOf('192.168.50.20/24'),
    '192.168.50.20/24 means 192.168.50.0/24; leave /24 out for one host.',
  );
  t.is(meaningOf('192.168.50.20'), null);
});

test('an IPv4 address that is written as IPv6 is in no packet', (t) => {
  for (const [destination, ipv4] of [
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::ffff:a00:1/128', '10.0.0.1'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
  ] as const)
    t.is(
      meaningOf(destination),
      `No packet is for ${destination}: IPv4 addresses are never written as IPv6 in packets. Give ${ipv4}.`,
    );
  for (const other of ['::/0', '::ffff:0:0/95', 'fd00::1', '10.0.0.1', 'nonsense'])
    t.false(meaningOf(other)?.startsWith('No packet') ?? false, other);
});
