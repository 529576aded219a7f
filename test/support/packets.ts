// Hand-made inner packets for tests: IPv4 and IPv6 with UDP, TCP and ICMP, checksums right.

import { parseAddress } from '../../dataplane/wire/address.ts';

/** Bytes of an address given as text. */
export function address(text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes === null) throw new Error(`${text} is no address`);
  return bytes;
}

/** One's complement sum of 16-bit words, complemented (RFC 1071). */
export function checksum(...parts: Uint8Array[]): number {
  const bytes = concat(...parts);
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i]! << 8) | (bytes[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

export function concat(...parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** What may be said about the IP header of any packet; what is left out is ordinary. */
export interface IpExtras {
  hopLimit?: number;
  /** IPv4: TOS; IPv6: traffic class. */
  trafficClass?: number;
  /** IPv4 only. */
  identification?: number;
  /** IPv4 flags and fragment offset, the 16 bits as they stand. */
  fragment?: number;
  /** IPv4 options, a multiple of 4 bytes. */
  ipOptions?: Uint8Array;
  /** IPv6 only. */
  flowLabel?: number;
  /** IPv6 extension headers before the payload, outermost first. */
  extensions?: readonly Extension[];
}

/** An IPv6 extension header: its protocol number and all of it behind the next-header byte. */
export interface Extension {
  type: number;
  body: Uint8Array;
}

/** Fields of an IP packet. */
export interface IpFields extends IpExtras {
  source: string;
  destination: string;
  protocol: number;
  payload: Uint8Array;
}

/** An IP packet of the family of its addresses. */
export function ip(fields: IpFields): Uint8Array {
  const source = address(fields.source);
  const destination = address(fields.destination);
  return source.length === 4
    ? ipv4(fields, source, destination)
    : ipv6(fields, source, destination);
}

function ipv4(fields: IpFields, source: Uint8Array, destination: Uint8Array): Uint8Array {
  const options = fields.ipOptions ?? new Uint8Array(0);
  const header = new Uint8Array(20 + options.length);
  const view = new DataView(header.buffer);
  header[0] = 0x40 | (header.length / 4);
  header[1] = fields.trafficClass ?? 0;
  view.setUint16(2, header.length + fields.payload.length);
  view.setUint16(4, fields.identification ?? 0);
  view.setUint16(6, fields.fragment ?? 0x4000);
  header[8] = fields.hopLimit ?? 64;
  header[9] = fields.protocol;
  header.set(source, 12);
  header.set(destination, 16);
  header.set(options, 20);
  view.setUint16(10, checksum(header));
  return concat(header, fields.payload);
}

function ipv6(fields: IpFields, source: Uint8Array, destination: Uint8Array): Uint8Array {
  const extensions = fields.extensions ?? [];
  const types = [...extensions.map((extension) => extension.type), fields.protocol];
  const chain = extensions.map(({ body }, i) => concat(new Uint8Array([types[i + 1]!]), body));
  const payload = concat(...chain, fields.payload);
  const header = new Uint8Array(40);
  const view = new DataView(header.buffer);
  view.setUint32(
    0,
    ((0x60 << 24) | ((fields.trafficClass ?? 0) << 20) | (fields.flowLabel ?? 0)) >>> 0,
  );
  view.setUint16(4, payload.length);
  header[6] = types[0]!;
  header[7] = fields.hopLimit ?? 64;
  header.set(source, 8);
  header.set(destination, 24);
  return concat(header, payload);
}

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

function pseudoHeader(
  source: string,
  destination: string,
  protocol: number,
  length: number,
): Uint8Array {
  const tail = new Uint8Array(8);
  const view = new DataView(tail.buffer);
  view.setUint32(0, length);
  view.setUint32(4, protocol);
  return concat(address(source), address(destination), tail);
}

export interface UdpFields extends IpExtras {
  source: string;
  destination: string;
  sourcePort?: number;
  destinationPort?: number;
  data?: Uint8Array | string;
  /** Instead of the right one. */
  checksum?: number;
}

/** A UDP datagram inside IP. */
export function udp(fields: UdpFields): Uint8Array {
  const { sourcePort, destinationPort, data, checksum: wanted, ...rest } = fields;
  const content = bytesOf(data ?? '');
  const payload = new Uint8Array(8 + content.length);
  const view = new DataView(payload.buffer);
  view.setUint16(0, sourcePort ?? 4000);
  view.setUint16(2, destinationPort ?? 5000);
  view.setUint16(4, payload.length);
  payload.set(content, 8);
  const pseudo = pseudoHeader(rest.source, rest.destination, 17, payload.length);
  view.setUint16(6, wanted ?? (checksum(pseudo, payload) || 0xffff));
  return ip({ ...rest, protocol: 17, payload });
}

export interface TcpFields extends UdpFields {
  sequence?: number;
  acknowledgement?: number;
  flags?: number;
  window?: number;
  /** TCP options, a multiple of 4 bytes. */
  options?: Uint8Array;
}

const FLAGS: Readonly<Record<string, number>> = { F: 0x01, S: 0x02, R: 0x04, P: 0x08, A: 0x10 };

/** TCP flags by their letters: "SA" is SYN with ACK. */
export function flagsOf(letters: string): number {
  return letters.split('').reduce((sum, letter) => sum | FLAGS[letter]!, 0);
}

/** A TCP segment inside IP. */
export function tcp(fields: TcpFields): Uint8Array {
  const { sourcePort, destinationPort, data, checksum: wanted, ...others } = fields;
  const { sequence, acknowledgement, flags, window, options: given, ...rest } = others;
  const content = bytesOf(data ?? '');
  const options = given ?? new Uint8Array(0);
  const payload = new Uint8Array(20 + options.length + content.length);
  const view = new DataView(payload.buffer);
  view.setUint16(0, sourcePort ?? 4000);
  view.setUint16(2, destinationPort ?? 5000);
  view.setUint32(4, sequence ?? 1);
  view.setUint32(8, acknowledgement ?? 1);
  payload[12] = ((20 + options.length) / 4) << 4;
  payload[13] = flags ?? 0x10;
  view.setUint16(14, window ?? 1000);
  payload.set(options, 20);
  payload.set(content, 20 + options.length);
  const pseudo = pseudoHeader(rest.source, rest.destination, 6, payload.length);
  view.setUint16(16, wanted ?? checksum(pseudo, payload));
  return ip({ ...rest, protocol: 6, payload });
}

/** An ICMP or ICMPv6 echo request. */
export function echoRequest(source: string, destination: string, sequence = 1): Uint8Array {
  const isIpv6 = source.includes(':');
  const payload = new Uint8Array(16);
  const view = new DataView(payload.buffer);
  payload[0] = isIpv6 ? 128 : 8;
  view.setUint16(4, 77);
  view.setUint16(6, sequence);
  const sum = isIpv6
    ? checksum(pseudoHeader(source, destination, 58, payload.length), payload)
    : checksum(payload);
  view.setUint16(2, sum);
  return ip({ source, destination, protocol: isIpv6 ? 58 : 1, payload });
}

/** Bytes that count up, so that a misplaced one shows. */
export function counting(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => first + i);
}

/** All of some bytes, and nothing else, as a view. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function bytesOf(data: Uint8Array | string): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
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
