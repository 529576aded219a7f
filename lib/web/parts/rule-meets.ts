// The rules that a typed rule meets, in words: those that it overlaps, that never let it decide, or
// that match some of its packets too. Pages and the answer while a person types share them.

import type { Database, RuleRow } from '../../../models/index.ts';
import type { Touching } from '../../domain/rules/rules.ts';
import { ownersOfRules } from './owners.ts';
import { ruleLink } from './rule-words.ts';

/** Rules of one kind, with what that means. */
export interface Meeting {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly isWarning: boolean;
  readonly rules: readonly ReturnType<typeof ruleLink>[];
}

/** All kinds that there are; none where the rule meets no other. */
export async function meetingsOf(
  database: Database,
  { rivals, others, shadow, shadowed }: Touching,
): Promise<Meeting[]> {
  const owners = await ownersOfRules(database, [...rivals, ...others]);
  const kinds: readonly (readonly [string, string, string, boolean, readonly RuleRow[]])[] = [
    [
      'shadow',
      'Never decides',
      'This rule is shadowed by the rule below, which is asked first and matches all of its packets. If this rule should decide, delete the other one or make it smaller.',
      true,
      shadow === null ? [] : [shadow],
    ],
    [
      'shadowed',
      'Shadows',
      'This rule is asked before these and matches all of their packets, so they never decide:',
      true,
      shadowed,
    ],
    [
      'rivals',
      'Overlaps with',
      'Rules of one user, action and protocol must not share packets. Change one of them first:',
      true,
      rivals,
    ],
    [
      'neighbours',
      'Other rules for the same packets',
      'These rules match some packets that this rule matches too. That is allowed.',
      false,
      others,
    ],
  ];
  return kinds
    .filter(([, , , , rules]) => rules.length > 0)
    .map(([id, title, text, isWarning, rules]) => ({
      id,
      title,
      text,
      isWarning,
      rules: rules.map((rule) => ruleLink(rule, owners)),
    }));
}
