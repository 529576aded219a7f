// Networks inside the tunnel: what is refused, and that the list of ranges is the data plane's.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import ipaddr from 'ipaddr.js';
import { type NetworkFamily, networkErrors, refusedRanges } from '../../config/networks.ts';
import { InnerPacket } from '../../dataplane/wire/ip.ts';
import { hasReservedSource } from '../../dataplane/wire/ranges.ts';

const rows: [family: NetworkFamily, network: string, address: string, error: RegExp | null][] = [
  ['IPV4', '100.64.0.0/10', '100.64.0.1', null],
  ['IPV4', '100.64.0.0/10', '100.127.255.254', null],
  ['IPV4', '10.0.0.0/30', '10.0.0.2', null],
  ['IPV4', '126.0.0.0/8', '126.0.0.1', null],
  ['IPV6', 'fd00::/106', 'fd00::1', null],
  ['IPV6', 'fec0::/10', 'fec0::1', null],
  [
    'IPV4',
    '100.64.0.0/10',
    '100.64.0.0',
    /^WIREGUARD_IPV4_ADDRESS 100\.64\.0\.0 is the first address of WIREGUARD_IPV4_NETWORK .*, which is reserved; take another, for example 100\.64\.0\.1$/,
  ],
  ['IPV4', '100.64.0.0/10', '100.127.255.255', /is the last address .* example 100\.64\.0\.1$/],
  ['IPV4', '10.1.2.3/24', '10.1.2.0', /is the first address .* for example 10\.1\.2\.1$/],
  ['IPV6', 'fd00::/106', 'fd00::', /is the first address .* for example fd00::1$/],
  ['IPV6', 'fd00::/106', 'fd00:0::0', /is the first address/],
  ['IPV6', 'fd00::/106', 'fd00::3f:ffff', /is the last address .* for example fd00::1$/],
  [
    'IPV4',
    '100.64.0.0/10',
    '10.0.0.1',
    /is not inside WIREGUARD_IPV4_NETWORK 100\.64\.0\.0\/10; take one of it, for example 100\.64\.0\.1$/,
  ],
  ['IPV4', '10.0.0.0/31', '10.0.0.1', /no room for devices; take a shorter prefix$/],
  [
    'IPV4',
    '127.0.0.0/24',
    '127.0.0.1',
    /^WIREGUARD_IPV4_NETWORK 127\.0\.0\.0\/24 overlaps 127\.0\.0\.0\/8 \(loopback\).*; take a private network, for example 100/,
  ],
  ['IPV4', '0.0.0.0/0', '10.0.0.1', /overlaps 0\.0\.0\.0\/8/],
  ['IPV4', '0.1.0.0/16', '0.1.0.1', /overlaps 0\.0\.0\.0\/8/],
  ['IPV4', '169.254.0.0/16', '169.254.0.1', /link-local/],
  ['IPV4', '168.0.0.0/6', '168.0.0.1', /overlaps 169\.254/],
  ['IPV4', '239.0.0.0/8', '239.0.0.1', /multicast/],
  ['IPV4', '255.255.255.0/24', '255.255.255.1', /broadcast/],
  ['IPV6', '::/120', '::5', /overlaps ::\/128/],
  ['IPV6', '::ffff:a00:0/104', '::ffff:a00:1', /IPv4-mapped/],
  ['IPV6', 'fe80::/64', 'fe80::1', /link-local/],
  ['IPV6', 'ff05::/64', 'ff05::1', /multicast/],
];
for (const [family, network, address, error] of rows)
  test(`${address} in ${network} is ${error === null ? 'taken' : 'refused'}`, (t) => {
    const errors = networkErrors(family, network, address);
    t.is(errors.length, error === null ? 0 : 1, errors.join());
    if (error !== null) t.regex(errors[0]!, error);
  });

for (const family of ['IPV4', 'IPV6'] as const)
  test(`the ranges of ${family} are those whose packets the data plane drops`, (t) => {
    const ranges = refusedRanges[family].map(([range]) => ipaddr.parseCIDR(range));
    const width = family === 'IPV4' ? 4 : 16;
    const edges = ranges.flatMap(([base, prefixBits]) => {
      const first = numberOf(base.toByteArray());
      const last = first + (1n << BigInt(width * 8 - prefixBits)) - 1n;
      return [first - 1n, first, last, last + 1n];
    });
    const any = Array.from({ length: 2_000 }, () => numberOf([...randomBytes(width)]));
    for (const number of [...edges, ...any]) {
      const bytes = bytesOf(BigInt.asUintN(width * 8, number), width);
      const address = ipaddr.fromByteArray(bytes);
      const isListed = ranges.some((range) => address.match(range));
      t.is(isListed, isDropped(bytes), address.toString());
    }
  });

function isDropped(bytes: number[]): boolean {
  const view = new DataView(new Uint8Array([...bytes, ...new Uint8Array(12)]).buffer);
  const packet = new InnerPacket();
  packet.version = bytes.length === 4 ? 4 : 6;
  packet.source0 = view.getInt32(0);
  packet.source1 = view.getInt32(4);
  packet.source2 = view.getInt32(8);
  packet.source3 = view.getInt32(12);
  return hasReservedSource(packet);
}

function numberOf(bytes: number[]): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function bytesOf(number: bigint, width: number): number[] {
  return [...Buffer.from(number.toString(16).padStart(width * 2, '0'), 'hex')];
}
