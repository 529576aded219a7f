// `POST /v0/explain`: what becomes of a packet, and why. It is our own addition to the API. The
// gateway that is asked answers for itself, and nothing changes.

import type { ServerRoute } from '@hapi/hapi';
import type Joi from 'joi';
import { askExplanation } from '../../explain/ask.ts';
import { gateNames } from '../../explain/gates.ts';
import { judgeQuestion, type QuestionValues, readQuestion } from '../../explain/question.ts';
import { choice, joi, mark, recordId, resource, text } from '../../judge/fields.ts';
import { refusalFor } from '../../records/writes.ts';
import { judgedBody, takesBody } from '../body.ts';
import { type ApiContext, route } from '../routes.ts';

/** What is answered. */
export const explanationFields = resource({
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

/** The route. */
export function explainRoutes({ services, recall }: ApiContext): ServerRoute[] {
  const options = takesBody({ wrapper: 'explain', judge: judgeQuestion, mode: 'create' });
  return [
    route('POST', '/v0/explain', options, async (request) => {
      const { asked, faults } = await readQuestion(
        services.database,
        judgedBody<QuestionValues>(request),
      );
      if (asked === null) throw refusalFor(faults);
      return { data: await askExplanation(services, recall, asked) };
    }),
  ];
}

function answered<Schema extends Joi.Schema>(schema: Schema): Schema {
  return mark(schema, { readOnly: true });
}
