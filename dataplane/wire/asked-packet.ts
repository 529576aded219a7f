// Makes the packet that somebody asks about, of what people say of it.

import { echoRequest, flagsOf, tcp, udp } from './packets.ts';

/** A packet in words. */
export interface AskedPacket {
  /** Addresses of one family. */
  readonly source: string;
  readonly destination: string;
  /** `icmp`: an echo request. */
  readonly protocol: 'tcp' | 'udp' | 'icmp';
  /** For `icmp` this is the identifier of the echo request. */
  readonly sourcePort: number;
  /** No meaning for `icmp`. */
  readonly destinationPort: number;
  /** Whether a TCP packet begins a connection; else it comes in the middle of one. */
  readonly begins: boolean;
}

/** The packet, from its IP header on, without data. */
export function askedPacket({ protocol, begins, ...fields }: AskedPacket): Uint8Array {
  const { source, destination, sourcePort } = fields;
  if (protocol === 'icmp') return echoRequest(source, destination, 1, sourcePort);
  if (protocol === 'udp') return udp(fields);
  return tcp({ ...fields, flags: flagsOf(begins ? 'S' : 'A') });
}
