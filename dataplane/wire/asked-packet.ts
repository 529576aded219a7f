// Makes the packet that somebody asks about, of what people say of it.

import { echoRequest, flagsOf, ip, tcp, udp } from './packets.ts';

/** A packet in words. */
export interface AskedPacket {
  /** Addresses of one family. */
  readonly source: string;
  readonly destination: string;
  /** `icmp`: an echo request. A number is that of another protocol (IANA). */
  readonly protocol: 'tcp' | 'udp' | 'icmp' | number;
  /** For `icmp` this is the identifier of the echo request; other protocols have none. */
  readonly sourcePort: number;
  /** Only TCP and UDP have ports. */
  readonly destinationPort: number;
  /** Whether a TCP packet begins a connection; else it comes in the middle of one. */
  readonly begins: boolean;
  /** Bytes of the whole packet, headers included; left out: as few as a usual one has. */
  readonly size?: number;
}

const IP_BYTES = { 4: 20, 6: 40 } as const;
const UPPER_BYTES = { tcp: 20, udp: 8, icmp: 8 } as const;
/** The content of a packet whose protocol is named by number: zeros. */
const OTHER_BYTES = 8;

/**
 * The packet, from its IP header on. It may not be fragmented (RFC 791, DF). Where its headers take
 * more bytes than `size`, it is larger.
 */
export function askedPacket({ protocol, begins, size, ...fields }: AskedPacket): Uint8Array {
  const { source, destination, sourcePort } = fields;
  const ipBytes = IP_BYTES[source.includes(':') ? 6 : 4];
  if (typeof protocol === 'number') {
    const length = size === undefined ? OTHER_BYTES : Math.max(0, size - ipBytes);
    return ip({ source, destination, protocol, payload: new Uint8Array(length) });
  }
  const headers = ipBytes + UPPER_BYTES[protocol];
  const bytes = size === undefined ? undefined : Math.max(0, size - headers);
  if (protocol === 'icmp') return echoRequest(source, destination, 1, sourcePort, bytes);
  const data = new Uint8Array(bytes ?? 0);
  if (protocol === 'udp') return udp({ ...fields, data });
  return tcp({ ...fields, data, flags: flagsOf(begins ? 'S' : 'A') });
}
