// The checksum of TCP (RFC 9293, 3.1; RFC 1071). A packet that the machine makes has the sum of the
// pseudo header in its field, as a super-packet of a TUN has: whoever cuts or sends it completes
// the checksum. Who cannot let native code do that completes and verifies here.

const PROTOCOL_TCP = 6;
const FIELD = 16;

function fold(sum: number): number {
  let folded = (sum & 0xffff) + (sum >>> 16);
  folded = (folded & 0xffff) + (folded >>> 16);
  return folded;
}

/** The sum of the words of so many bytes; at most 64 KiB, so that it fits 32 bits. */
function sumOf(view: DataView, at: number, length: number): number {
  let sum = 0;
  const end = at + (length & ~1);
  for (let i = at; i < end; i += 2) sum += view.getUint16(i);
  if ((length & 1) !== 0) sum += view.getUint8(end) << 8;
  return fold(sum >>> 0);
}

/** The sum of the pseudo header (RFC 9293, 3.1; RFC 8200, 8.1) of the packet at `offset`. */
function pseudoSum(view: DataView, offset: number, length: number): number {
  const isIpv6 = view.getUint8(offset) >> 4 === 6;
  const addresses = isIpv6 ? sumOf(view, offset + 8, 32) : sumOf(view, offset + 12, 8);
  return fold(addresses + PROTOCOL_TCP + length);
}

/** Writes the sum of the pseudo header into the TCP header `tcp`, which `length` bytes follow. */
export function writePartial(view: DataView, offset: number, tcp: number, length: number): void {
  view.setUint16(tcp + FIELD, pseudoSum(view, offset, length));
}

/** Completes the checksum of a packet whose field has the sum of the pseudo header. */
export function complete(view: DataView, tcp: number, length: number): void {
  view.setUint16(tcp + FIELD, ~sumOf(view, tcp, length) & 0xffff);
}

/** Whether the checksum of the TCP segment in the packet at `offset` is right. */
export function isRight(view: DataView, offset: number, tcp: number, length: number): boolean {
  return fold(pseudoSum(view, offset, length) + sumOf(view, tcp, length)) === 0xffff;
}

/** Writes the checksum of an IPv4 header of 20 bytes (RFC 791, 3.1). */
export function writeIpv4(view: DataView, offset: number): void {
  view.setUint16(offset + 10, 0);
  view.setUint16(offset + 10, ~sumOf(view, offset, 20) & 0xffff);
}
