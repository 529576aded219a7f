// Where no socket of this process may lead.

import test from 'ava';
import type { DestinationKind } from '../../../dataplane/socket-contract.ts';
import { Destinations, isRefused } from '../../../dataplane/sockets/destinations.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';
import { formatAddress, parseAddress } from '../../../dataplane/wire/address.ts';
import { wordsOf } from '../../../dataplane/wire/network.ts';

/** The host has 198.51.100.1 and 2001:db8:2::1. */
const KINDS: Readonly<Record<string, DestinationKind>> = {
  '198.51.100.1': 'local',
  '2001:db8:2::1': 'local',
  '198.51.100.255': 'broadcast',
  '203.0.113.9': 'unreachable',
};

function kindOf(text: string): DestinationKind {
  const asked: string[] = [];
  const destinations = new Destinations({
    routeTo: (address) => {
      asked.push(formatAddress(address));
      return { kind: KINDS[formatAddress(address)] ?? 'unicast', source: null };
    },
  });
  const ends = new Ends();
  const bytes = parseAddress(text)!;
  ends.isIpv6 = bytes.length === 16;
  ends.words.set(wordsOf(bytes), 0);
  return destinations.kindOf(ends);
}

for (const address of [
  '198.51.100.1',
  '198.51.100.255',
  '127.0.0.1',
  '127.8.8.8',
  '0.0.0.0',
  '169.254.169.254',
  '224.0.0.251',
  '255.255.255.255',
  '::1',
  '::',
  '::ffff:198.51.100.2',
  '2001:db8:2::1',
  'fe80::1',
  'ff02::1',
  // The host inside an IPv6 address: for a translator, by 6to4, by a local prefix.
  '64:ff9b::198.51.100.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::198.51.100.1',
  '2002:c633:6401::1',
  '::198.51.100.1',
  '::127.0.0.1',
  '::169.254.169.254',
])
  test(`${address} is refused`, (t) => {
    t.true(isRefused(kindOf(address)), kindOf(address));
  });

for (const address of ['198.51.100.2', '2001:db8:2::2', '64:ff9b::198.51.100.2', '8.8.8.8'])
  test(`${address} may be reached`, (t) => {
    t.is(kindOf(address), 'unicast');
  });

test('what has no route is not refused: its device learns that nobody is there', (t) => {
  t.is(kindOf('203.0.113.9'), 'unreachable');
  t.false(isRefused('unreachable'));
  t.true(isRefused('unknown'));
});
