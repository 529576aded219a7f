// The operation that explains what becomes of a packet, and why. It is our own addition to the API.
// The gateway that is asked answers for itself, and nothing changes.

import { schemaOfAnswer } from '../../kit/validation/answers.ts';
import { type Operation, read } from '../../kit/operations/operation.ts';
import type { Recall } from '../../kit/records/recall.ts';
import { type Asked, explain } from './explain.ts';
import { explanationFields } from './fields.ts';
import { questionFields, type QuestionValues, readQuestion, validateQuestion } from './question.ts';
import { refusalFor } from '../../kit/records/writes.ts';

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
    validate: validateQuestion,
    mode: 'create',
  },
  answer: {
    title: 'Explanation',
    fields: schemaOfAnswer(explanationFields),
    description: 'What becomes of it.',
  },
  async run({ explain: { services, recall } }, _caller, { body }) {
    const { asked, errors } = await readQuestion(services.database, body);
    if (asked === null) throw refusalFor(errors);
    return explain(services, recall, asked);
  },
});
