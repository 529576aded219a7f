// What decided a verdict of judge.ts, for people who ask: the flow of the packet, who opened it,
// and the rule. It is read from the verdict and the tables, and changes neither.

import { reasons } from '../reasons.ts';
import { type Filter, NO_RULE, type Scope } from './filter.ts';
import { DOUBTFUL, type FlowTable, peerOf, RULE, STATE } from './flow-table.ts';
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
  /** What the packet does to a flow. */
  readonly flow: 'none' | 'opens' | 'continues';
  /** Slot of the peer that opened or opens the flow; NO_PEER: it came from the TUN. */
  readonly opener: number;
}

/** What decisions are read from. */
export interface DecidedBy {
  readonly filter: Pick<Filter, 'idOf'>;
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
export function decisionOf({ filter, flows, scopes }: DecidedBy, verdict: FlowVerdict): Decision {
  const { reason, step } = verdict;
  const found = step === FLOW_CONTINUES ? verdict.flow >> 1 : 0;
  const opener = found === 0 ? verdict.from : peerOf(flows.opener(found));
  const flow = { flow: FLOWS[step as keyof typeof FLOWS], opener };
  const isDoubtful = found === 0 ? verdict.isDoubtful : (flows.get(found, STATE) & DOUBTFUL) !== 0;
  // The rules of either side may have refused it.
  if (isDoubtful && reason !== reasons.none) return { by: 'rule', rule: null, ...flow };
  if (opener === NO_PEER) return { by: 'nothing', rule: null, ...flow };
  const rule = found === 0 ? verdict.rule : ruleOf(flows, found, verdict);
  if (rule === NO_RULE) return { by: 'default', rule: null, ...flow };
  return { by: 'rule', rule: filter.idOf(rule, scopes[opener]!), ...flow };
}

/** The rule of a flow under the current version. */
function ruleOf(flows: DecidedBy['flows'], flow: number, verdict: FlowVerdict): number {
  return verdict.isRenewed ? verdict.renewedRule : flows.get(flow, RULE);
}
