// The checksum of TCP (RFC 9293, 3.1; RFC 1071). A packet that the machine makes has the sum of the
// pseudo header in its field, as a super-packet of a TUN has: whoever cuts or sends it completes
// the checksum. Who cannot let native code do that completes and verifies here.

import { checksum } from '../wire/checksum.ts';
import { PROTOCOL_TCP } from '../wire/ip.ts';

const FIELD = 16;

/** The sum of the pseudo header (RFC 9293, 3.1; RFC 8200, 8.1) of the packet at `offset`. */
function pseudoSum(view: DataView, offset: number, length: number): number {
  const isIpv6 = view.getUint8(offset) >> 4 === 6;
  const others = PROTOCOL_TCP + length;
  const complement = isIpv6
    ? checksum(view, offset + 8, 32, others)
    : checksum(view, offset + 12, 8, others);
  return ~complement & 0xffff;
}

/** Writes the sum of the pseudo header into the TCP header `tcp`, which `length` bytes follow. */
export function writePartial(view: DataView, offset: number, tcp: number, length: number): void {
  view.setUint16(tcp + FIELD, pseudoSum(view, offset, length));
}

/** Completes the checksum of a packet whose field has the sum of the pseudo header. */
export function complete(view: DataView, tcp: number, length: number): void {
  view.setUint16(tcp + FIELD, checksum(view, tcp, length, 0));
}

/** Whether the checksum of the TCP segment in the packet at `offset` is right. */
export function isRight(view: DataView, offset: number, tcp: number, length: number): boolean {
  return checksum(view, tcp, length, pseudoSum(view, offset, length)) === 0;
}

/** Writes the checksum of an IPv4 header of 20 bytes (RFC 791, 3.1). */
export function writeIpv4(view: DataView, offset: number): void {
  view.setUint16(offset + 10, 0);
  view.setUint16(offset + 10, checksum(view, offset, 20, 0));
}
