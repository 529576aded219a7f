// Packets as random courses describe them, and what follows from a description.

import { PROTOCOL_TCP } from '../../../dataplane/wire/ip.ts';

/** Where a packet comes from or goes to: the number of a peer, or what is behind the TUN. */
export type Side = number | 'tun';

/** A packet in words and numbers. */
export interface Described {
  from: Side;
  to: Side;
  source: string;
  destination: string;
  protocol: number;
  sourcePort: number;
  destinationPort: number;
  /** TCP: letters of its flags. */
  flags: string;
  echo: 'request' | 'reply' | null;
  /** An ICMP error quotes another packet. */
  quotes: Described | null;
}

const SECOND = 1_000;

export function familyOf(packet: Described): 4 | 6 {
  return packet.source.includes(':') ? 6 : 4;
}

export function isRequest(packet: Described): boolean {
  return (
    packet.protocol === PROTOCOL_TCP && packet.flags.includes('S') && !packet.flags.includes('A')
  );
}

export function lifetimeOf(packet: Described): number {
  return packet.echo === null ? 180 * SECOND : 30 * SECOND;
}

/** Both ends of a packet; for an echo, which end asks and which one answers. */
export function ends(packet: Described): [string, string, string] {
  const asks = packet.echo === null ? '' : packet.echo === 'request' ? 'asks' : 'answers';
  const other = asks === '' ? '' : asks === 'asks' ? 'answers' : 'asks';
  return [
    `${packet.source} ${packet.sourcePort} ${asks}`,
    `${packet.destination} ${packet.destinationPort} ${other}`,
    `${packet.protocol}`,
  ];
}

export function isAlong(flow: { packet: Described }, packet: Described): boolean {
  return ends(flow.packet).join() === ends(packet).join();
}

export function isAgainst(opening: Described, packet: Described): boolean {
  const [a, b, protocol] = ends(packet);
  return ends(opening).join() === [b, a, protocol].join();
}

/** Whether an error goes to the sender of what it quotes, from the side to which that was sent. */
export function isReturned(quoted: Described, error: Described): boolean {
  return (
    quoted.source === error.destination && quoted.from === error.to && quoted.to === error.from
  );
}
