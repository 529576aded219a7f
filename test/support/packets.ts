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

/** Fields of an IP packet; what is left out is ordinary. */
export interface IpFields {
  source: string;
  destination: string;
  protocol: number;
  payload: Uint8Array;
  hopLimit?: number;
  identification?: number;
  /** IPv4 flags and fragment offset, the 16 bits as they stand. */
  fragment?: number;
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
  const header = new Uint8Array(20);
  const view = new DataView(header.buffer);
  header[0] = 0x45;
  view.setUint16(2, 20 + fields.payload.length);
  view.setUint16(4, fields.identification ?? 0);
  view.setUint16(6, fields.fragment ?? 0x4000);
  header[8] = fields.hopLimit ?? 64;
  header[9] = fields.protocol;
  header.set(source, 12);
  header.set(destination, 16);
  view.setUint16(10, checksum(header));
  return concat(header, fields.payload);
}

function ipv6(fields: IpFields, source: Uint8Array, destination: Uint8Array): Uint8Array {
  const header = new Uint8Array(40);
  const view = new DataView(header.buffer);
  header[0] = 0x60;
  view.setUint16(4, fields.payload.length);
  header[6] = fields.protocol;
  header[7] = fields.hopLimit ?? 64;
  header.set(source, 8);
  header.set(destination, 24);
  return concat(header, fields.payload);
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

interface UdpFields {
  source: string;
  destination: string;
  sourcePort?: number;
  destinationPort?: number;
  data?: Uint8Array | string;
}

/** A UDP datagram inside IP. */
export function udp(fields: UdpFields): Uint8Array {
  const data = bytesOf(fields.data ?? '');
  const payload = new Uint8Array(8 + data.length);
  const view = new DataView(payload.buffer);
  view.setUint16(0, fields.sourcePort ?? 4000);
  view.setUint16(2, fields.destinationPort ?? 5000);
  view.setUint16(4, payload.length);
  payload.set(data, 8);
  const { source, destination } = fields;
  view.setUint16(
    6,
    checksum(pseudoHeader(source, destination, 17, payload.length), payload) || 0xffff,
  );
  return ip({ source, destination, protocol: 17, payload });
}

export interface TcpFields extends UdpFields {
  sequence?: number;
  acknowledgement?: number;
  flags?: number;
  window?: number;
  options?: Uint8Array;
  hopLimit?: number;
  identification?: number;
}

/** A TCP segment inside IP. */
export function tcp(fields: TcpFields): Uint8Array {
  const data = bytesOf(fields.data ?? '');
  const options = fields.options ?? new Uint8Array(0);
  const payload = new Uint8Array(20 + options.length + data.length);
  const view = new DataView(payload.buffer);
  view.setUint16(0, fields.sourcePort ?? 4000);
  view.setUint16(2, fields.destinationPort ?? 5000);
  view.setUint32(4, fields.sequence ?? 1);
  view.setUint32(8, fields.acknowledgement ?? 1);
  payload[12] = ((20 + options.length) / 4) << 4;
  payload[13] = fields.flags ?? 0x10;
  view.setUint16(14, fields.window ?? 1000);
  payload.set(options, 20);
  payload.set(data, 20 + options.length);
  const { source, destination } = fields;
  view.setUint16(16, checksum(pseudoHeader(source, destination, 6, payload.length), payload));
  return ip({
    source,
    destination,
    protocol: 6,
    payload,
    ...(fields.hopLimit === undefined ? {} : { hopLimit: fields.hopLimit }),
    ...(fields.identification === undefined ? {} : { identification: fields.identification }),
  });
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

function bytesOf(data: Uint8Array | string): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}
