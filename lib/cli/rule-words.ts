// A rule in words, where its id alone would tell people nothing.

import { shortId } from './naming.ts';
import type { Finds } from './row.ts';

/** A rule, as the API shows it. */
export interface ShownRule {
  readonly id: string;
  readonly action: string;
  readonly destination: string;
  readonly port_type: string | null;
  readonly port_range: string | null;
  readonly protocol: string | null;
  readonly user_id: string | null;
  readonly group_id: string | null;
  readonly description: string | null;
}

/** Rules that are asked for at once: each request has a connection of its own. */
const RULES_AT_ONCE = 20;

/** Whom rules and their owners are asked of. */
interface KnowsRules {
  readonly finds: Pick<Finds, 'user' | 'group'>;
  findRuleById(id: string): Promise<ShownRule | null>;
}

/** A rule in words, with its short id behind them; `whose` is the name of its user or group. */
export function ruleInWords(rule: ShownRule, whose: string): string {
  const { id, action, destination, port_type: type, port_range: ports, description } = rule;
  const traffic = type === null ? (rule.protocol ?? 'all traffic') : `${type} ${ports ?? ''}`;
  const why = description === null ? '' : `: ${description}`;
  return `${action} ${traffic.trim()} to ${destination}, for ${whose}${why} (${shortId(id)})`;
}

/** Rules by their ids in words, asked of the gateway; one that was removed stays an id. */
export async function rulesInWords(gateway: KnowsRules, ids: readonly string[]): Promise<string[]> {
  const words: string[] = [];
  for (let start = 0; start < ids.length; start += RULES_AT_ONCE) {
    const some = ids.slice(start, start + RULES_AT_ONCE);
    words.push(...(await Promise.all(some.map((id) => foundInWords(gateway, id)))));
  }
  return words;
}

async function foundInWords(gateway: KnowsRules, id: string): Promise<string> {
  const rule = await gateway.findRuleById(id);
  return rule === null ? id : ruleInWords(rule, await ownerOf(gateway, rule));
}

async function ownerOf(gateway: KnowsRules, rule: ShownRule): Promise<string> {
  const { user_id: userId, group_id: groupId } = rule;
  if (userId !== null) return (await gateway.finds.user(userId)).name;
  return groupId === null ? 'everyone' : `group ${(await gateway.finds.group(groupId)).name}`;
}
