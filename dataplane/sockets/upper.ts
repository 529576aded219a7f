// The headers of UDP and ICMP: whether they are right, and how they are written.

import type { Ends } from '../tcp/table.ts';
import { checksum } from '../wire/checksum.ts';
import { type InnerPacket, PROTOCOL_ICMPV6, PROTOCOL_UDP } from '../wire/ip.ts';
import { ECHO_REQUEST, ECHO_REQUEST_V6, pseudoSum, UDP_BYTES } from './headers.ts';

/** Writes a UDP header before `bytes`; its checksum covers the pseudo header. */
export function writeUdp(view: DataView, at: number, ends: Ends, bytes: number): void {
  view.setInt32(at, ends.words[8]!);
  view.setUint16(at + 4, UDP_BYTES + bytes);
  view.setUint16(at + 6, pseudoSum(ends, PROTOCOL_UDP, UDP_BYTES + bytes));
}

/** A datagram may have no checksum (RFC 768; RFC 6936). */
export function isUdpRight(view: DataView, upper: number, ends: Ends): boolean {
  if (view.getUint16(upper + 6) === 0) return true;
  const length = view.getUint16(upper + 4);
  return checksum(view, upper, length, pseudoSum(ends, PROTOCOL_UDP, length)) === 0;
}

/** Whether the checksum of an ICMP message is right. */
export function isIcmpRight(view: DataView, upper: number, length: number, ends: Ends): boolean {
  const pseudo = ends.isIpv6 ? pseudoSum(ends, PROTOCOL_ICMPV6, length) : 0;
  return checksum(view, upper, length, pseudo) === 0;
}

/** Whether a message asks for an echo. */
export function isEcho(
  view: DataView,
  upper: number,
  length: number,
  packet: InnerPacket,
): boolean {
  const request = packet.version === 6 ? ECHO_REQUEST_V6 : ECHO_REQUEST;
  return length >= UDP_BYTES && view.getUint16(upper) === request << 8;
}
