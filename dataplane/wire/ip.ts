// Reads an inner IP packet (RFC 791, RFC 8200) into one reusable object: version, addresses,
// protocol, ports and fragment fields. It only decides whether a packet can be read; it knows
// neither peers nor rules.

import { MAX_EXTENSION_HEADERS } from '../constants.ts';
import { reasons } from '../reasons.ts';

/** Protocol numbers (IANA). */
export const PROTOCOL_ICMP = 1;
export const PROTOCOL_TCP = 6;
export const PROTOCOL_UDP = 17;
export const PROTOCOL_ICMPV6 = 58;

/** TCP flags (RFC 9293, 3.1). */
export const TCP_FIN = 0x01;
export const TCP_SYN = 0x02;
export const TCP_RST = 0x04;
export const TCP_ACK = 0x10;

const HOP_BY_HOP = 0;
const ROUTING = 43;
const FRAGMENT = 44;
const DESTINATION_OPTIONS = 60;
const AUTHENTICATION = 51;
const MOBILITY = 135;

/** What a packet is: whole, a first fragment (which contains the ports), or a later fragment. */
export const WHOLE = 0;
export const FIRST_FRAGMENT = 1;
export const LATER_FRAGMENT = 2;

/**
 * One decoded packet. Addresses are signed 32-bit words, most significant first; IPv4 uses word 0
 * and leaves the others zero. Ports are -1 where the packet has none or does not show them.
 */
export class InnerPacket {
  /** 4 or 6. */
  version = 0;
  /** Bytes of the whole packet, as its header says. */
  length = 0;
  hopLimit = 0;
  /** The upper-layer protocol, after all extension headers. */
  protocol = 0;
  /** Offset of the upper layer, relative to the start of the packet. */
  upperOffset = 0;
  /** WHOLE, FIRST_FRAGMENT or LATER_FRAGMENT. */
  fragment = WHOLE;
  /** In units of 8 bytes; valid for fragments. */
  fragmentOffset = 0;
  /** Identification of the fragmented datagram; valid for fragments. */
  identification = 0;
  /**
   * Where the fragmentable part begins, relative to the start of the packet; valid for fragments.
   */
  fragmentedAt = 0;
  source0 = 0;
  source1 = 0;
  source2 = 0;
  source3 = 0;
  destination0 = 0;
  destination1 = 0;
  destination2 = 0;
  destination3 = 0;
  sourcePort = -1;
  destinationPort = -1;
  /** TCP flags; 0 where the packet has none or does not show them. */
  flags = 0;
}

/**
 * Decodes the packet at `offset`, of which `available` bytes are there; padding may follow it.
 * Returns reasons.none, or why the packet cannot be read. Never reads past `offset + available`.
 */
export function parseInner(
  view: DataView,
  offset: number,
  available: number,
  packet: InnerPacket,
): number {
  if (available < 20) return reasons.inner_malformed;
  packet.sourcePort = -1;
  packet.destinationPort = -1;
  packet.flags = 0;
  packet.fragment = WHOLE;
  packet.fragmentOffset = 0;
  const version = view.getUint8(offset) >> 4;
  packet.version = version;
  if (version === 4) return parseIpv4(view, offset, available, packet);
  if (version === 6) return parseIpv6(view, offset, available, packet);
  return reasons.inner_malformed;
}

function parseIpv4(view: DataView, offset: number, available: number, packet: InnerPacket): number {
  const headerBytes = (view.getUint8(offset) & 0x0f) << 2;
  const length = view.getUint16(offset + 2);
  if (headerBytes < 20 || length < headerBytes || length > available)
    return reasons.inner_malformed;
  packet.length = length;
  packet.hopLimit = view.getUint8(offset + 8);
  packet.protocol = view.getUint8(offset + 9);
  packet.upperOffset = headerBytes;
  readIpv4Addresses(view, offset, packet);
  const fragmentField = view.getUint16(offset + 6) & 0x3fff;
  if (fragmentField !== 0) {
    packet.fragmentOffset = fragmentField & 0x1fff;
    packet.identification = view.getUint16(offset + 4);
    packet.fragmentedAt = headerBytes;
    packet.fragment = packet.fragmentOffset === 0 ? FIRST_FRAGMENT : LATER_FRAGMENT;
  }
  return parseUpper(view, offset, packet);
}

function parseIpv6(view: DataView, offset: number, available: number, packet: InnerPacket): number {
  const length = 40 + view.getUint16(offset + 4);
  if (available < 40 || length > available) return reasons.inner_malformed;
  packet.length = length;
  packet.hopLimit = view.getUint8(offset + 7);
  readIpv6Addresses(view, offset, packet);
  packet.protocol = view.getUint8(offset + 6);
  packet.upperOffset = 40;
  if (isExtensionHeader(packet.protocol)) {
    const reason = walkExtensionHeaders(view, offset, packet);
    if (reason !== reasons.none) return reason;
  }
  return parseUpper(view, offset, packet);
}

function isExtensionHeader(protocol: number): boolean {
  switch (protocol) {
    case HOP_BY_HOP:
    case ROUTING:
    case FRAGMENT:
    case DESTINATION_OPTIONS:
    case AUTHENTICATION:
    case MOBILITY:
      return true;
    default:
      return false;
  }
}

/**
 * Finds the upper layer after extension headers (RFC 8200, 4); at most MAX_EXTENSION_HEADERS, and
 * never past the length of the packet.
 */
function walkExtensionHeaders(view: DataView, offset: number, packet: InnerPacket): number {
  let at = packet.upperOffset;
  let protocol = packet.protocol;
  let hasFragmentHeader = false;
  for (let walked = 0; isExtensionHeader(protocol); walked++) {
    if (walked === MAX_EXTENSION_HEADERS || at + 8 > packet.length)
      return reasons.inner_headers_unparsable;
    const next = view.getUint8(offset + at);
    if (protocol === FRAGMENT) {
      // Each header should be there once at most (RFC 8200, 4.1). Systems differ in what they do
      // with a fragment of a fragment, and none sends it, so a packet with two of these is refused.
      if (hasFragmentHeader) return reasons.inner_headers_unparsable;
      hasFragmentHeader = true;
      packet.fragmentOffset = view.getUint16(offset + at + 2) >> 3;
      const more = (view.getUint16(offset + at + 2) & 1) === 1;
      if (packet.fragmentOffset !== 0) packet.fragment = LATER_FRAGMENT;
      else if (more) packet.fragment = FIRST_FRAGMENT;
      packet.identification = view.getInt32(offset + at + 4);
      at += 8;
      packet.fragmentedAt = at;
      // After this header a later fragment has bytes from the middle of the datagram, not a header.
      if (packet.fragment === LATER_FRAGMENT) {
        protocol = next;
        break;
      }
    } else {
      const units = view.getUint8(offset + at + 1);
      at += protocol === AUTHENTICATION ? (units + 2) * 4 : (units + 1) * 8;
    }
    protocol = next;
  }
  if (at > packet.length) return reasons.inner_headers_unparsable;
  packet.protocol = protocol;
  packet.upperOffset = at;
  return reasons.none;
}

/**
 * Reads the ports where the packet contains them; refuses fragments that are made to hide them (RFC
 * 1858).
 */
export function parseUpper(view: DataView, offset: number, packet: InnerPacket): number {
  const { protocol, fragment } = packet;
  if (fragment === LATER_FRAGMENT) {
    // A TCP fragment at offset 8 could overwrite the flags that were judged in the first one.
    return protocol === PROTOCOL_TCP && packet.fragmentOffset === 1
      ? reasons.inner_fragment_unsafe
      : reasons.none;
  }
  if (protocol !== PROTOCOL_TCP && protocol !== PROTOCOL_UDP) return reasons.none;
  const needed = protocol === PROTOCOL_TCP ? 20 : 8;
  if (packet.length - packet.upperOffset < needed) {
    return fragment === FIRST_FRAGMENT ? reasons.inner_fragment_unsafe : reasons.inner_malformed;
  }
  // UDP over IPv6 may have no checksum: a tunnel inside it has its own (RFC 6936, 5).
  packet.sourcePort = view.getUint16(offset + packet.upperOffset);
  packet.destinationPort = view.getUint16(offset + packet.upperOffset + 2);
  if (protocol === PROTOCOL_TCP) packet.flags = view.getUint8(offset + packet.upperOffset + 13);
  return reasons.none;
}

/** Whether a packet is the first one of a TCP handshake. */
export function isConnectionRequest(packet: InnerPacket): boolean {
  return packet.protocol === PROTOCOL_TCP && (packet.flags & (TCP_SYN | TCP_ACK)) === TCP_SYN;
}

/** Whether a packet is RST of TCP, and carries nothing. */
export function isBareReset(view: DataView, offset: number, packet: InnerPacket): boolean {
  if (packet.protocol !== PROTOCOL_TCP || (packet.flags & TCP_RST) === 0) return false;
  const headerBytes = (view.getUint8(offset + packet.upperOffset + 12) >> 4) * 4;
  return packet.length === packet.upperOffset + headerBytes;
}

/**
 * Whether packets of a protocol look the same at the beginning and in the middle of a flow. TCP
 * shows the beginning by SYN, ICMP by the difference between echo request and echo reply.
 */
export function beginsAnywhere(protocol: number): boolean {
  return protocol !== PROTOCOL_TCP && protocol !== PROTOCOL_ICMP && protocol !== PROTOCOL_ICMPV6;
}

/** Whether a packet is ICMP over IPv4 or ICMPv6 over IPv6. */
export function isIcmp(packet: InnerPacket): boolean {
  return packet.protocol === (packet.version === 4 ? PROTOCOL_ICMP : PROTOCOL_ICMPV6);
}

/**
 * Decodes the part of a packet that an ICMP error quotes: `available` bytes from its start, which
 * may contain only eight bytes of the upper layer. The length of the quoted packet stays unknown.
 * False where its ports cannot be read.
 */
export function parseQuoted(
  view: DataView,
  offset: number,
  available: number,
  packet: InnerPacket,
): boolean {
  if (available < 28) return false;
  const version = view.getUint8(offset) >> 4;
  packet.version = version;
  packet.length = available;
  packet.fragment = WHOLE;
  packet.flags = 0;
  if (version === 4) {
    packet.upperOffset = (view.getUint8(offset) & 0x0f) << 2;
    if (packet.upperOffset < 20 || (view.getUint16(offset + 6) & 0x1fff) !== 0) return false;
    packet.protocol = view.getUint8(offset + 9);
    readIpv4Addresses(view, offset, packet);
  } else {
    if (version !== 6 || available < 48) return false;
    readIpv6Addresses(view, offset, packet);
    packet.protocol = view.getUint8(offset + 6);
    packet.upperOffset = 40;
    if (walkExtensionHeaders(view, offset, packet) !== reasons.none) return false;
    if (packet.fragment === LATER_FRAGMENT) return false;
  }
  if (available - packet.upperOffset < 8) return false;
  packet.sourcePort = view.getUint16(offset + packet.upperOffset);
  packet.destinationPort = view.getUint16(offset + packet.upperOffset + 2);
  return true;
}

function readIpv4Addresses(view: DataView, offset: number, packet: InnerPacket): void {
  packet.source0 = view.getInt32(offset + 12);
  packet.source1 = 0;
  packet.source2 = 0;
  packet.source3 = 0;
  packet.destination0 = view.getInt32(offset + 16);
  packet.destination1 = 0;
  packet.destination2 = 0;
  packet.destination3 = 0;
}

function readIpv6Addresses(view: DataView, offset: number, packet: InnerPacket): void {
  packet.source0 = view.getInt32(offset + 8);
  packet.source1 = view.getInt32(offset + 12);
  packet.source2 = view.getInt32(offset + 16);
  packet.source3 = view.getInt32(offset + 20);
  packet.destination0 = view.getInt32(offset + 24);
  packet.destination1 = view.getInt32(offset + 28);
  packet.destination2 = view.getInt32(offset + 32);
  packet.destination3 = view.getInt32(offset + 36);
}

/**
 * Lowers the hop limit of the packet at `offset` by one and adjusts the IPv4 checksum (RFC 1624).
 * `packet` must describe it. False, without a change, when the hop limit is 1 or 0.
 */
export function takeHop(view: DataView, offset: number, packet: InnerPacket): boolean {
  if (packet.hopLimit <= 1) return false;
  if (packet.version === 6) {
    view.setUint8(offset + 7, packet.hopLimit - 1);
    return true;
  }
  view.setUint8(offset + 8, packet.hopLimit - 1);
  // The hop limit is the upper half of its 16-bit word, so the checksum grows by 0x0100.
  const sum = view.getUint16(offset + 10) + 0x0100;
  view.setUint16(offset + 10, (sum & 0xffff) + (sum >>> 16));
  return true;
}
