// The one thing that the gateway answers itself when there is no TUN: an echo request to its own
// tunnel address becomes, in place, the reply (RFC 792, RFC 4443).

import { type InnerPacket, PROTOCOL_ICMP, PROTOCOL_ICMPV6, WHOLE } from './ip.ts';

const ECHO_REPLY = 0;
const ECHO_REQUEST = 8;
const ECHO_REQUEST_V6 = 128;
const ECHO_REPLY_V6 = 129;
const REPLY_HOP_LIMIT = 64;

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
    // The IPv4 header sums 16-bit words; the hop limit is the upper half of the fifth.
    const oldWord = view.getUint16(offset + 8);
    view.setUint8(offset + 8, REPLY_HOP_LIMIT);
    adjustChecksum(view, offset + 10, oldWord, view.getUint16(offset + 8));
  } else {
    view.setUint8(offset + 7, REPLY_HOP_LIMIT);
  }
}

/** RFC 1624, equation 3: the new sum from the old sum and one changed 16-bit word. */
function adjustChecksum(view: DataView, at: number, oldWord: number, newWord: number): void {
  let sum = (~view.getUint16(at) & 0xffff) + (~oldWord & 0xffff) + newWord;
  sum = (sum & 0xffff) + (sum >>> 16);
  sum = (sum & 0xffff) + (sum >>> 16);
  view.setUint16(at, ~sum & 0xffff);
}
