// A rule in words, for the pages that show one.

import type { RuleRow } from '../../../models/index.ts';
import { showRule } from '../../rules/rules.ts';
import { textOfValue } from '../kit/form.ts';

/** Protocol and ports of a rule; null where it means all traffic. */
export function portsOf(rule: RuleRow): string | null {
  if (rule.port_type === null) return null;
  const { port_range: range } = showRule(rule);
  return `${rule.port_type.toUpperCase()} ${textOfValue(range)}`;
}

/** A rule as pages link to it; `emails` are those of the owners, by id. */
export function ruleLink(rule: RuleRow, emails: ReadonlyMap<string, string>) {
  return {
    href: `/rules/${rule.id}`,
    text: ruleInWords(rule),
    whose: rule.user_id === null ? 'everyone' : (emails.get(rule.user_id) ?? 'a user'),
  };
}

/** What a rule means, in one line: `Accept 10.0.0.0/8 TCP 80 - 90`. */
export function ruleInWords(rule: RuleRow): string {
  const ports = portsOf(rule);
  const verb = rule.action === 'accept' ? 'Accept' : 'Drop';
  return `${verb} ${rule.destination}${ports === null ? '' : ` ${ports}`}`;
}
