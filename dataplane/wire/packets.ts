// Makes inner packets: IPv4 and IPv6 with UDP, TCP and ICMP, with correct checksums. Hosts in
// memory send them; the warm-up and tests give them to the packet path.

import { parseAddress } from './address.ts';

/** Bytes of an address given as text. */
export function address(text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes === null) throw new Error(`${text} is no address`);
  return bytes;
}

/** The checksum of RFC 1071 over all parts. */
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

/** Fields of the IP header; a field that is left out has an ordinary value. */
export interface IpExtras {
  hopLimit?: number;
  /** IPv4: TOS; IPv6: traffic class. */
  trafficClass?: number;
  /** IPv4 only. */
  identification?: number;
  /** IPv4 flags and fragment offset, as the 16 bits of the header. */
  fragment?: number;
  /** IPv4 options, a multiple of 4 bytes. */
  ipOptions?: Uint8Array;
  /** IPv6 only. */
  flowLabel?: number;
  /** IPv6 extension headers before the payload, outermost first. */
  extensions?: readonly Extension[];
}

/** An IPv6 extension header: its protocol number, and its bytes after the next-header byte. */
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
  /** A checksum instead of the correct one. */
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
  /** The urgent pointer. */
  urgent?: number;
  /** TCP options, a multiple of 4 bytes. */
  options?: Uint8Array;
}

const FLAGS: Readonly<Record<string, number>> = {
  F: 0x01,
  S: 0x02,
  R: 0x04,
  P: 0x08,
  A: 0x10,
  U: 0x20,
};

/** TCP flags by their letters: "SA" is SYN with ACK. */
export function flagsOf(letters: string): number {
  return letters.split('').reduce((sum, letter) => sum | FLAGS[letter]!, 0);
}

/** A TCP segment inside IP. */
export function tcp(fields: TcpFields): Uint8Array {
  const { sourcePort, destinationPort, data, checksum: wanted, ...others } = fields;
  const { sequence, acknowledgement, flags, window, urgent, options: given, ...rest } = others;
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
  view.setUint16(18, urgent ?? 0);
  payload.set(options, 20);
  payload.set(content, 20 + options.length);
  const pseudo = pseudoHeader(rest.source, rest.destination, 6, payload.length);
  view.setUint16(16, wanted ?? checksum(pseudo, payload));
  return ip({ ...rest, protocol: 6, payload });
}

/** An ICMP or ICMPv6 echo request with so many bytes of data. */
export function echoRequest(
  source: string,
  destination: string,
  sequence = 1,
  identifier = 77,
  dataBytes = 8,
): Uint8Array {
  const type = source.includes(':') ? 128 : 8;
  return echo(type, source, destination, sequence, identifier, dataBytes);
}

/** The reply to an echo request that the other host made by `echoRequest`. */
export function echoReply(source: string, destination: string, sequence = 1): Uint8Array {
  return echo(source.includes(':') ? 129 : 0, source, destination, sequence, 77, 8);
}

function echo(
  type: number,
  source: string,
  destination: string,
  sequence: number,
  identifier: number,
  dataBytes: number,
): Uint8Array {
  const isIpv6 = source.includes(':');
  const payload = new Uint8Array(8 + dataBytes);
  const view = new DataView(payload.buffer);
  payload[0] = type;
  view.setUint16(4, identifier);
  view.setUint16(6, sequence);
  const sum = isIpv6
    ? checksum(pseudoHeader(source, destination, 58, payload.length), payload)
    : checksum(payload);
  view.setUint16(2, sum);
  return ip({ source, destination, protocol: isIpv6 ? 58 : 1, payload });
}

/** Data as bytes, text in UTF-8. */
export function bytesOf(data: Uint8Array | string): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}

/** The bytes of a packet's destination address. */
export function destinationOf(packet: Uint8Array): Uint8Array {
  return packet[0]! >> 4 === 4 ? packet.subarray(16, 20) : packet.subarray(24, 40);
}

/** The bytes of a packet's source address. */
export function sourceOf(packet: Uint8Array): Uint8Array {
  return packet[0]! >> 4 === 4 ? packet.subarray(12, 16) : packet.subarray(8, 24);
}

/** A view of exactly these bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
