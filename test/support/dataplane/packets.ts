// Packets for tests, beside those that hosts in memory make: extension headers, fragments, and the
// super-packets of a TUN.

import { checksum, concat, type Extension, viewOf } from '../../../dataplane/wire/packets.ts';

export * from '../../../dataplane/wire/packets.ts';

/** An extension header of zeros with the common form: length in 8-byte units behind the first. */
export function extension(type: number, units = 0): Extension {
  const body = new Uint8Array(7 + 8 * units);
  body[0] = units;
  return { type, body };
}

/** An IPv6 fragment header; `offset` counts 8-byte units. */
export function fragmentHeader(offset: number, more: boolean, identification = 7): Extension {
  const body = new Uint8Array(7);
  const view = new DataView(body.buffer);
  view.setUint16(1, (offset << 3) | (more ? 1 : 0));
  view.setUint32(3, identification);
  return { type: 44, body };
}

/** Bytes that count up, so that a misplaced one shows. */
export function counting(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => first + i);
}

/** A copy with one bit turned. */
export function turned(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice();
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}

// ---- super-packets ---------------------------------------------------------------------------

/** virtio_net_hdr (VIRTIO 1.2, section 5.1.6): flags and kinds of segmentation. */
export const NEEDS_CSUM = 1;
export const DATA_VALID = 2;
export const GSO_TCPV4 = 1;
export const GSO_TCPV6 = 4;
export const GSO_UDP_L4 = 5;
export const GSO_ECN = 0x80;

/** A packet as it goes through a TUN: its virtio_net_hdr and itself. */
export interface TunMessage {
  header: Uint8Array;
  packet: Uint8Array;
}

export interface VirtioFields {
  flags: number;
  gsoType: number;
  headerBytes: number;
  gsoSize: number;
  checksumStart: number;
  checksumOffset: number;
}

/** A virtio_net_hdr of 10 bytes, in the byte order of x86 and arm64. */
export function virtioHeader(fields: Partial<VirtioFields>): Uint8Array {
  const header = new Uint8Array(10);
  const view = new DataView(header.buffer);
  header[0] = fields.flags ?? 0;
  header[1] = fields.gsoType ?? 0;
  view.setUint16(2, fields.headerBytes ?? 0, true);
  view.setUint16(4, fields.gsoSize ?? 0, true);
  view.setUint16(6, fields.checksumStart ?? 0, true);
  view.setUint16(8, fields.checksumOffset ?? 0, true);
  return header;
}

export function readVirtioHeader(header: Uint8Array): VirtioFields {
  const view = viewOf(header);
  return {
    flags: header[0]!,
    gsoType: header[1]!,
    headerBytes: view.getUint16(2, true),
    gsoSize: view.getUint16(4, true),
    checksumStart: view.getUint16(6, true),
    checksumOffset: view.getUint16(8, true),
  };
}

/** Where the upper layer of a packet begins and its payload begins, and which one it is. */
function layersOf(packet: Uint8Array): { upper: number; payload: number; isTcp: boolean } {
  let upper = packet[0]! >> 4 === 4 ? (packet[0]! & 15) * 4 : 40;
  let protocol = packet[packet[0]! >> 4 === 4 ? 9 : 6]!;
  while (protocol !== 6 && protocol !== 17) {
    protocol = packet[upper]!;
    upper += 8 * (1 + packet[upper + 1]!);
  }
  const isTcp = protocol === 6;
  return { upper, payload: upper + (isTcp ? (packet[upper + 12]! >> 4) * 4 : 8), isTcp };
}

/** The pseudo header of a packet that is there as bytes. */
function pseudoHeaderOf(packet: Uint8Array, protocol: number, length: number): Uint8Array {
  const addresses = packet[0]! >> 4 === 4 ? packet.subarray(12, 20) : packet.subarray(8, 40);
  const tail = new Uint8Array(8);
  viewOf(tail).setUint32(0, length);
  viewOf(tail).setUint32(4, protocol);
  return concat(addresses, tail);
}

/** Writes the lengths of a packet into its headers and the checksum into that of IPv4. */
function setLengths(packet: Uint8Array): void {
  const view = viewOf(packet);
  const { upper, isTcp } = layersOf(packet);
  if (packet[0]! >> 4 === 4) {
    view.setUint16(2, packet.length);
    view.setUint16(10, 0);
    view.setUint16(10, checksum(packet.subarray(0, (packet[0]! & 15) * 4)));
  } else {
    view.setUint16(4, packet.length - 40);
  }
  if (!isTcp) view.setUint16(upper + 4, packet.length - upper);
}

/** The super-packet of which a kernel would make these segments, as its TUN hands it out. */
export function join(
  segments: readonly Uint8Array[],
  fields: Partial<VirtioFields> = {},
): TunMessage {
  const [first, last] = [segments[0]!, segments.at(-1)!];
  const { upper, payload, isTcp } = layersOf(first);
  const packet = concat(
    first.subarray(0, payload),
    ...segments.map((segment) => segment.subarray(payload)),
  );
  setLengths(packet);
  if (isTcp) packet[upper + 13]! |= last[upper + 13]!;
  const field = upper + (isTcp ? 16 : 6);
  const partial = checksum(pseudoHeaderOf(packet, isTcp ? 6 : 17, packet.length - upper));
  viewOf(packet).setUint16(field, ~partial & 0xffff);
  const gsoType = isTcp ? (packet[0]! >> 4 === 4 ? GSO_TCPV4 : GSO_TCPV6) : GSO_UDP_L4;
  const header = virtioHeader({
    flags: NEEDS_CSUM,
    gsoType,
    headerBytes: payload,
    gsoSize: first.length - payload,
    checksumStart: upper,
    checksumOffset: field - upper,
    ...fields,
  });
  return { header, packet };
}

/** What a kernel makes of a packet that is written to its TUN: segments, checksums complete. */
export function cut({ header, packet }: TunMessage): Uint8Array[] {
  const { flags, gsoType, gsoSize, checksumStart, checksumOffset } = readVirtioHeader(header);
  if (gsoType === 0) {
    if ((flags & NEEDS_CSUM) === 0) return [packet];
    const whole = packet.slice();
    const sum = checksum(whole.subarray(checksumStart));
    viewOf(whole).setUint16(checksumStart + checksumOffset, sum);
    return [whole];
  }
  const { payload } = layersOf(packet);
  const count = Math.ceil((packet.length - payload) / gsoSize);
  return Array.from({ length: count }, (_, i) => cutOne(packet, i, count, gsoSize));
}

function cutOne(packet: Uint8Array, i: number, count: number, gsoSize: number): Uint8Array {
  const { upper, payload, isTcp } = layersOf(packet);
  const at = payload + i * gsoSize;
  const segment = concat(packet.subarray(0, payload), packet.subarray(at, at + gsoSize));
  const view = viewOf(segment);
  if (packet[0]! >> 4 === 4) view.setUint16(4, view.getUint16(4) + i);
  setLengths(segment);
  if (isTcp) {
    view.setUint32(upper + 4, view.getUint32(upper + 4) + i * gsoSize);
    // CWR belongs to the first segment, FIN and PSH to the last.
    if (i > 0) segment[upper + 13]! &= ~0x80;
    if (i < count - 1) segment[upper + 13]! &= ~0x09;
  }
  const field = upper + (isTcp ? 16 : 6);
  view.setUint16(field, 0);
  const pseudo = pseudoHeaderOf(segment, isTcp ? 6 : 17, segment.length - upper);
  const sum = checksum(pseudo, segment.subarray(upper));
  view.setUint16(field, isTcp ? sum : sum || 0xffff);
  return segment;
}
