// A tracker with three peers and a clock of its own, and the packets that are judged by it.

import { type RuleConfig } from '../../../dataplane/contract.ts';
import { rulesFor } from '../dataplane/whole-configs.ts';
import type { Decision } from '../../../dataplane/filter/decision.ts';
import { EndedFlows } from '../../../dataplane/filter/ended-flows.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { FlowTable } from '../../../dataplane/filter/flow-table.ts';
import { Tracker } from '../../../dataplane/filter/tracker.ts';
import { type FlowVerdict, NO_PEER } from '../../../dataplane/filter/flow-verdict.ts';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { askedAgain } from './flows.ts';
import { concat, echoRequest, ip, tcp, udp, viewOf } from '../dataplane/packets.ts';
import { rule } from '../dataplane/simulation.ts';
import { type Side } from './slow-filter.ts';
import { withoutNulls } from './without-nulls.ts';
import { chance } from '../dataplane/seeded-test.ts';

export const SECOND = 1_000;
/** Room for so many peers; room for all that there may be takes time, in each of many trackers. */
const PEERS = 64;

/** Peers 0 to 2 are 10.0.0.2 to .4 and fd00::2 to ::4; everything else is behind the TUN. */
export function sideOf(text: string): Side {
  const last = /^(?:10\.0\.0\.|fd00::)([234])$/.exec(text)?.[1];
  return last === undefined ? 'tun' : Number(last) - 2;
}

export interface Options {
  default?: 'accept' | 'drop';
  capacity?: number;
  quota?: number;
  ended?: { capacity: number; share: number };
}

/** A tracker with three peers, each its own owner ("0" to "2"), and a clock. */
export class Bench {
  readonly filter: Filter;
  tracker: Tracker;
  readonly #options: Options;
  readonly #say: ReturnType<typeof rulesFor>;
  now = 10_000;
  /** Whether packets come in one batch with those before, or each in a turn of its own. */
  keepsTurn = false;

  constructor(options: Options = {}) {
    this.filter = new Filter(options.default ?? 'accept');
    // Small pieces, so that a few rules are many.
    this.#say = rulesFor(this.filter, 2);
    this.#options = options;
    this.tracker = this.#begin(['0', '1', '2']);
  }

  #begin(scopes: readonly string[]): Tracker {
    const { capacity = 1_024, quota = 256 } = this.#options;
    const random = chance(1);
    const flows = new FlowTable({ random, capacity, quota, peers: PEERS });
    const ended = new EndedFlows({
      capacity: 4_096,
      share: 4_096,
      peers: PEERS,
      ...this.#options.ended,
    });
    const tracker = new Tracker(this.filter, random, flows, ended);
    tracker.begin(this.now, this.now);
    for (const [slot, scope] of scopes.entries()) tracker.addPeer(slot, scope);
    return tracker;
  }

  /** Forgets all flows; the peers, by their owners, are known to have been there. */
  restart(scopes: readonly string[] = ['0', '1', '2']): void {
    this.tracker = this.#begin(scopes);
    for (const slot of scopes.keys()) this.tracker.doubt(slot, 180 * SECOND);
  }

  rules(scope: string, ...rules: RuleConfig[]): void {
    this.#say(scope, rules);
  }

  /** What becomes of a packet; who sends it and who is sent it follows from its addresses. */
  judge(bytes: Uint8Array): ReasonName {
    const packet = new InnerPacket();
    const unreadable = parseInner(viewOf(bytes), 0, bytes.length, packet);
    if (unreadable !== reasons.none) return reasonNames[unreadable]!;
    if (!this.keepsTurn) this.tracker.begin(this.now, this.now);
    const verdict = this.#ask(bytes, packet);
    this.tracker.track(packet, verdict);
    return reasonNames[verdict.reason]!;
  }

  /** What would become of a packet now. It must be one that can be read. */
  ask(bytes: Uint8Array): ReasonName {
    const packet = new InnerPacket();
    parseInner(viewOf(bytes), 0, bytes.length, packet);
    return reasonNames[this.#ask(bytes, packet).reason]!;
  }

  /** What would decide about a packet now. It must be one that can be read. */
  decide(bytes: Uint8Array): Decision {
    const packet = new InnerPacket();
    parseInner(viewOf(bytes), 0, bytes.length, packet);
    return this.tracker.decisionOn(this.#ask(bytes, packet));
  }

  #ask(bytes: Uint8Array, packet: InnerPacket): FlowVerdict {
    const isIpv4 = bytes[0]! >> 4 === 4;
    const [at, length] = isIpv4 ? [12, 4] : [8, 16];
    const textOf = (start: number): string => peerText(bytes.subarray(start, start + length));
    const [from, to] = [sideOf(textOf(at)), sideOf(textOf(at + length))];
    const { judge } = this.tracker;
    return askedAgain((asked) =>
      from === 'tun'
        ? judge.toPeer(viewOf(bytes), 0, packet, to as number, asked)
        : judge.fromPeer(viewOf(bytes), 0, packet, from, to === 'tun' ? NO_PEER : to, asked),
    );
  }

  /** Looks at all flows, as the gateway does within seconds. */
  sweep(): void {
    this.tracker.begin(this.now, this.now);
    this.tracker.sweep(this.now);
  }

  all(...packets: Uint8Array[]): ReasonName[] {
    return packets.map((packet) => this.judge(packet));
  }

  hits(): string[] {
    return withoutNulls(this.filter.takeHits())
      .map(({ id, packets, bytes }) => `${id}: ${packets}, ${bytes}`)
      .sort();
  }
}

/** The text of a peer's address, anything else for another one. */
export function peerText(bytes: Uint8Array): string {
  const last = bytes.at(-1)!;
  if (bytes.length === 4) return bytes[0] === 10 ? `10.0.0.${last}` : 'outside';
  return bytes[0] === 0xfd ? `fd00::${last}` : 'outside';
}

export const SYN = 0x02;
export const ACK = 0x10;
export const RST = 0x04;
export const FIN = 0x01;
export const device = '10.0.0.2';
export const other = '10.0.0.3';
export const host = '192.0.2.1';

/** Two ends of a TCP connection: what each of them sends, by flags. */
export function connection(
  client: string,
  server: string,
): { ask: (flags: number) => Uint8Array; answer: (flags: number) => Uint8Array } {
  return {
    ask: (flags) =>
      tcp({ source: client, destination: server, sourcePort: 40_000, destinationPort: 80, flags }),
    answer: (flags) =>
      tcp({ source: server, destination: client, sourcePort: 80, destinationPort: 40_000, flags }),
  };
}

/** Two ends that exchange datagrams: what each of them sends. */
export function exchange(client: string, server: string): { ask: Uint8Array; answer: Uint8Array } {
  return {
    ask: udp({ source: client, destination: server, sourcePort: 40_000, destinationPort: 53 }),
    answer: udp({ source: server, destination: client, sourcePort: 53, destinationPort: 40_000 }),
  };
}

/** An ICMP error from `source` that quotes the beginning of a packet. */
export function errorAbout(quoted: Uint8Array, source: string, destination: string): Uint8Array {
  const isIpv6 = source.includes(':');
  const payload = concat(new Uint8Array(8), quoted.subarray(0, isIpv6 ? 56 : 28));
  payload[0] = isIpv6 ? 1 : 3;
  return ip({ source, destination, protocol: isIpv6 ? 58 : 1, payload });
}

export function echoReply(source: string, destination: string): Uint8Array {
  const bytes = echoRequest(source, destination);
  if (source.includes(':')) bytes[40] = 129;
  else bytes[20] = 0;
  return bytes;
}

export const dropAll = [rule('4', 'drop', '0.0.0.0/0'), rule('6', 'drop', '::/0')];

export const places = [
  ['the LAN', device, host],
  ['the LAN over IPv6', 'fd00::2', '2001:db8::1'],
  ['another device', device, other],
  ['another device over IPv6', 'fd00::2', 'fd00::3'],
] as const;
