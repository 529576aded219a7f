// The answer about a write that was tried. docs/api.md#what-a-write-would-do.

import { holds } from '../../../models/index.ts';
import { type AnswerOf, answerTable } from '../../kit/validation/answers.ts';
import { flowFields, refusalFields } from '../live/fields.ts';
import type { Shown } from '../../kit/records/shown.ts';
import { ruleSchema } from '../../domain/rules/rules.ts';

/** How many of each list are answered; all are counted. */
export const LISTED_MAX = 100;

const atMost = `At most ${LISTED_MAX}.` as const;

const otherGatewayFields = answerTable({
  id: { kind: 'id', description: 'The gateway.' },
  name: { kind: 'text', description: 'Its name.' },
  cut_off_device_count: {
    kind: 'count',
    description: 'How many devices are connected to it that would not be served any more.',
  },
});

const effectFields = answerTable({
  ended_flow_count: { kind: 'count', description: 'How many flows would end.' },
  ended_flow_user_count: { kind: 'count', description: 'How many people they belong to.' },
  ended_flows: { kind: 'list', description: `Those flows. ${atMost}`, of: flowFields },
  passed_refusal_count: {
    kind: 'count',
    description:
      'How many kinds of packets that rules refused lately would pass, where they open a flow.',
  },
  passed_refusals: {
    kind: 'list',
    description: `Those packets, the latest ones first. ${atMost}`,
    of: refusalFields,
  },
  shadowed_rule_count: {
    kind: 'count',
    description:
      'How many rules would never decide any more, because a rule that is written decides first.',
  },
  shadowed_rules: {
    kind: 'list',
    description: `Those rules. ${atMost}`,
    schema: ruleSchema,
    holds: holds<Shown>(),
  },
  failing_policy_test_count: {
    kind: 'count',
    description:
      'How many policy tests that pass now would fail; a removal or `force` is not refused for it.',
  },
  failing_policy_tests: {
    kind: 'list',
    description: `Those policy tests. ${atMost}`,
    of: {
      id: { kind: 'id', description: 'The policy test.' },
      name: { kind: 'text', description: 'Its name.' },
    },
  },
  other_gateways: {
    kind: 'list',
    description: 'The other gateways that run; flows that would end there are not counted.',
    of: otherGatewayFields,
  },
  gateway_id: { kind: 'id', description: 'The gateway that answers.' },
});

/** A write that was tried. */
export const dryRunFields = answerTable({
  record: {
    kind: 'object',
    description:
      'The record as it would be; null: it would be deleted. What the gateway chooses (an id, a free address, a preshared key) is chosen anew when it is really made.',
    nullable: true,
  },
  ...effectFields,
});

/** What a write would do. For each list: its length, and its first LISTED_MAX entries. */
export type Effect = AnswerOf<typeof effectFields>;

/** What the API answers. */
export type DryRunAnswer = AnswerOf<typeof dryRunFields>;

/** Another gateway that runs. */
export type OtherGateway = AnswerOf<typeof otherGatewayFields>;
