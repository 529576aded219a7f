// A rule in words, for the pages that show one.

import type { RuleRow } from '../../../models/index.ts';
import { showRule } from '../../domain/rules/rules.ts';
import { textOfValue } from '../kit/form.ts';

/** Protocol and ports of a rule; null where it means all traffic. */
export function portsOf(rule: RuleRow): string | null {
  if (rule.port_type === null) return rule.protocol?.toUpperCase() ?? null;
  const { port_range: range } = showRule(rule);
  return `${rule.port_type.toUpperCase()} ${textOfValue(range)}`;
}

/** Whose a rule is; `owners` as `ownersOfRules` names them. */
export function whoseRule(
  { user_id, group_id }: RuleRow,
  owners: ReadonlyMap<string, string>,
): string {
  const id = user_id ?? group_id;
  if (id === null) return 'everyone';
  return owners.get(id) ?? (user_id === null ? 'a group' : 'a user');
}

/** A rule as pages link to it; `owners` as `ownersOfRules` names them. */
export function ruleLink(rule: RuleRow, owners: ReadonlyMap<string, string>) {
  return {
    href: `/rules/${rule.id}`,
    text: ruleInWords(rule),
    whose: whoseRule(rule, owners),
  };
}

/** What a rule means, in one line: `Accept 10.0.0.0/8 TCP 80 - 90`. */
export function ruleInWords(rule: RuleRow): string {
  const ports = portsOf(rule);
  const verb = rule.action === 'accept' ? 'Accept' : 'Drop';
  return `${verb} ${rule.destination}${ports === null ? '' : ` ${ports}`}`;
}
