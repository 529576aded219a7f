// Addresses that may not appear inside a tunnel, and those at which a cloud answers its machines.

import test from 'ava';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import {
  hasReservedDestination,
  hasReservedSource,
  isBoundForMetadata,
} from '../../../dataplane/wire/ranges.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { ip } from '../../support/dataplane/packets.ts';

function parse(bytes: Uint8Array): { packet: InnerPacket } {
  const packet = new InnerPacket();
  parseInner(new DataView(bytes.buffer, bytes.byteOffset), 0, bytes.length, packet);
  return { packet };
}

// ---- reserved addresses (RFC 6890) -----------------------------------------------------------

const reserved: readonly [address: string, wanted: boolean][] = [
  ['0.0.0.0', true],
  ['0.255.255.255', true],
  ['1.0.0.0', false],
  ['10.0.0.1', false],
  ['126.255.255.255', false],
  ['127.0.0.0', true],
  ['127.0.0.1', true],
  ['127.255.255.255', true],
  ['128.0.0.0', false],
  ['169.253.255.255', false],
  ['169.254.0.0', true],
  ['169.254.169.254', true],
  ['169.254.255.255', true],
  ['169.255.0.0', false],
  ['223.255.255.255', false],
  ['224.0.0.0', true],
  ['239.255.255.255', true],
  ['240.0.0.1', false],
  ['255.255.255.254', false],
  ['255.255.255.255', true],
  ['::', true],
  ['::1', true],
  ['::2', true],
  ['::10.0.0.2', false],
  ['::fffe:ffff:ffff', false],
  ['::ffff:0:0', true],
  ['::ffff:127.0.0.1', true],
  ['::ffff:10.0.0.2', true],
  ['::1:ffff:0:0', false],
  ['64:ff9b::0.0.0.1', true],
  ['64:ff9b::127.0.0.1', true],
  ['64:ff9b::169.254.169.254', true],
  ['64:ff9b::224.0.0.1', true],
  ['64:ff9b::8.8.8.8', false],
  ['64:ff9b:0:0:0:1:7f00:1', false],
  ['64:ff9b:1::127.0.0.1', true],
  ['64:ff9b:1:2:3:4:10.0.0.1', false],
  ['64:ff9b:2::127.0.0.1', false],
  ['2002:7f00:1::', true],
  ['2002:a9fe:a9fe::1', true],
  ['2002:808:808::7f00:1', false],
  ['2001:7f00:1::', false],
  ['::ffff:0:127.0.0.1', true],
  ['::ffff:0:8.8.8.8', false],
  ['2001:db8::1', false],
  ['fd00::1', false],
  ['fe7f:ffff::', false],
  ['fe80::', true],
  ['febf:ffff::1', true],
  ['fec0::1', false],
  ['feff::1', false],
  ['ff00::', true],
  ['ff02::1', true],
  ['ffff:ffff::', true],
];

for (const [text, wanted] of reserved) {
  test(`${text} ${wanted ? 'may not' : 'may'} appear inside a tunnel`, (t) => {
    const other = text.includes(':') ? '2001:db8::9' : '192.0.2.9';
    const asSource = parse(
      ip({ source: text, destination: other, protocol: 50, payload: new Uint8Array(0) }),
    );
    const asDestination = parse(
      ip({ source: other, destination: text, protocol: 50, payload: new Uint8Array(0) }),
    );
    t.is(hasReservedSource(asSource.packet), wanted);
    t.false(hasReservedSource(asDestination.packet));
    t.is(hasReservedDestination(asDestination.packet), wanted);
    t.false(hasReservedDestination(asSource.packet));
  });
}

// ---- clouds ----------------------------------------------------------------------------------

const clouds: readonly [address: string, wanted: boolean][] = [
  ['168.63.129.16', true],
  ['168.63.129.17', false],
  ['100.100.100.200', true],
  ['100.100.100.201', false],
  ['192.0.0.192', true],
  ['192.0.0.193', false],
  ['fd00:ec2::254', true],
  ['fd00:ec2::23', true],
  ['fd00:ec2::253', false],
  ['fd00:ec2:0:1::254', false],
  ['fd00:ec2::1:0:254', false],
  ['fd20:ce::254', true],
  ['fd20:ce::255', false],
  ['fd20:ce:0:1::254', false],
  ['64:ff9b::168.63.129.16', true],
  ['64:ff9b:1::192.0.0.192', true],
  ['2002:6464:64c8::1', true],
  ['::ffff:0:168.63.129.16', true],
  ['2001:db8::168.63.129.16', false],
];

for (const [text, wanted] of clouds) {
  test(`${text} is ${wanted ? 'one' : 'none'} of those at which clouds answer`, (t) => {
    const source = text.includes(':') ? '2001:db8::9' : '192.0.2.9';
    const fields = { protocol: 50, payload: new Uint8Array(0) };
    t.is(isBoundForMetadata(parse(ip({ ...fields, source, destination: text })).packet), wanted);
    t.false(isBoundForMetadata(parse(ip({ ...fields, source: text, destination: source })).packet));
  });
}

test('looking at addresses allocates nothing', (t) => {
  const { packet } = parse(
    ip({
      source: 'fd00::2',
      destination: '64:ff9b::1.2.3.4',
      protocol: 50,
      payload: new Uint8Array(0),
    }),
  );
  t.true(
    bytesPerCall(() => {
      hasReservedSource(packet);
      hasReservedDestination(packet);
      isBoundForMetadata(packet);
    }) < 1,
  );
});
