// Finds TCP, UDP and ICMP that no honest sender makes. The connection tracking of the kernel calls
// such packets invalid and does not translate their addresses, so they would leave with the tunnel
// address of the device. Some of them also identify or confuse hosts.

import { reasons } from '../reasons.ts';
import {
  type InnerPacket,
  isIcmp,
  LATER_FRAGMENT,
  PROTOCOL_TCP,
  PROTOCOL_UDP,
  TCP_ACK,
  TCP_FIN,
  TCP_RST,
  TCP_SYN,
  WHOLE,
} from './ip.ts';

const TCP_URG = 0x20;
/**
 * The flags that say what a segment is; PSH and the flags of congestion can go with all of them.
 */
const TCP_MEANING = TCP_FIN | TCP_SYN | TCP_RST | TCP_ACK | TCP_URG;
const TCP_HEADER_WORDS = 5;
const UDP_HEADER_BYTES = 8;
const ICMP_HEADER_BYTES = 8;
const IPV4_HEADER_BYTES = 20;
const IPV6_HEADER_BYTES = 40;
/** ICMPv6 errors have types below this one (RFC 4443, 2.1). */
const ICMPV6_ERRORS_END = 128;

/** By flags: 1 for each combination that is valid (RFC 9293, 3.10; the list of the kernel). */
const validFlags = new Uint8Array(64);
for (const flags of [
  TCP_SYN,
  TCP_SYN | TCP_URG,
  TCP_SYN | TCP_ACK,
  TCP_RST,
  TCP_RST | TCP_ACK,
  TCP_FIN | TCP_ACK,
  TCP_FIN | TCP_ACK | TCP_URG,
  TCP_ACK,
  TCP_ACK | TCP_URG,
])
  validFlags[flags] = 1;

/**
 * Why the upper layer of a readable packet is refused, or reasons.none. If the packet is a
 * fragment, only a first fragment is checked, and only the bytes that it contains. Never allocates.
 */
export function findMalformed(view: DataView, offset: number, packet: InnerPacket): number {
  if (packet.fragment === LATER_FRAGMENT) return reasons.none;
  const at = offset + packet.upperOffset;
  const bytes = packet.length - packet.upperOffset;
  const isWhole = packet.fragment === WHOLE;
  if (packet.protocol === PROTOCOL_TCP) {
    const headerWords = view.getUint8(at + 12) >> 4;
    const isSound =
      headerWords >= TCP_HEADER_WORDS &&
      !(isWhole && headerWords * 4 > bytes) &&
      validFlags[packet.flags & TCP_MEANING] === 1;
    return isSound ? reasons.none : reasons.inner_tcp_malformed;
  }
  if (packet.protocol === PROTOCOL_UDP) {
    // A UDP datagram may be shorter than its packet (RFC 9868).
    const length = view.getUint16(at + 4);
    const isSound = length >= UDP_HEADER_BYTES && !(isWhole && length > bytes);
    return isSound ? reasons.none : reasons.inner_udp_malformed;
  }
  if (!isIcmp(packet)) return reasons.none;
  const isSound =
    bytes >= ICMP_HEADER_BYTES &&
    (packet.version === 4 ? quotesAsIcmpv4(view, at, bytes) : quotesAsIcmpv6(view, at, bytes));
  return isSound ? reasons.none : reasons.inner_icmp_malformed;
}

/** Whether an ICMP message quotes the beginning of a packet where it must (RFC 792). */
function quotesAsIcmpv4(view: DataView, at: number, bytes: number): boolean {
  switch (view.getUint8(at)) {
    case 3: // destination unreachable
    case 4: // source quench
    case 5: // redirect
    case 11: // time exceeded
    case 12: // parameter problem
      return (
        bytes >= ICMP_HEADER_BYTES + IPV4_HEADER_BYTES &&
        view.getUint8(at + ICMP_HEADER_BYTES) >= 0x45 &&
        view.getUint8(at + ICMP_HEADER_BYTES) <= 0x4f
      );
    default:
      return true;
  }
}

/**
 * Whether an ICMPv6 message quotes the beginning of a packet where it must: in every error (RFC
 * 4443, 2.4 c).
 */
function quotesAsIcmpv6(view: DataView, at: number, bytes: number): boolean {
  if (view.getUint8(at) >= ICMPV6_ERRORS_END) return true;
  return (
    bytes >= ICMP_HEADER_BYTES + IPV6_HEADER_BYTES &&
    view.getUint8(at + ICMP_HEADER_BYTES) >> 4 === 6
  );
}
