// The packets that people ask about.

import test from 'ava';
import { askedPacket } from '../../../dataplane/wire/asked-packet.ts';
import { echoRequest, flagsOf, tcp, udp } from '../../../dataplane/wire/packets.ts';

const ends = { source: '10.0.0.2', destination: '192.0.2.1' };
const ports = { sourcePort: 50_000, destinationPort: 443 };

test('a packet of each protocol', (t) => {
  const make = (protocol: 'tcp' | 'udp' | 'icmp', begins = true): Uint8Array =>
    askedPacket({ ...ends, ...ports, protocol, begins });
  t.deepEqual(make('tcp'), tcp({ ...ends, ...ports, flags: flagsOf('S') }));
  t.deepEqual(make('tcp', false), tcp({ ...ends, ...ports, flags: flagsOf('A') }));
  t.deepEqual(make('udp'), udp({ ...ends, ...ports }));
  t.deepEqual(make('icmp'), echoRequest(ends.source, ends.destination, 1, 50_000));
  const ipv6 = { source: 'fd00::2', destination: '2001:db8::1', ...ports, begins: true };
  t.is(askedPacket({ ...ipv6, protocol: 'icmp' })[6], 58);
});
