// Headers of the IP packets that this room makes beside TCP: UDP, echo replies, errors, fragments.
// `ends` are seen from the own side, which is the sender.

import { writeIpv4 } from '../tcp/checksum.ts';
import { IPV4_BYTES, IPV6_BYTES } from '../tcp/header.ts';
import { TCP_BYTES } from '../tcp/segment.ts';
import { Ends } from '../tcp/table.ts';
import { checksum } from '../wire/checksum.ts';
import { PROTOCOL_TCP, PROTOCOL_UDP, TCP_ACK } from '../wire/ip.ts';

export const UDP_BYTES = 8;
export const FRAGMENT_BYTES = 8;
export const ECHO_REQUEST = 8;
export const ECHO_REQUEST_V6 = 128;
const HOP_LIMIT = 64;
const MORE_FRAGMENTS = 0x2000;
const FRAGMENT_HEADER = 44;

/** Bytes of an IP header. */
export function ipBytes(isIpv6: boolean): number {
  return isIpv6 ? IPV6_BYTES : IPV4_BYTES;
}

/** Writes the IP header of a packet of `length` bytes that may be fragmented on its way. */
export function writeIp(
  view: DataView,
  offset: number,
  { isIpv6, words }: Ends,
  protocol: number,
  length: number,
): void {
  if (isIpv6) {
    view.setUint32(offset, 0x6000_0000);
    view.setUint16(offset + 4, length - IPV6_BYTES);
    view.setUint8(offset + 6, protocol);
    view.setUint8(offset + 7, HOP_LIMIT);
    for (let i = 0; i < 8; i++) view.setInt32(offset + 8 + 4 * i, words[i]!);
    return;
  }
  view.setUint16(offset, 0x4500);
  view.setUint16(offset + 2, length);
  view.setInt32(offset + 4, 0);
  view.setUint8(offset + 8, HOP_LIMIT);
  view.setUint8(offset + 9, protocol);
  view.setInt32(offset + 12, words[0]!);
  view.setInt32(offset + 16, words[4]!);
  writeIpv4(view, offset);
}

/** Turns the header that `writeIp` wrote into that of a fragment, whose payload begins at `at`. */
export function turnIntoFragment(
  view: DataView,
  offset: number,
  isIpv6: boolean,
  identification: number,
  at: number,
  hasMore: boolean,
): void {
  if (!isIpv6) {
    view.setUint16(offset + 4, identification & 0xffff);
    view.setUint16(offset + 6, (at >> 3) | (hasMore ? MORE_FRAGMENTS : 0));
    writeIpv4(view, offset);
    return;
  }
  const protocol = view.getUint8(offset + 6);
  view.setUint8(offset + 6, FRAGMENT_HEADER);
  view.setUint16(offset + IPV6_BYTES, protocol << 8);
  view.setUint16(offset + IPV6_BYTES + 2, at | (hasMore ? 1 : 0));
  view.setInt32(offset + IPV6_BYTES + 4, identification);
}

const reversed = new Ends();

/**
 * Writes the beginning of a packet that a device sends between these ends: the IP header, and of
 * TCP, UDP or an echo request what says to which flow it belongs. `number` is the sequence number
 * of TCP or of the echo. Returns its bytes.
 */
export function writeSent(
  view: DataView,
  offset: number,
  { isIpv6, words }: Ends,
  protocol: number,
  number: number,
): number {
  reversed.isIpv6 = isIpv6;
  for (let i = 0; i < 4; i++) {
    reversed.words[i] = words[4 + i]!;
    reversed.words[4 + i] = words[i]!;
  }
  const upper = ipBytes(isIpv6);
  const at = offset + upper;
  const bytes = protocol === PROTOCOL_TCP ? TCP_BYTES : UDP_BYTES;
  writeIp(view, offset, reversed, protocol, upper + bytes);
  const ports = (words[8]! << 16) | (words[8]! >>> 16);
  if (protocol === PROTOCOL_TCP) {
    view.setInt32(at, ports);
    view.setInt32(at + 4, number);
    view.setInt32(at + 8, 0);
    view.setInt32(at + 12, (TCP_BYTES << 26) | (TCP_ACK << 16));
    view.setInt32(at + 16, 0);
  } else if (protocol === PROTOCOL_UDP) {
    view.setInt32(at, ports);
    view.setInt32(at + 4, UDP_BYTES << 16);
  } else {
    view.setInt32(at, (isIpv6 ? ECHO_REQUEST_V6 : ECHO_REQUEST) << 24);
    // The identifier is in place of the device's port.
    view.setInt32(at + 4, (ports & ~0xffff) | (number & 0xffff));
  }
  return upper + bytes;
}

/** The sum of the pseudo header (RFC 768; RFC 8200, 8.1) of `length` bytes of the upper layer. */
export function pseudoSum({ isIpv6, words }: Ends, protocol: number, length: number): number {
  let sum = protocol + length + halves(words[0]!) + halves(words[4]!);
  if (isIpv6) for (let i = 1; i < 4; i++) sum += halves(words[i]!) + halves(words[4 + i]!);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}

function halves(word: number): number {
  return (word >>> 16) + (word & 0xffff);
}

/** Whether the checksum of the IPv4 header at `offset` is right (RFC 791, 3.1). */
export function isIpv4HeaderRight(view: DataView, offset: number): boolean {
  return checksum(view, offset, (view.getUint8(offset) & 0x0f) << 2, 0) === 0;
}
