// Fragments of IP datagrams (RFC 791, RFC 8200 section 4.5): which ones nobody can put together,
// and how the headers of the whole datagram follow from those of its first fragment.

import { reasons } from '../reasons.ts';
import { checksum } from './checksum.ts';
import { mayNotFragment } from './icmp.ts';
import { FIRST_FRAGMENT, type InnerPacket, isIcmp, PROTOCOL_TCP } from './ip.ts';

/** The longest datagram: over IPv6 without the first 40 bytes. */
const DATAGRAM_BYTES_MAX = 65_535;
const IPV6_HEADER_BYTES = 40;
const FRAGMENT_HEADER_BYTES = 8;
const ICMP_HEADER_BYTES = 8;
const FRAGMENT = 44;
const DONT_FRAGMENT = 0x4000;

/** Whether fragments follow after this one. */
export function hasMore(view: DataView, offset: number, packet: InnerPacket): boolean {
  return packet.version === 4
    ? (view.getUint16(offset + 6) & 0x2000) !== 0
    : (view.getUint16(offset + packet.fragmentedAt - 6) & 1) !== 0;
}

/**
 * Why nobody can put a readable fragment together with others, or reasons.none. The first fragment
 * has all headers (RFC 7112); what it lacks of TCP and UDP, wire/ip.ts has refused.
 */
export function findFragmentError(view: DataView, offset: number, packet: InnerPacket): number {
  const bytes = packet.length - packet.fragmentedAt;
  const end = packet.fragmentOffset * 8 + bytes;
  if (bytes === 0 || (hasMore(view, offset, packet) && bytes % 8 !== 0))
    return reasons.inner_fragment_malformed;
  if (wholeBytes(packet, end) > longest(packet)) return reasons.inner_fragment_malformed;
  if (packet.version === 4 && !isIpv4HeaderIntact(view, offset))
    return reasons.inner_fragment_malformed;
  return packet.fragment === FIRST_FRAGMENT && !hasUpperHeader(view, offset, packet)
    ? reasons.inner_fragment_unsafe
    : reasons.none;
}

function hasUpperHeader(view: DataView, offset: number, packet: InnerPacket): boolean {
  const bytes = packet.length - packet.upperOffset;
  if (packet.protocol === PROTOCOL_TCP)
    return (view.getUint8(offset + packet.upperOffset + 12) >> 4) * 4 <= bytes;
  return !isIcmp(packet) || bytes >= ICMP_HEADER_BYTES;
}

/** Bytes of the headers of a fragment that come before the fragmentable part of the datagram. */
export function headBytes(packet: InnerPacket): number {
  return packet.version === 4 ? packet.fragmentedAt : packet.fragmentedAt - FRAGMENT_HEADER_BYTES;
}

/** Bytes of the datagram with the headers of this fragment and a fragmentable part of `end`. */
export function wholeBytes(packet: InnerPacket, end: number): number {
  return headBytes(packet) + end;
}

/** The most bytes that a datagram can have. */
export function longest(packet: InnerPacket): number {
  return packet.version === 4 ? DATAGRAM_BYTES_MAX : IPV6_HEADER_BYTES + DATAGRAM_BYTES_MAX;
}

/** The byte of the fragment header that says what follows it. IPv4 has no such header. */
export function nextHeaderOf(view: DataView, offset: number, packet: InnerPacket): number {
  return view.getUint8(offset + packet.fragmentedAt - FRAGMENT_HEADER_BYTES);
}

/** Bytes of a packet for its receiver if it may not be fragmented on its way; else 0. */
export function unfragmentedBytes(view: DataView, offset: number, packet: InnerPacket): number {
  return mayNotFragment(view, offset, packet) ? packet.length : 0;
}

/**
 * Turns the headers at `offset`, which are those of the first fragment `first` without its fragment
 * header, into the headers of the whole datagram of `bytes`. `next` is what follows them over IPv6.
 */
export function turnIntoWhole(
  view: DataView,
  offset: number,
  first: InnerPacket,
  bytes: number,
  hopLimit: number,
  next: number,
): void {
  if (first.version === 4) {
    view.setUint16(offset + 2, bytes);
    view.setUint16(offset + 6, view.getUint16(offset + 6) & DONT_FRAGMENT);
    view.setUint8(offset + 8, hopLimit);
    view.setUint16(offset + 10, 0);
    view.setUint16(offset + 10, checksum(view, offset, headBytes(first), 0));
    return;
  }
  view.setUint16(offset + 4, bytes - IPV6_HEADER_BYTES);
  view.setUint8(offset + 7, hopLimit);
  // The headers before it were walked when the fragment came.
  const end = headBytes(first);
  let named = 6;
  let at = IPV6_HEADER_BYTES;
  while (view.getUint8(offset + named) !== FRAGMENT && at < end) {
    const units = view.getUint8(offset + at + 1);
    const isAuthentication = view.getUint8(offset + named) === 51;
    named = at;
    at += isAuthentication ? (units + 2) * 4 : (units + 1) * 8;
  }
  view.setUint8(offset + named, next);
}

/**
 * Whether the header checksum is right (RFC 791): the sum of all words of the header is all ones.
 * Other systems drop such a fragment before they join anything, and wait for another one.
 */
function isIpv4HeaderIntact(view: DataView, offset: number): boolean {
  const bytes = (view.getUint8(offset) & 0x0f) << 2;
  let sum = 0;
  for (let i = 0; i < bytes; i += 2) sum += view.getUint16(offset + i);
  sum = (sum & 0xffff) + (sum >>> 16);
  return (sum & 0xffff) + (sum >>> 16) === 0xffff;
}
