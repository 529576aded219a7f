// The operation of a list that is always answered in pages. docs/api.md#lists.

import type Joi from 'joi';
import { answer, answersOf, type Described, operation, parametersOf, READ } from './operations.ts';
import { schemaRef } from './answers.ts';
import type { Json } from './schemas.ts';

/** A list that is always answered in pages. `refusals`: statuses beside those of every list. */
export function list(
  described: Described,
  [title, plural]: readonly [title: string, plural: string],
  parameters: Joi.ObjectSchema,
  words: Json,
  refusals: number[] = [],
): Json {
  return operation(described, `list${plural}`, {
    ...words,
    parameters: parametersOf(parameters),
    responses: answersOf(
      {
        200: answer(
          'A page.',
          { data: { type: 'array', items: schemaRef(title) } },
          { Link: 'Link' },
        ),
      },
      [...refusals, 422, ...READ],
    ),
  });
}
