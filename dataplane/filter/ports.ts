// The ports of the rules of one prefix, as ranges that can be searched: by kind, ascending and
// disjoint. ICMP has no ports; here a rule for it is a range that holds all of them.

import type { RuleConfig } from '../contract.ts';

/** The kinds of port rules, in the order in which their ranges are stored. */
export const TCP_ACCEPT = 0;
export const UDP_ACCEPT = 1;
export const ICMP_ACCEPT = 2;
export const TCP_DROP = 3;
export const UDP_DROP = 4;
export const ICMP_DROP = 5;
export const KINDS = 6;

const PORT_MAX = 0xffff;

/** A rule and its number in its scope. */
export interface NumberedRule {
  readonly rule: RuleConfig;
  readonly number: number;
  /** The number of its group; 0 in a scope that is not of groups. */
  readonly group: number;
}

/** A range of ports that one rule decides. */
interface Range {
  readonly first: number;
  readonly last: number;
  /** Number of the rule. */
  readonly rule: number;
}

/** The port ranges of one prefix, kind after kind. */
export interface Ports {
  readonly ranges: readonly Range[];
  /** By kind: how many ranges there are up to the end of that kind. */
  readonly ends: readonly number[];
}

const NO_PORTS: Ports = { ranges: [], ends: Array.from({ length: KINDS }, () => 0) };

/** The port ranges of the rules of one prefix. */
export function rangesOf(rules: readonly NumberedRule[]): Ports {
  if (rules.every(({ rule }) => rule.portType === null)) return NO_PORTS;
  const ranges: Range[] = [];
  const ends: number[] = [];
  for (let kind = 0; kind < KINDS; kind++) {
    ranges.push(...disjointRanges(rules, kind));
    ends.push(ranges.length);
  }
  return { ranges, ends };
}

const KINDS_BY_ACTION = {
  accept: { tcp: TCP_ACCEPT, udp: UDP_ACCEPT, icmp: ICMP_ACCEPT },
  drop: { tcp: TCP_DROP, udp: UDP_DROP, icmp: ICMP_DROP },
} as const;

function kindOf({ action, portType }: RuleConfig): number {
  return portType === null ? -1 : KINDS_BY_ACTION[action][portType];
}

function rangeOf({ rule, number }: NumberedRule): Range {
  return rule.portType === 'icmp'
    ? { first: 0, last: PORT_MAX, rule: number }
    : { first: rule.portFirst, last: rule.portLast, rule: number };
}

/**
 * The port ranges of one kind, ascending. Where two rules overlap, the range that begins first
 * decides.
 */
function disjointRanges(rules: readonly NumberedRule[], kind: number): Range[] {
  const sorted = rules
    .filter(({ rule }) => kindOf(rule) === kind)
    .map(rangeOf)
    .sort((a, b) => a.first - b.first || b.last - a.last);
  const ranges: Range[] = [];
  let next = 0;
  for (const range of sorted) {
    const first = Math.max(range.first, next);
    if (first > range.last) continue;
    ranges.push({ first, last: range.last, rule: range.rule });
    next = range.last + 1;
  }
  return ranges;
}
