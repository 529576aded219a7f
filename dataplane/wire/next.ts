// Most packets follow one of the same flow, with the same header but for its length. Here such a
// packet is recognized by fewer reads than it takes to decode and check it. Packets with anything
// special in their headers are never recognized.

import { type InnerPacket, PROTOCOL_TCP, PROTOCOL_UDP, TCP_ACK, WHOLE } from './ip.ts';

const TCP_PSH = 0x08;
const TCP_HEADER_BYTES = 20;
const UDP_HEADER_BYTES = 8;
const IPV6_HEADER_BYTES = 40;

/** In place of a length. */
const OTHER = -1;

/**
 * Whether the packet at `offset`, of which `available` bytes are there, differs from the sound
 * `packet` in nothing but its length, PSH, and fields that are not decoded. Then `packet` is that
 * of `offset`. Never allocates, and never reads past `offset + available`.
 */
export function isNext(
  view: DataView,
  offset: number,
  available: number,
  packet: InnerPacket,
): boolean {
  const { protocol, upperOffset } = packet;
  const isTcp = protocol === PROTOCOL_TCP;
  if (packet.fragment !== WHOLE || (!isTcp && protocol !== PROTOCOL_UDP)) return false;
  if (available < upperOffset + (isTcp ? TCP_HEADER_BYTES : UDP_HEADER_BYTES)) return false;
  const length =
    packet.version === 4 ? ipv4Length(view, offset, packet) : ipv6Length(view, offset, packet);
  if (length === OTHER || length > available) return false;
  const at = offset + upperOffset;
  if (view.getUint16(at) !== packet.sourcePort || view.getUint16(at + 2) !== packet.destinationPort)
    return false;
  const bytes = length - upperOffset;
  if (isTcp) {
    const headerBytes = (view.getUint8(at + 12) >> 4) << 2;
    const flags = view.getUint8(at + 13);
    if (headerBytes < TCP_HEADER_BYTES || headerBytes > bytes) return false;
    if (!isAck(flags) || !isAck(packet.flags)) return false;
    packet.flags = flags;
  } else {
    const datagramBytes = view.getUint16(at + 4);
    if (datagramBytes < UDP_HEADER_BYTES || datagramBytes > bytes) return false;
    if (packet.version === 6 && view.getUint16(at + 6) === 0) return false;
  }
  packet.length = length;
  return true;
}

/** Whether a TCP segment neither begins nor ends anything. */
function isAck(flags: number): boolean {
  return (flags & ~TCP_PSH) === TCP_ACK;
}

/** The length of the packet at `offset`, or OTHER where its header is not that of `packet`. */
function ipv4Length(view: DataView, offset: number, packet: InnerPacket): number {
  return view.getUint8(offset) === (0x40 | (packet.upperOffset >> 2)) &&
    (view.getUint16(offset + 6) & 0x3fff) === 0 &&
    view.getUint16(offset + 8) === ((packet.hopLimit << 8) | packet.protocol) &&
    view.getInt32(offset + 12) === packet.source0 &&
    view.getInt32(offset + 16) === packet.destination0
    ? view.getUint16(offset + 2)
    : OTHER;
}

/**
 * The length of the packet at `offset`, or OTHER where its header is not that of `packet`, or has
 * extension headers.
 */
function ipv6Length(view: DataView, offset: number, packet: InnerPacket): number {
  return packet.upperOffset === IPV6_HEADER_BYTES &&
    view.getUint8(offset) >> 4 === 6 &&
    view.getUint16(offset + 6) === ((packet.protocol << 8) | packet.hopLimit) &&
    view.getInt32(offset + 8) === packet.source0 &&
    view.getInt32(offset + 12) === packet.source1 &&
    view.getInt32(offset + 16) === packet.source2 &&
    view.getInt32(offset + 20) === packet.source3 &&
    view.getInt32(offset + 24) === packet.destination0 &&
    view.getInt32(offset + 28) === packet.destination1 &&
    view.getInt32(offset + 32) === packet.destination2 &&
    view.getInt32(offset + 36) === packet.destination3
    ? IPV6_HEADER_BYTES + view.getUint16(offset + 4)
    : OTHER;
}
