// The filter's verdict on a packet. The first packet of a flow decides for the whole flow. A flow
// that a peer opened is judged by the rules of its owner, in both directions and as long as it
// lasts. A flow that was opened towards a peer may be answered without asking its rules. An error
// of ICMP gets the verdict of the flow that it quotes. A datagram that came in fragments is judged
// as a whole.
//
// A verdict depends on the packet, the sender, the tables and the time, and changes no table. The
// verdict says what must be counted and remembered, and tracker.ts does it. To learn what rules and
// flows decide about a packet, ask here; later steps may still refuse the packet.

import { reasons } from '../reasons.ts';
import { ECHO_ANSWER, ECHO_NONE, ECHO_QUESTION, echoPart, isIcmpError } from '../wire/icmp.ts';
import {
  beginsAnywhere,
  InnerPacket,
  isConnectionRequest,
  isIcmp,
  parseQuoted,
  PROTOCOL_TCP,
  PROTOCOL_UDP,
  WHOLE,
} from '../wire/ip.ts';
import { type Filter, NO_RULE, type Scope } from './filter.ts';
import {
  DOUBTFUL,
  type FlowTable,
  ownerOf,
  peerOf,
  REASON,
  RULE,
  STAGED,
  STATE,
  TUN_OWNER,
  VERSION,
} from './flow-table.ts';
import { isClosed } from './lifetime.ts';
import { FLOW_CONTINUES, FLOW_OPENS, type FlowVerdict, NO_PEER } from './flow-verdict.ts';

/** The port of the side that answers echo requests; no real port is that high. */
const RESPONDER_PORT = 0x10000;

/** What a packet can do to a flow: nothing, continue it, or also open it. */
const APART = 0;
const CONTINUES = 1;
const OPENS = 2;

/** In place of a flow: it is between other owners than the packet. */
const MISPLACED = -1;

/**
 * What verdicts are read from. The types name only methods that change no table, so that a call of
 * another method does not compile.
 */
export interface JudgedBy {
  readonly filter: Pick<Filter, 'decide' | 'matched' | 'namesHost' | 'staged' | 'version'>;
  readonly flows: Pick<
    FlowTable,
    | 'describe'
    | 'describeReply'
    | 'find'
    | 'generationOf'
    | 'get'
    | 'hasEnded'
    | 'isBetween'
    | 'opener'
    | 'target'
    | 'willBeInDoubt'
  >;
  /** By peer slot: the rules of its owner. */
  readonly scopes: readonly (Scope | undefined)[];
}

/** Judges packets and changes nothing. Never allocates. */
export class Judge {
  readonly #filter: JudgedBy['filter'];
  readonly #flows: JudgedBy['flows'];
  readonly #scopes: JudgedBy['scopes'];
  readonly #quoted = new InnerPacket();
  readonly #opening = new InnerPacket();
  /**
   * False: nobody beyond the TUN opens a flow. A socket for a flow of a device may outlive what is
   * remembered of the flow. What the host sends then must not pass for a flow of the host: no rule
   * of the device would end that.
   */
  hasOpenersBeyond = true;

  constructor({ filter, flows, scopes }: JudgedBy) {
    this.#filter = filter;
    this.#flows = flows;
    this.#scopes = scopes;
  }

  // ---- both ways -----------------------------------------------------------------------------

  /** Judges a packet from peer `from` to peer `to` (or NO_PEER). reasons.none lets it pass. */
  fromPeer(
    view: DataView,
    offset: number,
    packet: InnerPacket,
    from: number,
    to: number,
    verdict: FlowVerdict,
  ): number {
    verdict.clear(from);
    const sender = ownerOf(from, packet.version);
    const receiver = to === NO_PEER ? TUN_OWNER : ownerOf(to, packet.version);
    const part = readPorts(view, offset, packet, verdict);
    if (part === APART) {
      const error = this.#findQuoted(view, offset, packet, sender, receiver, verdict);
      return error === 0 ? this.#rules(packet, verdict) : this.#follow(error, verdict);
    }
    const found = this.#find(packet, sender, receiver, verdict);
    const isRequest = isConnectionRequest(packet);
    if (found <= 0 || (isRequest && isClosed(this.#flows, found >> 1))) {
      const reason = this.#rules(packet, verdict);
      if (reason !== reasons.none || part !== OPENS) return reason;
      return this.#open(packet, sender, receiver, verdict);
    }
    // A connection request in the direction of replies is no reply; it is judged by the rules.
    if (isRequest && (found & 1) === 1) return this.#rules(packet, verdict);
    verdict.step = FLOW_CONTINUES;
    return this.#follow(found, verdict);
  }

  /** Judges a packet from the TUN to a peer: rules do not apply, but its flow may be refused. */
  toPeer(
    view: DataView,
    offset: number,
    packet: InnerPacket,
    to: number,
    verdict: FlowVerdict,
  ): number {
    verdict.clear(NO_PEER);
    const receiver = ownerOf(to, packet.version);
    const part = readPorts(view, offset, packet, verdict);
    if (part === APART) {
      const error = this.#findQuoted(view, offset, packet, TUN_OWNER, receiver, verdict);
      return error === 0 ? reasons.none : this.#reasonOf(error >> 1, verdict);
    }
    const found = this.#find(packet, TUN_OWNER, receiver, verdict);
    if (found === MISPLACED) return reasons.none;
    const isRequest = isConnectionRequest(packet);
    if (found === 0) {
      // In the middle of a connection it is not known who opened it; it may have been the peer.
      if (!this.hasOpenersBeyond) return reasons.none;
      return part === OPENS && (isRequest || packet.protocol !== PROTOCOL_TCP)
        ? this.#open(packet, TUN_OWNER, receiver, verdict)
        : reasons.none;
    }
    const reason = this.#reasonOf(found >> 1, verdict);
    if (isRequest && (reason !== reasons.none || isClosed(this.#flows, found >> 1)))
      return this.#open(packet, TUN_OWNER, receiver, verdict);
    verdict.step = FLOW_CONTINUES;
    return reason;
  }

  /** Judges a packet of a peer by the rules alone, without its flow. */
  byRules(packet: InnerPacket, from: number, verdict: FlowVerdict): number {
    verdict.clear(from);
    return this.#rules(packet, verdict);
  }

  /** Whether the rule that a peer's packet is counted for names exactly its destination. */
  isByHostRule({ from, rule }: FlowVerdict): boolean {
    return this.#filter.namesHost(rule, this.#scopes[from]!);
  }

  /** Judges a flow by the present rules, without a packet of it. */
  ofFlow(flow: number, verdict: FlowVerdict): number {
    verdict.clear(NO_PEER);
    verdict.step = FLOW_CONTINUES;
    verdict.flow = 2 * flow;
    return this.#reasonOf(flow, verdict);
  }

  // ---- judging -------------------------------------------------------------------------------

  #rules(packet: InnerPacket, verdict: FlowVerdict): number {
    const reason = this.#filter.decide(packet, this.#scopes[verdict.from]!);
    verdict.reason = reason;
    verdict.rule = this.#filter.matched;
    verdict.staged = this.#filter.staged;
    return reason;
  }

  /**
   * Lets a packet that may pass open a flow. Where the target may have opened that flow earlier,
   * its rules are asked too.
   */
  #open(packet: InnerPacket, opener: number, target: number, verdict: FlowVerdict): number {
    verdict.step = FLOW_OPENS;
    verdict.reason = reasons.none;
    verdict.isRenewed = false;
    verdict.opener = opener;
    verdict.target = target;
    // A flow in this place has ended, or is from a time when others had these addresses.
    if (verdict.stale === 0) verdict.stale = verdict.flow >> 1;
    if (!beginsAnywhere(packet.protocol)) return reasons.none;
    if (!this.#flows.willBeInDoubt(target, opener, verdict.stale)) return reasons.none;
    verdict.isDoubtful = true;
    describeAnswer(packet, verdict.sourcePort, this.#opening);
    const reason = this.#filter.decide(this.#opening, this.#scopes[peerOf(target)]!);
    if (reason === reasons.none) return reasons.none;
    verdict.reason = reason;
    verdict.isByRules = 0;
    return reason;
  }

  /** Judges a peer's packet of a known flow; packets of its opener count for the rule. */
  #follow(found: number, verdict: FlowVerdict): number {
    const flow = found >> 1;
    const reason = this.#reasonOf(flow, verdict);
    if ((found & 1) === 1) {
      verdict.isByRules = 0;
    } else if (verdict.isRenewed) {
      verdict.rule = verdict.renewedRule;
      verdict.staged = verdict.renewedStaged;
    } else {
      verdict.rule = this.#flows.get(flow, RULE);
      verdict.staged = this.#flows.get(flow, STAGED);
    }
    return reason;
  }

  /** The reason for a flow; it is judged again where the rules have changed since. */
  #reasonOf(flow: number, verdict: FlowVerdict): number {
    const flows = this.#flows;
    if (flows.opener(flow) === TUN_OWNER && !this.#isDoubtful(flow)) return reasons.none;
    const reason =
      flows.get(flow, VERSION) === this.#filter.version
        ? flows.get(flow, REASON)
        : this.#judgeFlow(flow, verdict);
    verdict.reason = reason;
    return reason;
  }

  /**
   * Judges a flow by the rules of its opener, and by those of the other side where that may be the
   * opener.
   */
  #judgeFlow(flow: number, verdict: FlowVerdict): number {
    const flows = this.#flows;
    const filter = this.#filter;
    const opener = flows.opener(flow);
    let reason: number = reasons.none;
    let rule = NO_RULE;
    let staged = NO_RULE;
    if (opener !== TUN_OWNER) {
      flows.describe(flow, this.#opening);
      reason = filter.decide(this.#opening, this.#scopes[peerOf(opener)]!);
      rule = filter.matched;
      staged = filter.staged;
    }
    if (reason === reasons.none && this.#isDoubtful(flow)) {
      flows.describeReply(flow, this.#opening);
      reason = filter.decide(this.#opening, this.#scopes[peerOf(flows.target(flow))]!);
    }
    verdict.isRenewed = true;
    verdict.renewedRule = rule;
    verdict.renewedStaged = staged;
    return reason;
  }

  #isDoubtful(flow: number): boolean {
    return (this.#flows.get(flow, STATE) & DOUBTFUL) !== 0;
  }

  // ---- flows ---------------------------------------------------------------------------------

  /** The flow of a packet, or MISPLACED where that flow is between other owners. */
  #find(packet: InnerPacket, sender: number, receiver: number, verdict: FlowVerdict): number {
    const flows = this.#flows;
    const found = flows.find(packet, verdict.sourcePort, verdict.destinationPort);
    if (found === 0) return 0;
    if (flows.hasEnded(found >> 1)) {
      verdict.stale = found >> 1;
      return 0;
    }
    verdict.flow = found;
    return flows.isBetween(found, sender, receiver) ? found : MISPLACED;
  }

  /** The flow that an ICMP error quotes, with the direction of the error itself; or 0. */
  #findQuoted(
    view: DataView,
    offset: number,
    packet: InnerPacket,
    sender: number,
    receiver: number,
    verdict: FlowVerdict,
  ): number {
    if (!isIcmpError(view, offset, packet)) return 0;
    const quoted = this.#quoted;
    const skipped = packet.upperOffset + 8;
    const at = offset + skipped;
    if (!parseQuoted(view, at, packet.length - skipped, quoted)) return 0;
    // An error goes back to the sender of the quoted packet.
    if (!isReturned(quoted, packet) || readPorts(view, at, quoted, verdict) === APART) return 0;
    const found = this.#find(quoted, receiver, sender, verdict);
    return found <= 0 ? 0 : found ^ 1;
  }
}

/** What a packet can do to a flow. Reads the ports by which the flow is found. */
function readPorts(
  view: DataView,
  offset: number,
  packet: InnerPacket,
  verdict: FlowVerdict,
): number {
  const { protocol } = packet;
  if (protocol === PROTOCOL_TCP || protocol === PROTOCOL_UDP) {
    verdict.sourcePort = packet.sourcePort;
    verdict.destinationPort = packet.destinationPort;
    return OPENS;
  }
  verdict.sourcePort = 0;
  verdict.destinationPort = 0;
  if (!isIcmp(packet)) return OPENS;
  const echo = echoPart(view, offset, packet);
  if (echo === ECHO_NONE) return APART;
  const identifier = view.getUint16(offset + packet.upperOffset + 4);
  verdict.sourcePort = echo === ECHO_QUESTION ? identifier : RESPONDER_PORT;
  verdict.destinationPort = echo === ECHO_ANSWER ? identifier : RESPONDER_PORT;
  return echo === ECHO_QUESTION ? OPENS : CONTINUES;
}

/** Fills in the reply to a packet, as the rules of the receiver would judge it. */
function describeAnswer(packet: InnerPacket, sourcePort: number, answer: InnerPacket): void {
  answer.version = packet.version;
  answer.protocol = packet.protocol;
  answer.fragment = WHOLE;
  answer.destination0 = packet.source0;
  answer.destination1 = packet.source1;
  answer.destination2 = packet.source2;
  answer.destination3 = packet.source3;
  answer.destinationPort = sourcePort;
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
