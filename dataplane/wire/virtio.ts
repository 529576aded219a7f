// The virtio_net_hdr before each packet of a TUN (VIRTIO 1.2, section 5.1.6), as far as TypeScript
// reads and writes it. Its byte order is that of the machine: Postern runs on little-endian ones.

import { type InnerPacket, PROTOCOL_TCP } from './ip.ts';

/** Bytes of the header. */
export const VIRTIO_HEADER_BYTES = 10;

const FLAGS = 0;
const GSO_TYPE = 1;
const HEADER_BYTES = 2;
const GSO_SIZE = 4;
const CHECKSUM_START = 6;
const CHECKSUM_FIELD = 8;
const GSO_TCPV4 = 1;
const GSO_TCPV6 = 4;
const GSO_UDP_L4 = 5;
const NEEDS_CHECKSUM = 1;
const UDP_HEADER_BYTES = 8;
/** Without options; whoever cuts a packet reads how long its header is. */
const TCP_HEADER_BYTES = 20;

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

/** Writes the header at `at` of a packet that is complete. */
export function writeNoVirtio(view: DataView, at: number): void {
  view.setInt32(at, 0);
  view.setInt32(at + 4, 0);
  view.setInt16(at + 8, 0);
}

/** … of a packet whose checksum, in `field` of the header `upper`, covers the pseudo header. */
export function writePartialChecksum(
  view: DataView,
  at: number,
  upper: number,
  field: number,
): void {
  writeNoVirtio(view, at);
  view.setUint8(at + FLAGS, NEEDS_CHECKSUM);
  view.setUint16(at + CHECKSUM_START, upper, true);
  view.setUint16(at + CHECKSUM_FIELD, field, true);
}

/** … of a super-packet, which is cut into packets of `segment` bytes of payload. */
export function writeRun(
  view: DataView,
  at: number,
  isIpv6: boolean,
  protocol: number,
  upper: number,
  field: number,
  segment: number,
): void {
  writePartialChecksum(view, at, upper, field);
  const ofTcp = isIpv6 ? GSO_TCPV6 : GSO_TCPV4;
  view.setUint8(at + GSO_TYPE, protocol === PROTOCOL_TCP ? ofTcp : GSO_UDP_L4);
  const headers = protocol === PROTOCOL_TCP ? TCP_HEADER_BYTES : UDP_HEADER_BYTES;
  view.setUint16(at + HEADER_BYTES, upper + headers, true);
  view.setUint16(at + GSO_SIZE, segment, true);
}
