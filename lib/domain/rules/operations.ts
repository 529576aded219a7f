// The operations on rules. docs/api.md#rules.

import { type Operation, read, UUID_PARAM } from '../../kit/operations/operation.ts';
import { recordOperations } from '../../kit/operations/records.ts';
import { insistence } from '../policy/guard.ts';
import { ruleCounterFields, type RuleCounters } from './counters.ts';
import { ruleFilters, type Rules, ruleSchema, validateRule } from './rules.ts';

/** The operations on rules. */
export const ruleOperations: readonly Operation<{ readonly rules: Rules }>[] = recordOperations(
  {
    name: 'rules',
    wrapper: 'rule',
    title: 'Rule',
    fields: ruleSchema,
    validate: validateRule,
    filters: ruleFilters,
    params: UUID_PARAM,
    insistence,
    isTriable: true,
  },
  ({ rules }) => rules,
);

interface HasCounters {
  readonly ruleCounters: RuleCounters;
}

/** The operation that shows how often a rule decided. */
export const ruleCountersOperation: Operation<HasCounters> = read<HasCounters>({
  id: 'showRuleCounters',
  method: 'GET',
  path: '/v0/rules/{id}/counters',
  tag: 'rules',
  params: UUID_PARAM,
  scopes: ['read'],
  summary: 'Show how often a rule decided',
  description: 'Hits at the gateway that answers, since it was started.',
  answer: { title: 'RuleCounters', fields: ruleCounterFields, description: 'The counters.' },
  run: ({ ruleCounters }, _caller, { params }) => ruleCounters.show(params['id'] ?? ''),
});
