// What can be asked about writes: what one would come to, and what it would do. It is an operation
// of its own, because an older gateway would ignore a parameter and really write.
// docs/api.md#what-a-write-would-do.

import type Joi from 'joi';
import { joi, mark, recordId, resource, text } from '../judge/fields.ts';
import { schemaOfAnswer } from '../judge/answers.ts';
import { flowFields, refusalFields } from '../live/fields.ts';
import { type Operation, read } from '../operations/operation.ts';
import { insistence } from '../policy/guard.ts';
import { ruleSchema } from '../rules/rules.ts';
import { askedFields, type AskedValues, judgeAsked } from './asked.ts';
import { LISTED_MAX } from './dry-run.ts';
import type { TriesOperations } from './dry-runs.ts';

interface HasDryRuns {
  readonly dryRuns: TriesOperations;
}

/** What is answered. */
const dryRunFields = resource({
  record: mark(
    joi
      .object()
      .unknown()
      .allow(null)
      .description(
        'The record as it would be; null: it would be deleted. What the gateway chooses (an id, a free address, a preshared key) is chosen anew when it is really made.',
      ),
    { readOnly: true },
  ),
  ended_flow_count: count('How many flows would end.'),
  ended_flow_user_count: count('How many people they belong to.'),
  ended_flows: list('Those flows.', schemaOfAnswer(flowFields)),
  passed_refusal_count: count(
    'How many kinds of packets, that rules refused lately, would pass as packets that open a flow.',
  ),
  passed_refusals: list('Those packets, the latest ones first.', schemaOfAnswer(refusalFields)),
  shadowed_rule_count: count(
    'How many rules would never decide any more, because a rule that is written decides first.',
  ),
  shadowed_rules: list('Those rules.', ruleSchema),
  failing_policy_test_count: count(
    'How many policy tests that pass now would fail; a removal or `force` is not refused for it.',
  ),
  failing_policy_tests: list(
    'Those policy tests.',
    resource({
      id: recordId('The policy test.'),
      name: mark(text('Its name.'), { readOnly: true }),
    }),
  ),
  other_gateways: mark(
    joi
      .array()
      .items(
        resource({
          id: recordId('The gateway.'),
          name: mark(text('Its name.'), { readOnly: true }),
          cut_off_device_count: count(
            'How many devices are connected to it that would not be served any more.',
          ),
        }),
      )
      .description('The other gateways that run; flows that would end there are not counted.'),
    { readOnly: true },
  ),
  gateway_id: recordId('The gateway that answers.'),
});

/** The operation that tries others. */
export const dryRunOperation: Operation<HasDryRuns> = read<
  HasDryRuns,
  AskedValues,
  URLSearchParams
>({
  id: 'dryRun',
  method: 'POST',
  path: '/v0/dry_run',
  tag: 'rules',
  scopes: ['read'],
  summary: 'Say what a write would do',
  description:
    'The write is judged as it would be, and nothing is written. The gateway that is asked answers for its own flows.',
  query: { schemas: insistence.schemas, read: (sent) => sent },
  body: {
    wrapper: 'dry_run',
    title: 'Operation',
    fields: askedFields,
    judge: judgeAsked,
    mode: 'create',
  },
  answer: { title: 'DryRun', fields: dryRunFields, description: 'What it would do.' },
  errors: [404],
  run: async ({ dryRuns }, caller, { body, query }) => ({
    ...(await dryRuns.try(caller, body, query)),
  }),
});

function count(description: string): Joi.Schema {
  return mark(joi.number().integer().min(0).description(description), { readOnly: true });
}

/** A list, of which the first entries are answered. */
function list(description: string, entry: Joi.ObjectSchema): Joi.Schema {
  const words = `${description} At most ${LISTED_MAX}.`;
  return mark(joi.array().items(entry).description(words), { readOnly: true });
}
