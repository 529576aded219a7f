// Inner packets that are read into one object.

import { type ReasonName, reasonNames } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { viewOf } from './packets.ts';

export const v4 = { source: '10.0.0.2', destination: '192.0.2.1' };
export const v6 = { source: 'fd00::2', destination: '2001:db8::1' };

/** Parses a packet that is all there is; a read past it throws. */
export function parse(bytes: Uint8Array): { packet: InnerPacket; reason: ReasonName } {
  const packet = new InnerPacket();
  return { packet, reason: reasonNames[parseInner(viewOf(bytes), 0, bytes.length, packet)]! };
}
