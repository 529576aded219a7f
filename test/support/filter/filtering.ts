// A filter with rules in force, and packets to judge by them.

import { GLOBAL_SCOPE, type RuleConfig } from '../../../dataplane/contract.ts';
import { rulesFor } from '../dataplane/whole-configs.ts';
import { Filter, type Scope } from '../../../dataplane/filter/filter.ts';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { echoRequest, ip, tcp, udp, viewOf } from '../dataplane/packets.ts';
import { rule } from '../dataplane/simulation.ts';

export const OWNER = 'owner';

export function parsed(bytes: Uint8Array): InnerPacket {
  const packet = new InnerPacket();
  const reason = parseInner(viewOf(bytes), 0, bytes.length, packet);
  if (reason !== reasons.none) throw new Error(reasonNames[reason]);
  return packet;
}

/** Judges a packet of a device and counts it for the rule that decided. */
export function judgeAndCount(filter: Filter, packet: InnerPacket, scope: Scope): number {
  const reason = filter.decide(packet, scope);
  filter.count(filter.matched, packet, scope);
  return reason;
}

export interface Rules {
  own?: readonly RuleConfig[];
  global?: readonly RuleConfig[];
  default?: 'accept' | 'drop';
}

/** A filter with these rules in force, and how it judges a packet of the owner. */
export function filterOf(
  rules: Rules,
  pieceMax?: number,
): {
  filter: Filter;
  say: ReturnType<typeof rulesFor>;
  judge: (bytes: Uint8Array, at?: number) => ReasonName;
} {
  const filter = new Filter(rules.default ?? 'accept');
  const scope = filter.hold(OWNER);
  const say = rulesFor(filter, pieceMax);
  say(OWNER, rules.own ?? []);
  say(GLOBAL_SCOPE, rules.global ?? []);
  return {
    filter,
    say,
    judge: (bytes, at = 0) => {
      filter.begin(at);
      return reasonNames[judgeAndCount(filter, parsed(bytes), scope)]!;
    },
  };
}

export function from(destination: string): string {
  return destination.includes(':') ? 'fd00::2' : '10.0.0.2';
}

export function udpTo(destination: string, destinationPort = 53): Uint8Array {
  return udp({ source: from(destination), destination, destinationPort });
}

export function tcpTo(destination: string, destinationPort = 80): Uint8Array {
  return tcp({ source: from(destination), destination, destinationPort });
}

export function pingTo(destination: string): Uint8Array {
  return echoRequest(from(destination), destination);
}

export const tcp80 = { type: 'tcp', first: 80 } as const;
export const tcp80to90 = { type: 'tcp', first: 80, last: 90 } as const;
export const icmp = { type: 'icmp', first: 0 } as const;
export const udp53 = { type: 'udp', first: 53 } as const;

export type Row = readonly [why: string, rules: Rules, packet: Uint8Array, wanted: ReasonName];

export const ports: readonly Row[] = [
  [
    'the first port of a range',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1', 80),
    'rule_drop',
  ],
  [
    'the last port of a range',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1', 90),
    'rule_drop',
  ],
  [
    'one port before a range',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1', 79),
    'none',
  ],
  [
    'one port behind a range',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1', 91),
    'none',
  ],
  [
    'port 0',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 0 })] },
    tcpTo('192.0.2.1', 0),
    'rule_drop',
  ],
  [
    'port 65,535',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 65_535 })] },
    tcpTo('192.0.2.1', 65_535),
    'rule_drop',
  ],
  [
    'all ports',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'udp', first: 0, last: 65_535 })] },
    udpTo('192.0.2.1', 9),
    'rule_drop',
  ],
  [
    'a TCP rule and a UDP packet',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 53 })] },
    udpTo('192.0.2.1'),
    'none',
  ],
  [
    'a UDP rule and a TCP packet',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'udp', first: 80 })] },
    tcpTo('192.0.2.1'),
    'none',
  ],
  [
    'it is the destination port that counts',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'udp', first: 4_000 })] },
    udpTo('192.0.2.1'),
    'none',
  ],
  [
    'a port rule and a ping',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 0, last: 65_535 })] },
    pingTo('192.0.2.1'),
    'none',
  ],
  [
    'an accept with ports does not accept a ping',
    { own: [rule('1', 'accept', '0.0.0.0/0', tcp80)], default: 'drop' },
    pingTo('192.0.2.1'),
    'default_drop',
  ],
  [
    'a rule without ports and a ping',
    { own: [rule('1', 'drop', '0.0.0.0/0')] },
    pingTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    'a rule without ports and a ping over IPv6',
    { own: [rule('1', 'drop', '::/0')] },
    pingTo('2001:db8::1'),
    'rule_drop',
  ],
  [
    'another protocol, GRE',
    { own: [rule('1', 'drop', '0.0.0.0/0')] },
    ip({ source: '10.0.0.2', destination: '192.0.2.1', protocol: 47, payload: new Uint8Array(8) }),
    'rule_drop',
  ],
  [
    'SCTP has no ports that we know',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 0, last: 65_535 })] },
    ip({
      source: '10.0.0.2',
      destination: '192.0.2.1',
      protocol: 132,
      payload: new Uint8Array(16),
    }),
    'none',
  ],
  [
    'ICMP and a ping',
    { own: [rule('1', 'drop', '0.0.0.0/0', icmp)] },
    pingTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    'ICMPv6 and a ping over IPv6',
    { own: [rule('1', 'accept', '2001:db8::/32', icmp), rule('2', 'drop', '::/0')] },
    pingTo('2001:db8::1'),
    'none',
  ],
  [
    'ICMP and an error that quotes no flow',
    { own: [rule('1', 'drop', '0.0.0.0/0', icmp)] },
    ip({ source: '10.0.0.2', destination: '192.0.2.1', protocol: 1, payload: Uint8Array.of(3) }),
    'rule_drop',
  ],
  [
    'ICMP and ports',
    { own: [rule('1', 'drop', '0.0.0.0/0', icmp)] },
    udpTo('192.0.2.1', 0),
    'none',
  ],
  [
    'ICMP and the protocol of ICMPv6 over IPv4',
    { own: [rule('1', 'drop', '0.0.0.0/0', icmp)] },
    ip({ source: '10.0.0.2', destination: '192.0.2.1', protocol: 58, payload: new Uint8Array(8) }),
    'none',
  ],
  [
    'a drop of ICMP and an accept without ports',
    { own: [rule('1', 'drop', '192.0.2.1', icmp), rule('2', 'accept', '192.0.2.1')] },
    pingTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    'an accept of ICMP around a drop of ICMP',
    { own: [rule('1', 'drop', '192.0.2.1', icmp), rule('2', 'accept', '0.0.0.0/0', icmp)] },
    pingTo('192.0.2.1'),
    'none',
  ],
  [
    'ports over IPv6',
    { own: [rule('1', 'drop', '2001:db8::/32', tcp80)] },
    tcpTo('2001:db8::1'),
    'rule_drop',
  ],
];
