// The filter with a memory. The first packet of a conversation decides what the rest of it is: one
// that a peer opened stands under the rules of its owner, both ways and for as long as it lasts;
// one that was opened towards a peer is answered freely. Later fragments follow their first one,
// ICMP errors belong to the conversation that they quote. Why everything is tracked, also where no
// rule could drop it, is in decisions/2026-11-21-flows-always.md; what becomes of conversations
// that may have been forgotten, in decisions/2026-11-23-forgotten-flows.md.

import { FLOWS_SWEPT_PER_BATCH } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import { ECHO_ANSWER, ECHO_NONE, ECHO_QUESTION, echoPart, isIcmpError } from '../wire/icmp.ts';
import {
  beginsAnywhere,
  FIRST_FRAGMENT,
  InnerPacket,
  isConnectionRequest,
  isIcmp,
  LATER_FRAGMENT,
  parseQuoted,
  PROTOCOL_TCP,
  PROTOCOL_UDP,
} from '../wire/ip.ts';
import { type Filter, NO_RULE, type Scope } from './filter.ts';
import {
  DOUBTFUL,
  FlowTable,
  ownerOf,
  peerOf,
  REASON,
  RULE,
  STATE,
  TUN_OWNER,
  VERSION,
} from './flow-table.ts';
import { FragmentTable, NO_FIRST } from './fragments.ts';
import { hold, isClosed, notice } from './lifetime.ts';

/** In the place of the port of whoever answers echo requests: no port is that high. */
const RESPONDER_PORT = 0x10000;

/** What a packet may be to a flow: nothing, a part of it, or its beginning as well. */
const APART = 0;
const CONTINUES = 1;
const OPENS = 2;

/** The flow of a packet is one that others had. */
const MISPLACED = -1;

/** Slot of a peer that is none: the TUN. */
export const NO_PEER = -1;

/** Judges packets by the conversation that they belong to. */
export class Tracker {
  readonly flows: FlowTable;
  readonly #fragments: FragmentTable;
  readonly #filter: Filter;
  /** By peer slot: the rules of its owner. */
  readonly #scopes: (Scope | undefined)[] = [];
  readonly #quoted = new InnerPacket();
  readonly #opening = new InnerPacket();
  /** Ports by which the flow of the packet at hand is found. */
  #sourcePort = 0;
  #destinationPort = 0;

  constructor(filter: Filter, random: Random, flows = new FlowTable({ random })) {
    this.#filter = filter;
    this.flows = flows;
    this.#fragments = new FragmentTable(random);
  }

  /** Begins a turn: everything until the next one happens now. */
  begin(now: number, wallMs: number): void {
    this.#filter.begin(wallMs);
    this.#fragments.begin(now);
    this.flows.begin(now);
    this.flows.sweep(FLOWS_SWEPT_PER_BATCH);
  }

  // ---- peers ---------------------------------------------------------------------------------

  addPeer(slot: number, scope: string): void {
    this.#scopes[slot] = this.#filter.hold(scope);
  }

  /** A peer belongs to another owner: all that it does stands under other rules at once. */
  moveToScope(slot: number, scope: string): void {
    const before = this.#scopes[slot]!;
    if (before.name === scope) return;
    this.#scopes[slot] = this.#filter.hold(scope);
    this.#filter.release(before);
    this.#filter.renew();
  }

  /** A peer may have conversations that nobody remembers here, for so many milliseconds. */
  doubt(slot: number, durationMs: number): void {
    this.flows.doubt(ownerOf(slot, 4), durationMs);
    this.flows.doubt(ownerOf(slot, 6), durationMs);
  }

  /** A peer has lost its address of one family: nobody may go on with what it had there. */
  forgetAddress(slot: number, version: 4 | 6): void {
    this.flows.forget(ownerOf(slot, version));
  }

  removePeer(slot: number): void {
    this.forgetAddress(slot, 4);
    this.forgetAddress(slot, 6);
    this.#filter.release(this.#scopes[slot]!);
    this.#scopes[slot] = undefined;
  }

  // ---- both ways -----------------------------------------------------------------------------

  /** Judges a packet from peer `from` to peer `to` (or NO_PEER). reasons.none lets it pass. */
  fromPeer(view: DataView, offset: number, packet: InnerPacket, from: number, to: number): number {
    if (packet.fragment === LATER_FRAGMENT) return this.#judgeLaterFragment(packet, from);
    const sender = ownerOf(from, packet.version);
    const receiver = to === NO_PEER ? TUN_OWNER : ownerOf(to, packet.version);
    const part = this.#readPorts(view, offset, packet);
    if (part === APART) {
      const error = this.#findQuoted(view, offset, packet, sender, receiver);
      return error === 0 ? this.judge(packet, from) : this.#follow(error, packet, from);
    }
    const found = this.#find(packet, sender, receiver);
    const isRequest = isConnectionRequest(packet);
    if (found <= 0 || (isRequest && isClosed(this.flows, found >> 1)))
      return this.#open(packet, from, receiver, part);
    // To begin a connection is no answer to one.
    if (isRequest && (found & 1) === 1) return this.judge(packet, from);
    const reason = this.#follow(found, packet, from);
    this.#note(found, packet, reason);
    return reason;
  }

  /** Looks at a packet from the TUN to a peer: no rule is for it, but its flow may be refused. */
  toPeer(view: DataView, offset: number, packet: InnerPacket, to: number): number {
    if (packet.fragment === LATER_FRAGMENT) return reasons.none;
    const receiver = ownerOf(to, packet.version);
    const part = this.#readPorts(view, offset, packet);
    if (part === APART) {
      const error = this.#findQuoted(view, offset, packet, TUN_OWNER, receiver);
      return error === 0 ? reasons.none : this.#verdictOn(error >> 1);
    }
    const found = this.#find(packet, TUN_OWNER, receiver);
    if (found === MISPLACED) return reasons.none;
    const isRequest = isConnectionRequest(packet);
    if (found === 0) {
      // In the middle of a connection nobody can say who opened it: it might have been the peer.
      return part === OPENS && (isRequest || packet.protocol !== PROTOCOL_TCP)
        ? this.#remember(packet, TUN_OWNER, receiver, NO_RULE)
        : reasons.none;
    }
    const flow = found >> 1;
    const reason = this.#verdictOn(flow);
    if (isRequest && (reason !== reasons.none || isClosed(this.flows, flow))) {
      this.flows.remove(flow);
      return this.#remember(packet, TUN_OWNER, receiver, NO_RULE);
    }
    this.#note(found, packet, reason);
    return reason;
  }

  // ---- judging -------------------------------------------------------------------------------

  /** By the rules alone. The verdict on a first fragment is kept for those that follow it. */
  judge(packet: InnerPacket, from: number): number {
    const filter = this.#filter;
    const reason = filter.judge(packet, this.#scopes[from]!);
    if (packet.fragment === FIRST_FRAGMENT)
      this.#keepFirst(packet, from, reason, filter.matched, 1);
    return reason;
  }

  /** What may open a flow is judged by the rules, and remembered when they let it pass. */
  #open(packet: InnerPacket, from: number, receiver: number, part: number): number {
    const reason = this.judge(packet, from);
    if (reason !== reasons.none || part !== OPENS) return reason;
    const { flows } = this;
    // What stands in its place is over, or was made when the addresses were others'.
    const before = flows.find(packet, this.#sourcePort, this.#destinationPort);
    if (before !== 0) flows.remove(before >> 1);
    const rule = this.#filter.matched;
    const doubt = this.#remember(packet, ownerOf(from, packet.version), receiver, rule);
    if (doubt !== reasons.none && packet.fragment === FIRST_FRAGMENT)
      this.#keepFirst(packet, from, doubt, NO_RULE, 0);
    return doubt;
  }

  /** A peer's packet that belongs to a flow: what the opener sends counts for the rule. */
  #follow(found: number, packet: InnerPacket, from: number): number {
    const flow = found >> 1;
    const reason = this.#verdictOn(flow);
    const rule = (found & 1) === 0 ? this.flows.get(flow, RULE) : NO_RULE;
    this.#filter.count(rule, packet, this.#scopes[from]!);
    if (packet.fragment === FIRST_FRAGMENT)
      this.#keepFirst(packet, from, reason, rule, (found & 1) ^ 1);
    return reason;
  }

  /** What is to become of a flow: once more judged if the rules have changed since. */
  #verdictOn(flow: number): number {
    const { flows } = this;
    if (flows.opener(flow) === TUN_OWNER && !this.#isDoubtful(flow)) return reasons.none;
    if (flows.get(flow, VERSION) !== this.#filter.version) this.#judgeFlow(flow);
    return flows.get(flow, REASON);
  }

  /** The opener's rules judge a flow; those of the other side too, where it may be the opener. */
  #judgeFlow(flow: number): void {
    const { flows } = this;
    const filter = this.#filter;
    const opener = flows.opener(flow);
    let reason: number = reasons.none;
    let rule = NO_RULE;
    if (opener !== TUN_OWNER) {
      flows.describe(flow, this.#opening);
      reason = filter.decide(this.#opening, this.#scopes[peerOf(opener)]!);
      rule = filter.matched;
    }
    if (reason === reasons.none && this.#isDoubtful(flow)) {
      flows.describeReply(flow, this.#opening);
      reason = filter.decide(this.#opening, this.#scopes[peerOf(flows.target(flow))]!);
    }
    flows.set(flow, REASON, reason);
    flows.set(flow, RULE, rule);
    flows.set(flow, VERSION, filter.version);
  }

  #isDoubtful(flow: number): boolean {
    return (this.flows.get(flow, STATE) & DOUBTFUL) !== 0;
  }

  // ---- fragments -----------------------------------------------------------------------------

  /** `isJudged`: 1 where the rules for the packet itself gave the verdict, 0 for a reply. */
  #keepFirst(
    packet: InnerPacket,
    from: number,
    reason: number,
    rule: number,
    isJudged: number,
  ): void {
    const generation = this.flows.generationOf(ownerOf(from, packet.version));
    const fragments = this.#fragments;
    const place = fragments.keep(packet, generation, isJudged);
    fragments.setVerdict(place, this.#filter.version, reason, rule);
  }

  #judgeLaterFragment(packet: InnerPacket, from: number): number {
    const filter = this.#filter;
    const fragments = this.#fragments;
    const scope = this.#scopes[from]!;
    const generation = this.flows.generationOf(ownerOf(from, packet.version));
    const place = fragments.find(packet, generation);
    if (place === NO_FIRST) return filter.judge(packet, scope);
    if (fragments.overlaps(place, packet)) return reasons.inner_fragment_unsafe;
    if (fragments.isOutdated(place, filter.version)) {
      fragments.describe(place, this.#opening, packet);
      const reason = filter.decide(this.#opening, scope);
      fragments.setVerdict(place, filter.version, reason, filter.matched);
    }
    filter.count(fragments.ruleAt(place), packet, scope);
    return fragments.reasonAt(place);
  }

  // ---- flows ---------------------------------------------------------------------------------

  /** The flow of a packet, or MISPLACED where it lies between others than it says. */
  #find(packet: InnerPacket, sender: number, receiver: number): number {
    const { flows } = this;
    const found = flows.find(packet, this.#sourcePort, this.#destinationPort);
    if (found === 0 || flows.isBetween(found, sender, receiver)) return found;
    return MISPLACED;
  }

  /** Makes a flow of the packet that opens it. A reason, where it may be an old one, refused. */
  #remember(packet: InnerPacket, opener: number, target: number, rule: number): number {
    const { flows } = this;
    const flow = flows.add(packet, this.#sourcePort, this.#destinationPort, opener, target);
    flows.set(flow, VERSION, this.#filter.version);
    flows.set(flow, REASON, reasons.none);
    flows.set(flow, RULE, rule);
    if (flows.isInDoubt(target) && beginsAnywhere(packet.protocol)) {
      flows.set(flow, STATE, DOUBTFUL);
      this.#judgeFlow(flow);
    }
    notice(flows, flow, packet, 0);
    return flows.get(flow, REASON);
  }

  #note(found: number, packet: InnerPacket, reason: number): void {
    if (reason === reasons.none) notice(this.flows, found >> 1, packet, found & 1);
    else hold(this.flows, found >> 1, packet);
  }

  /** Says what a packet may be to a flow, and reads by which ports the flow is found. */
  #readPorts(view: DataView, offset: number, packet: InnerPacket): number {
    const { protocol } = packet;
    if (protocol === PROTOCOL_TCP || protocol === PROTOCOL_UDP) {
      this.#sourcePort = packet.sourcePort;
      this.#destinationPort = packet.destinationPort;
      return OPENS;
    }
    this.#sourcePort = 0;
    this.#destinationPort = 0;
    if (!isIcmp(packet)) return OPENS;
    const echo = echoPart(view, offset, packet);
    if (echo === ECHO_NONE) return APART;
    const identifier = view.getUint16(offset + packet.upperOffset + 4);
    this.#sourcePort = echo === ECHO_QUESTION ? identifier : RESPONDER_PORT;
    this.#destinationPort = echo === ECHO_ANSWER ? identifier : RESPONDER_PORT;
    return echo === ECHO_QUESTION ? OPENS : CONTINUES;
  }

  /** The flow that an ICMP error quotes, with the way that the error itself goes; or 0. */
  #findQuoted(
    view: DataView,
    offset: number,
    packet: InnerPacket,
    sender: number,
    receiver: number,
  ): number {
    if (!isIcmpError(view, offset, packet)) return 0;
    const quoted = this.#quoted;
    const skipped = packet.upperOffset + 8;
    const at = offset + skipped;
    if (!parseQuoted(view, at, packet.length - skipped, quoted)) return 0;
    // It goes back to who sent what it quotes.
    if (!isReturned(quoted, packet) || this.#readPorts(view, at, quoted) === APART) return 0;
    const found = this.#find(quoted, receiver, sender);
    return found <= 0 ? 0 : found ^ 1;
  }
}

function isReturned(quoted: InnerPacket, error: InnerPacket): boolean {
  return (
    quoted.version === error.version &&
    quoted.source0 === error.destination0 &&
    quoted.source1 === error.destination1 &&
    quoted.source2 === error.destination2 &&
    quoted.source3 === error.destination3
  );
}
