// Most packets come after one of the same flow and have the same header but for their length. Here
// such a packet is recognized by comparing headers. Packets with anything special in their headers
// are never recognized.

import { reasons } from '../reasons.ts';
import { type InnerPacket, parseUpper, PROTOCOL_TCP, PROTOCOL_UDP, TCP_ACK, WHOLE } from './ip.ts';
import { findMalformed } from './malformed.ts';

const TCP_PSH = 0x08;
const IPV6_HEADER_BYTES = 40;

/** In place of a length. */
const OTHER = -1;

/**
 * Whether the packet at `offset`, of which `available` bytes are there, differs from the sound
 * `packet` in nothing but its length, PSH, and fields that are not decoded. Then `packet` is that
 * of `offset`; else it stays as it is. Never allocates, and never reads past `offset + available`.
 */
export function isNext(
  view: DataView,
  offset: number,
  available: number,
  packet: InnerPacket,
): boolean {
  const { length, sourcePort, destinationPort, flags, protocol } = packet;
  const isTcp = protocol === PROTOCOL_TCP;
  if (packet.fragment !== WHOLE || (!isTcp && protocol !== PROTOCOL_UDP)) return false;
  if (available < packet.upperOffset) return false;
  const next =
    packet.version === 4 ? ipv4Length(view, offset, packet) : ipv6Length(view, offset, packet);
  if (next === OTHER || next > available) return false;
  packet.length = next;
  if (
    parseUpper(view, offset, packet) === reasons.none &&
    packet.sourcePort === sourcePort &&
    packet.destinationPort === destinationPort &&
    (!isTcp || (isAck(flags) && isAck(packet.flags))) &&
    findMalformed(view, offset, packet) === reasons.none
  )
    return true;
  packet.length = length;
  packet.sourcePort = sourcePort;
  packet.destinationPort = destinationPort;
  packet.flags = flags;
  return false;
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
