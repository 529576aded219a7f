// What the filter says of one packet: whether it may pass, and what has to be remembered of it.
// judge.ts fills it in and changes nothing else; tracker.ts does what it says. One object serves
// for all packets, one after the other, so that nothing is allocated.

import { reasons } from '../reasons.ts';
import { NO_RULE } from './filter.ts';
import { NO_FIRST } from './fragments.ts';

/** Slot of a peer that is none: the TUN. */
export const NO_PEER = -1;

/** What the packet is to a flow: nothing that is remembered, its first packet, or a further one. */
export const FLOW_NONE = 0;
export const FLOW_OPENS = 1;
export const FLOW_CONTINUES = 2;

/** The filter's verdict on one packet, and what follows from it. */
export class FlowVerdict {
  /** reasons.none lets the packet pass. */
  reason: number = reasons.none;
  /** Slot of the peer that sent the packet; NO_PEER: it came from the TUN. */
  from = NO_PEER;
  /** The rule that the packet is counted for. */
  rule = NO_RULE;
  /** 1 where the rules for the packet itself gave the reason, 0 where those of others did. */
  isByRules = 1;

  /** FLOW_NONE, FLOW_OPENS or FLOW_CONTINUES. */
  step = FLOW_NONE;
  /** The flow that was found, twice, plus 1 where the packet goes from B to A; or 0. */
  flow = 0;
  /** A flow that has ended, or that is in the place of the one that the packet opens; or 0. */
  stale = 0;
  /** Ports by which the flow is found. */
  sourcePort = 0;
  destinationPort = 0;
  /** Of a flow that the packet opens: both owners, and whether the target may be the opener. */
  opener = 0;
  target = 0;
  isDoubtful = false;

  /** Of a later fragment: where its first one is kept, or NO_FIRST. */
  first = NO_FIRST;
  /** Whether the rules have changed, so that flow or first fragment was judged anew. */
  isRenewed = false;
  /** By which rule, then. */
  renewedRule = NO_RULE;

  /** Begins with the next packet. */
  clear(from: number): void {
    this.reason = reasons.none;
    this.from = from;
    this.rule = NO_RULE;
    this.isByRules = 1;
    this.step = FLOW_NONE;
    this.flow = 0;
    this.stale = 0;
    this.isDoubtful = false;
    this.first = NO_FIRST;
    this.isRenewed = false;
  }
}
