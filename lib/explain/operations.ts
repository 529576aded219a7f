// What can be asked about packets: what becomes of one, and why. It is our own addition to the API.
// The gateway that is asked answers for itself, and nothing changes.

import type Joi from 'joi';
import { type Operation, read } from '../operations/operation.ts';
import type { Recall } from '../records/recall.ts';
import { askExplanation, type Asked } from './ask.ts';
import { gateNames } from './gates.ts';
import { judgeQuestion, questionFields, type QuestionValues, readQuestion } from './question.ts';
import { choice, joi, mark, recordId, resource, text } from '../judge/fields.ts';
import { refusalFor } from '../records/writes.ts';

/** What is answered. */
const explanationFields = resource({
  verdict: answered(choice('What becomes of the packet.', 'accept', 'drop')),
  reason: answered(
    text('Why it is dropped; null: it is not. The names are those of metrics.'),
  ).allow(null),
  waits_for: mark(
    joi
      .array()
      .items(joi.string().valid('sender', 'receiver'))
      .description(
        'The devices without a session with this gateway, for which the packet has to wait. Empty where it is dropped.',
      ),
    { readOnly: true },
  ),
  rule_id: recordId('The rule that decided; null: none did, or it is not known.').allow(null),
  text: answered(text('The same in words.')),
  advice: answered(text('What to look at first where it is dropped or has to wait.')).allow(null),
  flow: answered(
    choice(
      'What the packet does to a flow; null: it is dropped before.',
      'none',
      'opens',
      'continues',
    ),
  ).allow(null),
  opener_id: recordId(
    'The device that opened the flow, or opens it; null: a host behind the gateway, or nobody.',
  ).allow(null),
  latest_handshake: mark(
    joi
      .string()
      .isoDate()
      .allow(null)
      .description('When the device of the question made its latest handshake; null: never.'),
    { readOnly: true },
  ),
  gates: mark(
    joi
      .array()
      .items(
        resource({
          code: answered(choice('The gate.', ...gateNames)),
          outcome: answered(
            choice(
              'What becomes of the packet there; `waits`: a device at its end has no session.',
              'passed',
              'waits',
              'refused',
              'not_reached',
            ),
          ),
          text: answered(text('What the gate asks, or why it refuses.')),
        }),
      )
      .description('All gates, in the order of a packet.'),
    { readOnly: true },
  ),
  staged_rule_id: recordId(
    'The staged rule that would decide if all were enforced; null: none would.',
  ).allow(null),
  staged_verdict: answered(choice('What that rule would do.', 'accept', 'drop')).allow(null),
  shadowed: mark(
    joi
      .array()
      .items(joi.string().uuid())
      .description('Rules that match the packet too, and did not decide, because another one did.'),
    { readOnly: true },
  ),
  host: mark(
    joi
      .array()
      .items(
        resource({
          check: answered(text('What was looked at.')),
          level: answered(choice('How bad it is.', 'warning', 'failed')),
          message: answered(text('What is wrong.')),
          fix: answered(text('How to fix it.')).allow(null),
        }),
      )
      .description(
        'What is wrong with the host that carries the packet on, as it was seen last. It is no part of the verdict.',
      ),
    { readOnly: true },
  ),
  connected_gateway_id: recordId(
    'The other gateway to which a device of the question is connected, where it is dropped for that; null: none, or it is not known.',
  ).allow(null),
  gateway_id: recordId('The gateway that answers.'),
});

/** What explaining needs of the server. */
export interface ExplainContext {
  readonly services: Asked;
  readonly recall: Recall;
}

interface HasExplain {
  readonly explain: ExplainContext;
}

/** The operation that explains what becomes of a packet. */
export const explainOperation: Operation<HasExplain> = read<HasExplain, QuestionValues>({
  id: 'explain',
  method: 'POST',
  path: '/v0/explain',
  tag: 'rules',
  scopes: ['read'],
  summary: 'Explain what becomes of a packet',
  description:
    'The packet path of the gateway that is asked judges the packet. Nothing is sent, and nothing changes.',
  body: {
    wrapper: 'explain',
    title: 'Question',
    fields: questionFields,
    judge: judgeQuestion,
    mode: 'create',
  },
  answer: { title: 'Explanation', fields: explanationFields, description: 'What becomes of it.' },
  async run({ explain: { services, recall } }, _caller, { body }) {
    const { asked, faults } = await readQuestion(services.database, body);
    if (asked === null) throw refusalFor(faults);
    return { ...(await askExplanation(services, recall, asked)) };
  },
});

function answered<Schema extends Joi.Schema>(schema: Schema): Schema {
  return mark(schema, { readOnly: true });
}
