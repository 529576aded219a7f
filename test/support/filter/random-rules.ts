// Random rules close together, and random packets that meet them.

import fc from 'fast-check';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import { InnerPacket } from '../../../dataplane/wire/ip.ts';
import { address } from '../dataplane/packets.ts';
import { chance } from '../dataplane/seeded-test.ts';
import { addressValue, type SlowPacket } from './slow-filter.ts';

export function innerPacket(packet: SlowPacket): InnerPacket {
  const inner = new InnerPacket();
  const word = (shift: bigint): number => Number(BigInt.asIntN(32, packet.destination >> shift));
  inner.version = packet.version;
  inner.length = 100;
  inner.protocol = packet.protocol;
  inner.destinationPort = packet.port;
  if (packet.version === 4) inner.destination0 = word(0n);
  else {
    inner.destination0 = word(96n);
    inner.destination1 = word(64n);
    inner.destination2 = word(32n);
    inner.destination3 = word(0n);
  }
  return inner;
}

/** Addresses that are close together, so that random ranges nest and random packets hit them. */
function crowdedAddress(length: 4 | 16): fc.Arbitrary<Uint8Array> {
  const byte = fc.constantFrom(0, 1, 0x7f, 0x80, 0xff);
  return fc.tuple(byte, byte, byte, fc.nat(255)).map(([a, b, c, d]) => {
    const bytes = new Uint8Array(length).fill(a);
    bytes.set([b, c, d], length - 3);
    return bytes;
  });
}

const anyAddress = fc.oneof(crowdedAddress(4), crowdedAddress(16));
const anyPort = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constantFrom(65_534, 65_535));

export const anyRule = fc
  .record({
    action: fc.constantFrom('accept' as const, 'drop' as const),
    address: anyAddress,
    bits: fc.oneof(fc.nat(128), fc.constantFrom(0, 8, 24, 30, 31, 32, 96, 120, 127, 128)),
    portType: fc.constantFrom(null, null, 'tcp' as const, 'udp' as const, 'icmp' as const),
    ports: fc.tuple(anyPort, anyPort),
  })
  .map((fields): Omit<RuleConfig, 'id'> => ({
    action: fields.action,
    address: fields.address,
    prefixBits: Math.min(fields.bits, fields.address.length * 8),
    portType: fields.portType,
    portFirst: Math.min(...fields.ports),
    portLast: Math.max(...fields.ports),
  }));

export function anyRules(prefix: string, maxLength: number): fc.Arbitrary<RuleConfig[]> {
  return fc
    .array(anyRule, { maxLength, size: 'max' })
    .map((list) => list.map((fields, i) => ({ id: `${prefix}${i}`, ...fields })));
}

export const anyPacket: fc.Arbitrary<SlowPacket> = fc
  .record({
    destination: anyAddress,
    protocol: fc.constantFrom(1, 6, 6, 17, 17, 58, 58, 47),
    port: anyPort,
  })
  .map(({ destination, ...rest }) => ({
    ...rest,
    version: destination.length === 4 ? (4 as const) : (6 as const),
    destination: addressValue(destination),
  }));

/** Whole numbers below a bound, from the seed; each number begins others. */
export function numbers(number: number): (below: number) => number {
  const random = chance(number);
  const word = new DataView(new ArrayBuffer(4));
  return (below) => {
    random(new Uint8Array(word.buffer));
    return word.getUint32(0) % below;
  };
}

type Choose = ReturnType<typeof numbers>;

/** Bits of a prefix's host part: most prefixes are small, a few hold hundreds of others. */
const MANY_HOST_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 12];

/** A rule of either family, in so little space that rules nest and both scopes meet. */
export function manyRule(id: string, choose: Choose): RuleConfig {
  const bytes = choose(2) === 0 ? address('10.0.0.0') : address('fd00::');
  const last = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4);
  last.setUint32(0, last.getUint32(0) + choose(1 << 22));
  const portFirst = choose(65_536);
  return {
    id,
    action: choose(2) === 0 ? 'accept' : 'drop',
    address: bytes,
    prefixBits: bytes.length * 8 - MANY_HOST_BITS[choose(MANY_HOST_BITS.length)]!,
    portType: ([null, 'tcp', 'udp', 'icmp'] as const)[choose(4)]!,
    portFirst,
    portLast: Math.min(65_535, portFirst + choose(2) * choose(20_000)),
  };
}

/** A packet to the first or last address or port of a rule, inside it, or one beside it. */
export function packetNear(near: RuleConfig, choose: Choose): SlowPacket {
  const size = 1n << BigInt(near.address.length * 8 - near.prefixBits);
  const first = (addressValue(near.address) / size) * size;
  const last = first + size - 1n;
  const inside = first + BigInt(choose(Number(size)));
  const { portFirst, portLast } = near;
  const ports = [portFirst - 1, portFirst, portFirst, portLast, portLast, portLast + 1];
  return {
    version: near.address.length === 4 ? 4 : 6,
    destination: [first - 1n, first, inside, inside, last, last + 1n][choose(6)]!,
    protocol: [1, 1, 6, 6, 6, 17, 17, 17, 58, 58][choose(10)]!,
    port: Math.min(65_535, Math.max(0, ports[choose(6)]!)),
  };
}
