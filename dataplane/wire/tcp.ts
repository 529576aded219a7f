// Clamps the maximum segment size of TCP to what fits through the tunnel (RFC 9293, 3.7.1). Only
// handshakes contain it, and nothing else of TCP is changed.

import { type InnerPacket, TCP_SYN } from './ip.ts';

const END = 0;
const NO_OPERATION = 1;
const MAXIMUM_SEGMENT_SIZE = 2;
const MAXIMUM_SEGMENT_SIZE_BYTES = 4;
const HEADER_BYTES = 20;
const CHECKSUM = 16;
/** The smallest size of an IPv4 header and a TCP header. */
const HEADERS_V4 = 40;
/** The smallest size of an IPv6 header and a TCP header. */
const HEADERS_V6 = 60;

/** Whether a packet has the flag SYN; only such packets are clamped. */
export function isHandshake(packet: InnerPacket): boolean {
  return (packet.flags & TCP_SYN) !== 0;
}

/**
 * Lowers the maximum segment size in the packet at `offset` to what fits into `mtu`. `isPartial`:
 * its checksum covers only the pseudo header so far.
 */
export function clampSegmentSize(
  view: DataView,
  offset: number,
  packet: InnerPacket,
  mtu: number,
  isPartial: boolean,
): void {
  const limit = mtu - (packet.version === 4 ? HEADERS_V4 : HEADERS_V6);
  const tcp = offset + packet.upperOffset;
  const headerEnd = tcp + (view.getUint8(tcp + 12) >> 4) * 4;
  const end = Math.min(headerEnd, offset + packet.length);
  for (let at = tcp + HEADER_BYTES; at < end;) {
    const kind = view.getUint8(at);
    if (kind === END) return;
    if (kind === NO_OPERATION) {
      at += 1;
      continue;
    }
    const length = at + 1 < end ? view.getUint8(at + 1) : 0;
    if (length < 2 || at + length > end) return;
    if (kind === MAXIMUM_SEGMENT_SIZE && length === MAXIMUM_SEGMENT_SIZE_BYTES)
      lower(view, tcp, at + 2, limit, isPartial);
    at += length;
  }
}

function lower(view: DataView, tcp: number, at: number, limit: number, isPartial: boolean): void {
  const announced = view.getUint16(at);
  if (announced <= limit) return;
  view.setUint16(at, limit);
  if (isPartial) return;
  // RFC 1624, equation 3. At an odd place the two bytes of the number belong to two words of the
  // sum, so they are added in the other order (RFC 1071, 2 B).
  const isOdd = ((at - tcp) & 1) === 1;
  const before = isOdd ? swapped(announced) : announced;
  const after = isOdd ? swapped(limit) : limit;
  let sum = (~view.getUint16(tcp + CHECKSUM) & 0xffff) + (~before & 0xffff) + after;
  sum = (sum & 0xffff) + (sum >>> 16);
  sum = (sum & 0xffff) + (sum >>> 16);
  view.setUint16(tcp + CHECKSUM, ~sum & 0xffff);
}

function swapped(word: number): number {
  return ((word & 0xff) << 8) | (word >>> 8);
}
