// `POST /v0/dry_run`: what a write of rules, devices, users or groups would come to, and what it
// would do. It is our own addition to the API, and an operation of its own, because an older
// gateway would ignore a parameter and really write. docs/api.md#what-a-write-would-do.

import type { ServerRoute } from '@hapi/hapi';
import type Joi from 'joi';
import { type DryRunAnswer, LISTED_MAX, tryWrite } from '../../dry-run/dry-run.ts';
import {
  judgeOperation,
  operate,
  type OperationValues,
  readOperation,
} from '../../dry-run/operation.ts';
import { PASSWORD_COST_MIN } from '../../auth/passwords.ts';
import { callerOf } from '../../http/request-caller.ts';
import { joi, mark, recordId, resource, text } from '../../judge/fields.ts';
import { ruleSchema } from '../../rules/rules.ts';
import { judgedBody, takesBody } from '../body.ts';
import { type ApiContext, isForced, route } from '../routes.ts';
import { flowFields, refusalFields } from './live.ts';

/** What is answered. */
export const dryRunFields = resource({
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
  ended_flows: list('Those flows.', flowFields),
  passed_refusal_count: count(
    'How many kinds of packets, that rules refused lately, would pass as packets that open a flow.',
  ),
  passed_refusals: list('Those packets, the latest ones first.', refusalFields),
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

/** The route. */
export function dryRunRoutes(context: ApiContext): ServerRoute[] {
  const options = takesBody({ wrapper: 'dry_run', judge: judgeOperation, mode: 'create' });
  // A password that is not kept is hashed as fast as it can be.
  const services = { ...context.services, passwordCost: PASSWORD_COST_MIN };
  return [
    route('POST', '/v0/dry_run', options, async (request) => {
      const operation = readOperation(judgedBody<OperationValues>(request));
      const asked = { caller: callerOf(request), force: isForced(request) };
      const { result, effect } = await tryWrite(context, (tried) =>
        operate({ ...tried, services }, asked, operation),
      );
      return { data: { record: result, ...effect } satisfies DryRunAnswer };
    }),
  ];
}

function count(description: string): Joi.Schema {
  return mark(joi.number().integer().min(0).description(description), { readOnly: true });
}

/** A list, of which the first entries are answered. */
function list(description: string, entry: Joi.ObjectSchema): Joi.Schema {
  const words = `${description} At most ${LISTED_MAX}.`;
  return mark(joi.array().items(entry).description(words), { readOnly: true });
}
