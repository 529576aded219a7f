// What decided a verdict of judge.ts, for people who ask: the flow of the packet, who opened it,
// and the rule. It is read from the verdict and the tables, and changes neither.

import { reasons } from '../reasons.ts';
import { type Filter, NO_RULE, type Scope } from './filter.ts';
import { DOUBTFUL, type FlowTable, peerOf, RULE, STAGED, STATE } from './flow-table.ts';
import {
  FLOW_CONTINUES,
  FLOW_NONE,
  FLOW_OPENS,
  type FlowVerdict,
  NO_PEER,
} from './flow-verdict.ts';

/** What decided whether a packet may pass. */
export interface Decision {
  /**
   * `rule`: a rule. `default`: the default action, because no rule matched. `nothing`: rules were
   * not asked, because the flow was opened from behind the TUN.
   */
  readonly by: 'rule' | 'default' | 'nothing';
  /** The id of the rule. Null where it is not known: it belongs to the other side of the flow. */
  readonly rule: string | null;
  /** The id of the staged rule that would decide if all staged rules were enforced; or null. */
  readonly staged: string | null;
  /** What the packet does to a flow. */
  readonly flow: 'none' | 'opens' | 'continues';
  /** Slot of the peer that opened or opens the flow; NO_PEER: it came from the TUN. */
  readonly opener: number;
}

/** What decisions are read from. */
export interface DecidedBy {
  readonly filter: Pick<Filter, 'idOf' | 'stagedIdOf'>;
  readonly flows: Pick<FlowTable, 'get' | 'opener'>;
  /** By peer slot: the rules of its owner. */
  readonly scopes: readonly (Scope | undefined)[];
}

const FLOWS = {
  [FLOW_NONE]: 'none',
  [FLOW_OPENS]: 'opens',
  [FLOW_CONTINUES]: 'continues',
} as const;

/** What decided a verdict. No other verdict may have been asked for since. */
export function decisionOf(by: DecidedBy, verdict: FlowVerdict): Decision {
  const opener = openerOf(by, verdict);
  const staged = stagedIdOf(by, verdict);
  const flow = { staged, flow: FLOWS[verdict.step as keyof typeof FLOWS], opener };
  const rule = ruleIdOf(by, verdict);
  // The rules of either side may have refused it.
  if (isRefusedInDoubt(by, verdict)) return { by: 'rule', rule, ...flow };
  if (opener === NO_PEER) return { by: 'nothing', rule, ...flow };
  return { by: ruleOf(by, verdict) === NO_RULE ? 'default' : 'rule', rule, ...flow };
}

/**
 * The id of the rule that decided a verdict; null: none did, or it is not known. No other verdict
 * may have been asked for since. Never allocates.
 */
export function ruleIdOf(by: DecidedBy, verdict: FlowVerdict): string | null {
  if (isRefusedInDoubt(by, verdict)) return null;
  const opener = openerOf(by, verdict);
  if (opener === NO_PEER) return null;
  const rule = ruleOf(by, verdict);
  return rule === NO_RULE ? null : by.filter.idOf(rule, by.scopes[opener]!);
}

/** The id of the staged rule that would decide; null: none would, or it is not known. */
function stagedIdOf(by: DecidedBy, verdict: FlowVerdict): string | null {
  const opener = openerOf(by, verdict);
  if (opener === NO_PEER || isRefusedInDoubt(by, verdict)) return null;
  const flow = continued(verdict);
  const ofFlow = verdict.isRenewed ? verdict.renewedStaged : by.flows.get(flow, STAGED);
  const staged = flow === 0 ? verdict.staged : ofFlow;
  return staged === NO_RULE ? null : by.filter.stagedIdOf(staged, by.scopes[opener]!);
}

/** The flow that a packet continues; 0: none. */
function continued({ step, flow }: FlowVerdict): number {
  return step === FLOW_CONTINUES ? flow >> 1 : 0;
}

function openerOf({ flows }: DecidedBy, verdict: FlowVerdict): number {
  const flow = continued(verdict);
  return flow === 0 ? verdict.from : peerOf(flows.opener(flow));
}

function isRefusedInDoubt({ flows }: DecidedBy, verdict: FlowVerdict): boolean {
  if (verdict.reason === reasons.none) return false;
  const flow = continued(verdict);
  return flow === 0 ? verdict.isDoubtful : (flows.get(flow, STATE) & DOUBTFUL) !== 0;
}

/** The rule that decided, under the current version. */
function ruleOf({ flows }: DecidedBy, verdict: FlowVerdict): number {
  const flow = continued(verdict);
  if (flow === 0) return verdict.rule;
  return verdict.isRenewed ? verdict.renewedRule : flows.get(flow, RULE);
}
