// ICMP for IPv4 and IPv6 (RFC 792, RFC 4443): what a message means for a flow, and the messages
// that the gateway makes. Each is written over the packet that causes it, or over a copy: an echo
// request to the own address becomes the reply where there is no TUN, and a packet that is too big
// or reaches nobody becomes the error that says so.

import { checksum } from './checksum.ts';
import {
  type InnerPacket,
  isIcmp,
  LATER_FRAGMENT,
  PROTOCOL_ICMP,
  PROTOCOL_ICMPV6,
  WHOLE,
} from './ip.ts';

const ECHO_REPLY = 0;
const ECHO_REQUEST = 8;
const ECHO_REQUEST_V6 = 128;
const ECHO_REPLY_V6 = 129;
const UNREACHABLE = 3;
const HOST_UNREACHABLE = 1;
const FRAGMENTATION_NEEDED = 4;
const SOURCE_QUENCH = 4;
const REDIRECT = 5;
const TIME_EXCEEDED = 11;
const PARAMETER_PROBLEM = 12;
const UNREACHABLE_V6 = 1;
const ADDRESS_UNREACHABLE_V6 = 3;
const TOO_BIG_V6 = 2;
const REDIRECT_V6 = 137;
const HOP_LIMIT = 64;
/** Precedence "internetwork control" (RFC 1812, 4.3.2.5). */
const CONTROL_CLASS = 0xc0;
/** The largest size of an error (RFC 1812, 4.3.2.3; RFC 4443, 2.4 c). */
const ERROR_BYTES_MAX_V4 = 576;
const ERROR_BYTES_MAX_V6 = 1_280;
/** Bytes of the headers before the packet that an error quotes. */
const HEADERS_V4 = 28;
const HEADERS_V6 = 48;
const DONT_FRAGMENT = 0x40;

/** What a message is in a flow of echoes: nothing, a request, or a reply. */
export const ECHO_NONE = 0;
export const ECHO_QUESTION = 1;
export const ECHO_ANSWER = 2;

/** What an ICMP packet is in a flow of echoes: one of the values above. */
export function echoPart(view: DataView, offset: number, packet: InnerPacket): number {
  if (packet.length - packet.upperOffset < 8) return ECHO_NONE;
  switch (view.getUint8(offset + packet.upperOffset)) {
    case packet.version === 4 ? ECHO_REQUEST : ECHO_REQUEST_V6:
      return ECHO_QUESTION;
    case packet.version === 4 ? ECHO_REPLY : ECHO_REPLY_V6:
      return ECHO_ANSWER;
    default:
      return ECHO_NONE;
  }
}

/** Whether a packet is an ICMP error that quotes another packet. A redirect is not an error. */
export function isIcmpError(view: DataView, offset: number, packet: InnerPacket): boolean {
  if (!isIcmp(packet) || packet.fragment === LATER_FRAGMENT) return false;
  if (packet.length - packet.upperOffset < 8) return false;
  const type = view.getUint8(offset + packet.upperOffset);
  if (packet.version === 6) return type < ECHO_REQUEST_V6;
  return (
    type === UNREACHABLE ||
    type === SOURCE_QUENCH ||
    type === TIME_EXCEEDED ||
    type === PARAMETER_PROBLEM
  );
}

/** Whether a packet is a whole echo request. */
export function isEchoRequest(view: DataView, offset: number, packet: InnerPacket): boolean {
  if (packet.fragment !== WHOLE || packet.length - packet.upperOffset < 8) return false;
  const type = view.getUint8(offset + packet.upperOffset);
  return packet.version === 4
    ? packet.protocol === PROTOCOL_ICMP && type === ECHO_REQUEST
    : packet.protocol === PROTOCOL_ICMPV6 && type === ECHO_REQUEST_V6;
}

/** Turns the echo request at `offset` into its reply: addresses swapped, checksums adjusted. */
export function turnIntoEchoReply(view: DataView, offset: number, packet: InnerPacket): void {
  const upper = offset + packet.upperOffset;
  const isIpv4 = packet.version === 4;
  const addressBytes = isIpv4 ? 4 : 16;
  const addresses = offset + (isIpv4 ? 12 : 8);
  for (let i = 0; i < addressBytes; i += 4) {
    const source = view.getInt32(addresses + i);
    view.setInt32(addresses + i, view.getInt32(addresses + addressBytes + i));
    view.setInt32(addresses + addressBytes + i, source);
  }
  const oldType = view.getUint16(upper);
  view.setUint8(upper, isIpv4 ? ECHO_REPLY : ECHO_REPLY_V6);
  adjustChecksum(view, upper + 2, oldType, view.getUint16(upper));
  if (isIpv4) {
    // The IPv4 header has a checksum of 16-bit words; the hop limit is the upper half of the fifth
    // word.
    const oldWord = view.getUint16(offset + 8);
    view.setUint8(offset + 8, HOP_LIMIT);
    adjustChecksum(view, offset + 10, oldWord, view.getUint16(offset + 8));
  } else {
    view.setUint8(offset + 7, HOP_LIMIT);
  }
}

/** Updates a checksum after one 16-bit word has changed (RFC 1624, equation 3). */
function adjustChecksum(view: DataView, at: number, oldWord: number, newWord: number): void {
  let sum = (~view.getUint16(at) & 0xffff) + (~oldWord & 0xffff) + newWord;
  sum = (sum & 0xffff) + (sum >>> 16);
  sum = (sum & 0xffff) + (sum >>> 16);
  view.setUint16(at, ~sum & 0xffff);
}

// ---- errors --------------------------------------------------------------------------------

/** Whether a packet must not be fragmented, so that its sender must learn that it is too big. */
export function mayNotFragment(view: DataView, offset: number, packet: InnerPacket): boolean {
  return packet.version === 6 || (view.getUint8(offset + 6) & DONT_FRAGMENT) !== 0;
}

/**
 * Whether a packet may be answered by an error (RFC 1122, 3.2.2; RFC 4443, 2.4 e): not a later
 * fragment, not an error or a redirect, and no ICMP whose type cannot be read.
 */
export function mayBeAnsweredByError(view: DataView, offset: number, packet: InnerPacket): boolean {
  if (packet.fragment === LATER_FRAGMENT) return false;
  if (!isIcmp(packet)) return true;
  if (packet.length - packet.upperOffset < 8) return false;
  const type = view.getUint8(offset + packet.upperOffset);
  return (
    type !== (packet.version === 4 ? REDIRECT : REDIRECT_V6) && !isIcmpError(view, offset, packet)
  );
}

/**
 * Turns the packet at `offset` into the error for its sender that packets may have at most `mtu`
 * bytes. `from` is the source of the error, 4 or 16 bytes. Returns the length of the error, which
 * is at most that of the packet, because another packet may follow it.
 */
export function turnIntoTooBig(
  bytes: Uint8Array,
  view: DataView,
  offset: number,
  packet: InnerPacket,
  from: Uint8Array,
  mtu: number,
): number {
  if (packet.version === 6) {
    const length = Math.min(packet.length, ERROR_BYTES_MAX_V6);
    turnIntoError6(bytes, view, offset, packet, from, length);
    return finishError6(view, offset, length, TOO_BIG_V6, 0, mtu);
  }
  const length = Math.min(packet.length, ERROR_BYTES_MAX_V4, mtu);
  turnIntoError4(bytes, view, offset, packet, from, length);
  return finishError4(view, offset, length, FRAGMENTATION_NEEDED, mtu);
}

/** The most bytes of an error that says that a packet reaches nobody. */
export const UNREACHABLE_BYTES_MAX = ERROR_BYTES_MAX_V6;

/**
 * Turns the packet at `offset` into the error for its sender that it reaches nobody: there is no
 * such host. `from` is the source of the error, 4 or 16 bytes. Returns the length of the error,
 * which may be greater than that of the packet: there must be room for UNREACHABLE_BYTES_MAX.
 */
export function turnIntoUnreachable(
  bytes: Uint8Array,
  view: DataView,
  offset: number,
  packet: InnerPacket,
  from: Uint8Array,
): number {
  if (packet.version === 6) {
    const length = Math.min(packet.length + HEADERS_V6, ERROR_BYTES_MAX_V6);
    turnIntoError6(bytes, view, offset, packet, from, length);
    return finishError6(view, offset, length, UNREACHABLE_V6, ADDRESS_UNREACHABLE_V6, 0);
  }
  const length = Math.min(packet.length + HEADERS_V4, ERROR_BYTES_MAX_V4);
  turnIntoError4(bytes, view, offset, packet, from, length);
  return finishError4(view, offset, length, HOST_UNREACHABLE, 0);
}

/** Puts the headers of an error of `length` bytes before as much of the packet as then fits. */
function turnIntoError4(
  bytes: Uint8Array,
  view: DataView,
  offset: number,
  packet: InnerPacket,
  from: Uint8Array,
  length: number,
): void {
  bytes.copyWithin(offset + HEADERS_V4, offset, offset + length - HEADERS_V4);
  bytes.fill(0, offset, offset + HEADERS_V4);
  view.setUint8(offset, 0x45);
  view.setUint8(offset + 1, CONTROL_CLASS);
  view.setUint16(offset + 2, length);
  view.setUint8(offset + 8, HOP_LIMIT);
  view.setUint8(offset + 9, PROTOCOL_ICMP);
  bytes.set(from, offset + 12);
  view.setInt32(offset + 16, packet.source0);
  view.setUint16(offset + 10, checksum(view, offset, 20, 0));
}

/** Writes what an error says, and its checksum. `word` is the second word of its header. */
function finishError4(
  view: DataView,
  offset: number,
  length: number,
  code: number,
  word: number,
): number {
  view.setUint8(offset + 20, UNREACHABLE);
  view.setUint8(offset + 21, code);
  view.setUint32(offset + 24, word);
  view.setUint16(offset + 22, checksum(view, offset + 20, length - 20, 0));
  return length;
}

/** As turnIntoError4. */
function turnIntoError6(
  bytes: Uint8Array,
  view: DataView,
  offset: number,
  packet: InnerPacket,
  from: Uint8Array,
  length: number,
): void {
  bytes.copyWithin(offset + HEADERS_V6, offset, offset + length - HEADERS_V6);
  bytes.fill(0, offset, offset + HEADERS_V6);
  view.setUint8(offset, 0x60);
  view.setUint16(offset + 4, length - 40);
  view.setUint8(offset + 6, PROTOCOL_ICMPV6);
  view.setUint8(offset + 7, HOP_LIMIT);
  bytes.set(from, offset + 8);
  view.setInt32(offset + 24, packet.source0);
  view.setInt32(offset + 28, packet.source1);
  view.setInt32(offset + 32, packet.source2);
  view.setInt32(offset + 36, packet.source3);
}

/** As finishError4. */
function finishError6(
  view: DataView,
  offset: number,
  length: number,
  type: number,
  code: number,
  word: number,
): number {
  view.setUint8(offset + 40, type);
  view.setUint8(offset + 41, code);
  view.setUint32(offset + 44, word);
  // The pseudo header: both addresses, the length of the upper layer, its protocol.
  const pseudo = length - 40 + PROTOCOL_ICMPV6;
  view.setUint16(offset + 42, checksum(view, offset + 8, length - 8, pseudo));
  return length;
}
