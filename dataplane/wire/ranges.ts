// Special addresses: those that may not appear inside a tunnel, and those at which a cloud answers
// its machine. An IPv4 address inside an IPv6 address is treated like the IPv4 address. Addresses
// are signed 32-bit words, most significant first.

import type { InnerPacket } from './ip.ts';

/** Whether a packet's source may not appear inside a tunnel. */
export function hasReservedSource(packet: InnerPacket): boolean {
  return packet.version === 4
    ? isReservedIpv4(packet.source0)
    : isReservedIpv6(packet.source0, packet.source1, packet.source2, packet.source3);
}

/** Whether a packet's destination may not be reached from inside a tunnel. */
export function hasReservedDestination(packet: InnerPacket): boolean {
  return packet.version === 4
    ? isReservedIpv4(packet.destination0)
    : isReservedIpv6(
        packet.destination0,
        packet.destination1,
        packet.destination2,
        packet.destination3,
      );
}

/**
 * Whether an IPv4 address is in 0/8, 127/8, 169.254/16 or 224/4, or is the limited broadcast (RFC
 * 6890).
 */
export function isReservedIpv4(address: number): boolean {
  const first = address >>> 24;
  if (first === 0 || first === 127) return true;
  if (first >= 224) return first < 240 || address === -1;
  return address >>> 16 === 0xa9fe;
}

/**
 * Whether an IPv6 address is ::, ::1, in ::ffff:0:0/96, fe80::/10 or ff00::/8 (RFC 6890), or
 * contains a reserved IPv4 address.
 */
export function isReservedIpv6(a: number, b: number, c: number, d: number): boolean {
  if (a === 0 && b === 0) {
    if (c === 0 && (d === 0 || d === 1)) return true;
    if (c === 0x0000ffff) return true;
  }
  const first = a >>> 16;
  if ((first & 0xffc0) === 0xfe80 || first >>> 8 === 0xff) return true;
  return holdsIpv4(a, b, c) && isReservedIpv4(heldIpv4(a, b, d));
}

/**
 * Whether a packet goes to an address at which a cloud gives a machine its identity and
 * credentials: Azure 168.63.129.16, Alibaba 100.100.100.200, Oracle 192.0.0.192, AWS fd00:ec2::254
 * and (for pods) fd00:ec2::23, Google fd20:ce::254. 169.254.169.254 is not here: it is reserved
 * anyway.
 */
export function isBoundForMetadata(packet: InnerPacket): boolean {
  if (packet.version === 4) return isMetadataIpv4(packet.destination0);
  const { destination0: a, destination1: b, destination2: c, destination3: d } = packet;
  if (holdsIpv4(a, b, c)) return isMetadataIpv4(heldIpv4(a, b, d));
  if (c !== 0) return false;
  if (a === AWS_0 && b === AWS_1) return d === 0x0254 || d === 0x0023;
  return a === GOOGLE_0 && b === 0 && d === 0x0254;
}

const AWS_0 = 0xfd00_0ec2 | 0;
const AWS_1 = 0;
const GOOGLE_0 = 0xfd20_00ce | 0;

function isMetadataIpv4(address: number): boolean {
  switch (address) {
    case 0xa83f_8110 | 0: // 168.63.129.16
    case 0x6464_64c8: // 100.100.100.200
    case 0xc000_00c0 | 0: // 192.0.0.192
      return true;
    default:
      return false;
  }
}

/**
 * Whether an IPv6 address contains an IPv4 address: 64:ff9b::/96 and 64:ff9b:1::/48 (RFC 6052, RFC
 * 8215), 2002::/16 (RFC 3056), ::ffff:0:0:0/96 (RFC 2765) and ::/96 (RFC 4291, 2.5.5.1), which a
 * host with an old tunnel interface (sit0) sends to the IPv4 address.
 */
export function holdsIpv4(a: number, b: number, c: number): boolean {
  if (a >>> 16 === 0x2002) return true;
  if (a === 0x0064_ff9b) return (b === 0 && c === 0) || b >>> 16 === 1;
  return a === 0 && b === 0 && (c === 0 || c === (0xffff_0000 | 0));
}

/** The IPv4 address inside such an address: after 2002, or at the end. */
export function heldIpv4(a: number, b: number, d: number): number {
  return a >>> 16 === 0x2002 ? (a << 16) | (b >>> 16) : d;
}
