// The virtio_net_hdr before each packet of a TUN (VIRTIO 1.2, section 5.1.6), as far as TypeScript
// reads it. Its byte order is that of the machine; Postern runs on little-endian machines.

import { type InnerPacket, PROTOCOL_TCP } from './ip.ts';

/** Bytes of the header. */
export const VIRTIO_HEADER_BYTES = 10;

const FLAGS = 0;
const GSO_TYPE = 1;
const GSO_SIZE = 4;
const NEEDS_CHECKSUM = 1;
const UDP_HEADER_BYTES = 8;

/** Whether the checksum of the packet at `offset` covers only its pseudo header so far. */
export function hasPartialChecksum(view: DataView, offset: number): boolean {
  return (view.getUint8(offset - VIRTIO_HEADER_BYTES + FLAGS) & NEEDS_CHECKSUM) !== 0;
}

/** Whether the packet at `offset` is complete and no super-packet. */
export function isPlain(view: DataView, offset: number): boolean {
  return !hasPartialChecksum(view, offset) && !isSuperPacket(view, offset);
}

/**
 * Bytes of the largest packet into which the super-packet at `offset` is cut; of another packet,
 * its length.
 */
export function segmentBytes(view: DataView, offset: number, packet: InnerPacket): number {
  if (!isSuperPacket(view, offset)) return packet.length;
  return headerBytes(view, offset, packet) + payloadBytes(view, offset);
}

/** How many packets the packet at `offset` is cut into: more than one for a super-packet. */
export function segmentsOf(view: DataView, offset: number, packet: InnerPacket): number {
  if (!isSuperPacket(view, offset)) return 1;
  const payload = packet.length - headerBytes(view, offset, packet);
  return Math.max(1, Math.ceil(payload / Math.max(1, payloadBytes(view, offset))));
}

/** Bytes of all packets into which the super-packet at `offset` is cut; each has the headers. */
export function bytesOfSegments(
  view: DataView,
  offset: number,
  packet: InnerPacket,
  segments: number,
): number {
  return packet.length + (segments - 1) * headerBytes(view, offset, packet);
}

function isSuperPacket(view: DataView, offset: number): boolean {
  return view.getUint8(offset - VIRTIO_HEADER_BYTES + GSO_TYPE) !== 0;
}

/** Bytes of the headers that each of the packets gets. */
function headerBytes(view: DataView, offset: number, packet: InnerPacket): number {
  const upper = offset + packet.upperOffset;
  const upperBytes =
    packet.protocol === PROTOCOL_TCP ? (view.getUint8(upper + 12) >> 4) * 4 : UDP_HEADER_BYTES;
  return packet.upperOffset + upperBytes;
}

/** Bytes of payload that each of the packets gets, but for the last one. */
function payloadBytes(view: DataView, offset: number): number {
  return view.getUint16(offset - VIRTIO_HEADER_BYTES + GSO_SIZE, true);
}
