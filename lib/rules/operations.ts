// What can be done with rules. docs/api.md#rules.

import { type Operation, UUID_PARAM } from '../operations/operation.ts';
import { recordOperations } from '../operations/records.ts';
import { insistence } from '../policy/guard.ts';
import { judgeRule, ruleFilters, type Rules, ruleSchema } from './rules.ts';

/** The operations on rules. */
export const ruleOperations: readonly Operation<{ readonly rules: Rules }>[] = recordOperations(
  {
    name: 'rules',
    wrapper: 'rule',
    title: 'Rule',
    fields: ruleSchema,
    judge: judgeRule,
    filters: ruleFilters,
    params: UUID_PARAM,
    insistence,
    isTriable: true,
  },
  ({ rules }) => rules,
);
