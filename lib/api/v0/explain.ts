// `POST /v0/explain`: what becomes of a packet, and why. It is our own addition to the API. The
// gateway that is asked answers for itself, and nothing changes.

import type { ServerRoute } from '@hapi/hapi';
import type Joi from 'joi';
import { explain } from '../../explain/explain.ts';
import { gateNames } from '../../explain/gates.ts';
import { judgeQuestion, type QuestionValues, readQuestion } from '../../explain/question.ts';
import { ApiError } from '../../http/errors.ts';
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
  rule_id: recordId('The rule that decided; null: none did, or it is not known.').allow(null),
  text: answered(text('The same in words.')),
  gates: mark(
    joi
      .array()
      .items(
        resource({
          code: answered(choice('The gate.', ...gateNames)),
          outcome: answered(
            choice('What became of the packet there.', 'passed', 'refused', 'not_reached'),
          ),
          text: answered(text('What the gate asks, or why it refuses.')),
        }),
      )
      .description('All gates, in the order of a packet.'),
    { readOnly: true },
  ),
  shadowed: mark(
    joi
      .array()
      .items(joi.string().uuid())
      .description('Rules that match the packet too, and did not decide, because another one did.'),
    { readOnly: true },
  ),
  gateway_id: recordId('The gateway that answers.'),
});

/** The route. */
export function explainRoutes({ services, recall }: ApiContext): ServerRoute[] {
  const { config, database, explaining: gateway } = services;
  const body = takesBody({ wrapper: 'explain', judge: judgeQuestion, mode: 'create' });
  const options = { ...body, app: { onlyAsks: true } };
  return [
    route('POST', '/v0/explain', options, async (request) => {
      const { asked, faults } = await readQuestion(database, judgedBody<QuestionValues>(request));
      if (asked === null) throw refusalFor(faults);
      if (gateway === undefined) throw new ApiError('service_unavailable');
      await recall.refresh();
      const configuration = await recall.configuration();
      return { data: await explain({ config, configuration, database, gateway }, asked) };
    }),
  ];
}

function answered<Schema extends Joi.Schema>(schema: Schema): Schema {
  return mark(schema, { readOnly: true });
}
