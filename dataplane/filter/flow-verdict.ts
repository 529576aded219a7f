// The filter's verdict on one packet: whether it may pass, and what must be remembered of it.
// judge.ts fills it in and changes nothing else; tracker.ts acts on it. One object is used for all
// packets, one after the other, so that nothing is allocated.

import { reasons } from '../reasons.ts';
import { NO_RULE } from './filter.ts';

/** In place of the slot of a peer, for packets from or to the TUN. */
export const NO_PEER = -1;

/** What the packet does to a flow: nothing, opens one, or continues one. */
export const FLOW_NONE = 0;
export const FLOW_OPENS = 1;
export const FLOW_CONTINUES = 2;

/** The verdict on one packet, and what follows from it. */
export class FlowVerdict {
  /** reasons.none lets the packet pass. */
  reason: number = reasons.none;
  /** Slot of the peer that sent the packet; NO_PEER: it came from the TUN. */
  from = NO_PEER;
  /** The rule that the packet is counted for. */
  rule = NO_RULE;
  /** The staged rule that would have decided in its place. */
  staged = NO_RULE;
  /** 1 where the rules for this packet gave the reason, 0 where those of another side did. */
  isByRules = 1;

  /** FLOW_NONE, FLOW_OPENS or FLOW_CONTINUES. */
  step = FLOW_NONE;
  /**
   * Twice the number of the flow that was found, plus 1 where the packet goes from B to A; or 0.
   */
  flow = 0;
  /** A flow to remove: it has ended, or the new flow takes its place; or 0. */
  stale = 0;
  /** Ports by which the flow is found. */
  sourcePort = 0;
  destinationPort = 0;
  /** Where the packet opens a flow: the owner that sends it. */
  opener = 0;
  /** Where the packet opens a flow: the owner that receives it. */
  target = 0;
  /** Whether the target may have opened that flow earlier. */
  isDoubtful = false;

  /** Whether the rules changed, so that the flow was judged again. */
  isRenewed = false;
  /** The rule that decided when it was judged again. */
  renewedRule = NO_RULE;
  renewedStaged = NO_RULE;

  /** Clears the verdict for the next packet. */
  clear(from: number): void {
    this.reason = reasons.none;
    this.from = from;
    this.rule = NO_RULE;
    this.staged = NO_RULE;
    this.isByRules = 1;
    this.step = FLOW_NONE;
    this.flow = 0;
    this.stale = 0;
    this.isDoubtful = false;
    this.isRenewed = false;
  }
}
