// The packets that people ask about.

import test from 'ava';
import { askedPacket } from '../../../dataplane/wire/asked-packet.ts';
import { mayNotFragment } from '../../../dataplane/wire/icmp.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { echoRequest, flagsOf, tcp, udp, viewOf } from '../../../dataplane/wire/packets.ts';

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

test('a packet of the size that is asked for, which may not be fragmented', (t) => {
  const families = [ends, { source: 'fd00::2', destination: '2001:db8::1' }];
  for (const family of families)
    for (const [protocol, upper] of [
      ['tcp', 20],
      ['udp', 8],
      ['icmp', 8],
      [47, 0],
      [132, 0],
    ] as const) {
      const headers = (family === ends ? 20 : 40) + upper;
      const make = (size: number): Uint8Array =>
        askedPacket({ ...family, ...ports, protocol, begins: true, size });
      for (const size of [headers, headers + 1, 1_400, 65_535]) {
        const packet = make(size);
        t.is(packet.length, size, `${protocol}`);
        const inner = new InnerPacket();
        t.is(parseInner(viewOf(packet), 0, packet.length, inner), 0);
        t.is(inner.length, size);
        t.true(mayNotFragment(viewOf(packet), 0, inner));
      }
      t.is(make(20).length, headers, 'there is no smaller one');
    }
});

test('a packet of a protocol by number carries some bytes', (t) => {
  for (const family of [ends, { source: 'fd00::2', destination: '2001:db8::1' }]) {
    const packet = askedPacket({ ...family, ...ports, protocol: 47, begins: true });
    const inner = new InnerPacket();
    t.is(parseInner(viewOf(packet), 0, packet.length, inner), 0);
    t.is(inner.protocol, 47);
    t.is(packet.length, (family === ends ? 20 : 40) + 8);
  }
});
