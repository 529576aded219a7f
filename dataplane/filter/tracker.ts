// The filter's memory: acts on verdicts of judge.ts. It counts rules, adds flows, notes their
// packets, and forgets everything of a peer that goes or loses its address. Flows are tracked even
// where no rule could drop anything: decisions/2026-11-21-flows-always.md says why. Flows that may
// have been forgotten are the subject of decisions/2026-11-23-forgotten-flows.md.

import { FLOWS_PER_ENDED_FLOW, FLOWS_SWEPT_PER_BATCH } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import type { InnerPacket } from '../wire/ip.ts';
import { type DecidedBy, type Decision, decisionOf, ruleIdOf } from './decision.ts';
import { EndedFlows } from './ended-flows.ts';
import { type Filter, NO_RULE, type Scope } from './filter.ts';
import { FlowCounts } from './flow-counts.ts';
import { FlowEnds } from './flow-ends.ts';
import { FlowSweep } from './flow-sweep.ts';
import {
  DOUBTFUL,
  FlowTable,
  ownerOf,
  REASON,
  RULE,
  STAGED,
  STATE,
  VERSION,
} from './flow-table.ts';
import { Judge } from './judge.ts';
import { hold, notice } from './lifetime.ts';
import { FLOW_CONTINUES, FLOW_OPENS, FlowVerdict } from './flow-verdict.ts';
import { FilterTrial, type TriedByFilter } from './trial.ts';

/** Remembers flows. Nothing here allocates per packet. */
export class Tracker {
  /** Judges packets by what is remembered here. */
  readonly judge: Judge;
  readonly flows: FlowTable;
  /** What the flows have carried. */
  readonly counts: FlowCounts;
  /** The flows that have ended. */
  readonly ended: EndedFlows;
  readonly ends: FlowEnds;
  readonly #sweep: FlowSweep;
  readonly #renewed = new FlowVerdict();
  readonly #filter: Filter;
  /** By peer slot: the rules of its owner. */
  readonly #scopes: (Scope | undefined)[] = [];
  readonly #decidedBy: DecidedBy;

  constructor(
    filter: Filter,
    random: Random,
    flows = new FlowTable({ random }),
    ended = new EndedFlows({ capacity: flows.capacity / FLOWS_PER_ENDED_FLOW }),
  ) {
    this.#filter = filter;
    this.flows = flows;
    this.ended = ended;
    this.counts = new FlowCounts(flows.capacity);
    this.#decidedBy = { filter, flows, scopes: this.#scopes };
    this.judge = new Judge({ filter, flows, scopes: this.#scopes });
    this.ends = new FlowEnds({ filter, flows, judge: this.judge, counts: this.counts, ended });
    this.#sweep = new FlowSweep({
      flows,
      renew: (flow) => this.#renewFlow(flow),
      endRound: () => this.ends.endRound(),
    });
  }

  /** Begins a turn: everything in it happens at `now`. */
  begin(now: number, wallMs: number): void {
    this.setTime(now, wallMs);
    this.flows.sweep(FLOWS_SWEPT_PER_BATCH);
  }

  /** Sets the time of verdicts, and does nothing else. */
  setTime(now: number, wallMs: number): void {
    this.#filter.begin(wallMs);
    this.flows.begin(now);
    this.counts.begin(now);
    this.ended.begin(now);
  }

  /** When `sweep` must be called next; infinite while there are no flows. */
  get nextSweep(): number {
    return this.#sweep.nextAt;
  }

  /** Looks whether flows have ended, at the time that `begin` set. */
  sweep(now: number): void {
    this.#sweep.slice(now);
  }

  // ---- peers ---------------------------------------------------------------------------------

  /** Adds a peer; `isHere`: it belongs to this worker. */
  addPeer(slot: number, scope: string, key = `${slot}`, isHere = true): void {
    const rules = this.#filter.hold(scope);
    this.#scopes[slot] = rules;
    this.ends.setDevice(slot, key, rules, isHere);
  }

  /** Moves a peer to another owner: from now on the rules of that owner judge its flows. */
  moveToScope(slot: number, scope: string): void {
    const before = this.#scopes[slot]!;
    if (before.name === scope) return;
    const rules = this.#filter.hold(scope);
    this.#scopes[slot] = rules;
    this.ends.moveDevice(slot, rules);
    this.#filter.release(before);
    this.#filter.renew();
  }

  /** Sets the groups of the owner of a peer: from now on their rules judge its flows too. */
  join(slot: number, groups: string): void {
    this.#filter.join(this.#scopes[slot]!, groups);
  }

  /** Notes that for `durationMs` a peer may have flows that are not remembered here. */
  doubt(slot: number, durationMs: number): void {
    this.flows.doubt(ownerOf(slot, 4), durationMs);
    this.flows.doubt(ownerOf(slot, 6), durationMs);
  }

  /** Forgets the flows of an address that a peer has lost: nobody may continue them. */
  forgetAddress(slot: number, version: 4 | 6): void {
    const owner = ownerOf(slot, version);
    this.ends.leave(owner);
    this.flows.forget(owner);
  }

  removePeer(slot: number): void {
    this.forgetAddress(slot, 4);
    this.forgetAddress(slot, 6);
    this.ends.removeDevice(slot);
    this.#filter.release(this.#scopes[slot]!);
    this.#scopes[slot] = undefined;
  }

  // ---- packets -------------------------------------------------------------------------------

  /**
   * Counts and remembers a packet as its verdict says. Call it before the next packet is judged. A
   * super-packet is so many `packets` with so many `bytes`.
   */
  track(packet: InnerPacket, verdict: FlowVerdict, packets = 1, bytes = packet.length): void {
    const { from, step } = verdict;
    if (verdict.rule !== NO_RULE) this.#filter.count(verdict.rule, packet, this.#scopes[from]!);
    if (verdict.staged !== NO_RULE)
      this.#filter.countStaged(verdict.staged, packet, this.#scopes[from]!);
    if (verdict.isRenewed) this.#renew(verdict);
    if (verdict.stale !== 0) this.flows.remove(verdict.stale);
    if (step === FLOW_CONTINUES) this.#note(packet, verdict, packets, bytes);
    else if (step === FLOW_OPENS) this.#add(packet, verdict, packets, bytes);
  }

  /** What decided a verdict. No other verdict may have been asked for since. */
  decisionOn(verdict: FlowVerdict): Decision {
    return decisionOf(this.#decidedBy, verdict);
  }

  /** The id of the rule that decided a verdict, as `decisionOn` says it. Never allocates. */
  ruleOn(verdict: FlowVerdict): string | null {
    return ruleIdOf(this.#decidedBy, verdict);
  }

  /** Name of the rules of a peer. */
  scopeOf(slot: number): string | null {
    return this.#scopes[slot]?.name ?? null;
  }

  /** Tries a change. The trial is valid until something changes, or time passes. */
  tried(change: TriedByFilter): FilterTrial {
    const [filter, flows] = [this.#filter, this.flows];
    return new FilterTrial({ filter, flows, scopes: this.#scopes }, change);
  }

  /** Stores what the current rules say of a flow. */
  #renew({ flow: found, reason, renewedRule, renewedStaged }: FlowVerdict): void {
    const { version } = this.#filter;
    const flow = found >> 1;
    const before = this.flows.get(flow, REASON);
    this.flows.set(flow, VERSION, version);
    this.flows.set(flow, REASON, reason);
    this.flows.set(flow, RULE, renewedRule);
    this.flows.set(flow, STAGED, renewedStaged);
    this.ends.turned(flow, before);
  }

  /** Judges a flow again where its rules have changed; returns whether it did. */
  #renewFlow(flow: number): boolean {
    const verdict = this.#renewed;
    this.judge.ofFlow(flow, verdict);
    if (verdict.isRenewed) this.#renew(verdict);
    return verdict.isRenewed;
  }

  #note(packet: InnerPacket, verdict: FlowVerdict, packets: number, bytes: number): void {
    const flows = this.flows;
    const flow = verdict.flow >> 1;
    const reply = verdict.flow & 1;
    flows.expect(flow);
    if (verdict.reason !== reasons.none) return hold(flows, flow, packet);
    notice(flows, flow, packet, reply);
    this.counts.count(flow, reply, packets, bytes);
  }

  /** Adds the flow that a packet opens, also where the flow is refused because of doubt. */
  #add(packet: InnerPacket, verdict: FlowVerdict, packets: number, bytes: number): void {
    const flows = this.flows;
    const { sourcePort, destinationPort, opener, target } = verdict;
    const flow = flows.add(packet, sourcePort, destinationPort, opener, target);
    flows.set(flow, VERSION, this.#filter.version);
    flows.set(flow, REASON, verdict.reason);
    flows.set(flow, RULE, verdict.rule);
    flows.set(flow, STAGED, verdict.staged);
    if (verdict.isDoubtful) flows.set(flow, STATE, DOUBTFUL);
    notice(flows, flow, packet, 0);
    this.counts.open(flow);
    if (verdict.reason !== reasons.none) return;
    this.ends.opened(flow);
    this.counts.count(flow, 0, packets, bytes);
  }
}
