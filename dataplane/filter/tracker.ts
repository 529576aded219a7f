// The filter's memory: does what a verdict of judge.ts says. It counts the rule, makes flows, notes
// their packets, keeps what was said of first fragments, and forgets all that a peer had when the
// peer or its address goes. Why everything is tracked, also where no rule could drop it, is in
// decisions/2026-11-21-flows-always.md; what becomes of conversations that may have been forgotten,
// in decisions/2026-11-23-forgotten-flows.md.

import { FLOWS_SWEPT_PER_BATCH } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import { FIRST_FRAGMENT, type InnerPacket } from '../wire/ip.ts';
import { type Filter, NO_RULE, type Scope } from './filter.ts';
import { DOUBTFUL, FlowTable, ownerOf, REASON, RULE, STATE, VERSION } from './flow-table.ts';
import { FragmentTable, NO_FIRST } from './fragments.ts';
import { Judge } from './judge.ts';
import { hold, notice } from './lifetime.ts';
import { FLOW_CONTINUES, FLOW_OPENS, type FlowVerdict, NO_PEER } from './verdict.ts';

/** Remembers conversations. Nothing here allocates per packet. */
export class Tracker {
  /** Judges by what is remembered here. */
  readonly judge: Judge;
  readonly flows: FlowTable;
  readonly #fragments: FragmentTable;
  readonly #filter: Filter;
  /** By peer slot: the rules of its owner. */
  readonly #scopes: (Scope | undefined)[] = [];

  constructor(filter: Filter, random: Random, flows = new FlowTable({ random })) {
    this.#filter = filter;
    this.flows = flows;
    this.#fragments = new FragmentTable(random);
    this.judge = new Judge({ filter, flows, fragments: this.#fragments, scopes: this.#scopes });
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

  /** A peer belongs to another owner: all that it does is judged by other rules at once. */
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

  // ---- packets -------------------------------------------------------------------------------

  /** Counts and remembers a packet, as its verdict says. No other packet may come in between. */
  track(packet: InnerPacket, verdict: FlowVerdict): void {
    const { from, step } = verdict;
    if (verdict.rule !== NO_RULE) this.#filter.count(verdict.rule, packet, this.#scopes[from]!);
    if (verdict.isRenewed) this.#renew(verdict);
    if (verdict.stale !== 0) this.flows.remove(verdict.stale);
    if (step === FLOW_CONTINUES) this.#note(packet, verdict);
    else if (step === FLOW_OPENS) this.#add(packet, verdict);
    // What comes from the TUN is not judged, so its fragments follow nothing.
    if (packet.fragment === FIRST_FRAGMENT && from !== NO_PEER) this.#keepFirst(packet, verdict);
  }

  /** Writes down what the rules of now say of a flow or a first fragment. */
  #renew({ first, flow: found, reason, renewedRule }: FlowVerdict): void {
    const { version } = this.#filter;
    if (first !== NO_FIRST) return this.#fragments.setVerdict(first, version, reason, renewedRule);
    const flow = found >> 1;
    this.flows.set(flow, VERSION, version);
    this.flows.set(flow, REASON, reason);
    this.flows.set(flow, RULE, renewedRule);
  }

  #note(packet: InnerPacket, { flow: found, reason }: FlowVerdict): void {
    const flows = this.flows;
    flows.expect(found >> 1);
    if (reason === reasons.none) notice(flows, found >> 1, packet, found & 1);
    else hold(flows, found >> 1, packet);
  }

  /** Makes a flow of the packet that opens it, also of one that is refused in doubt. */
  #add(packet: InnerPacket, verdict: FlowVerdict): void {
    const flows = this.flows;
    const { sourcePort, destinationPort, opener, target } = verdict;
    const flow = flows.add(packet, sourcePort, destinationPort, opener, target);
    flows.set(flow, VERSION, this.#filter.version);
    flows.set(flow, REASON, verdict.reason);
    flows.set(flow, RULE, verdict.rule);
    if (verdict.isDoubtful) flows.set(flow, STATE, DOUBTFUL);
    notice(flows, flow, packet, 0);
  }

  /** Keeps the verdict on a first fragment for those that follow it. */
  #keepFirst(packet: InnerPacket, { from, reason, rule, isByRules }: FlowVerdict): void {
    const fragments = this.#fragments;
    const generation = this.flows.generationOf(ownerOf(from, packet.version));
    const place = fragments.keep(packet, generation, isByRules);
    const byRule = isByRules === 1 ? rule : NO_RULE;
    fragments.setVerdict(place, this.#filter.version, reason, byRule);
  }
}
