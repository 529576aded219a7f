// The parts of answers that all operations share: the bodies of errors and the headers, as
// components of the document. docs/api.md#errors.

import { errorWords } from '../../kit/http/errors.ts';
import type { Json } from './schemas.ts';

const messages: Json = { type: 'array', minItems: 1, items: { type: 'string' } };

/** Every body of an error. */
export const errorSchemas: Json = {
  Error: {
    description: 'What is wrong: `errors` on 400, 401 and 422, `error` on every other status.',
    type: 'object',
    minProperties: 1,
    additionalProperties: false,
    properties: {
      errors: {
        description:
          'Messages by field; `base` holds those that are about no single field. For a list of ' +
          'providers: the messages of each entry, aligned with what was sent. On 401 `auth` is ' +
          '`unauthenticated` or `invalid_token`. On 403 with `insufficient_scope`, `scopes` says ' +
          'which would do.',
        type: 'object',
        minProperties: 1,
        additionalProperties: {
          anyOf: [
            messages,
            { type: 'array', items: { type: 'object', additionalProperties: messages } },
            { type: 'string', enum: ['unauthenticated', 'invalid_token'] },
          ],
        },
      },
      error: { description: 'What kind of error it is.', type: 'string', enum: errorWords() },
      detail: {
        type: 'string',
        description: 'Only for a token that expired: a sentence that says when.',
      },
      request_id: { type: 'string', description: 'On 500: as in `x-request-id`.' },
    },
  },
};

/** Headers of answers. */
export const headers: Json = {
  RequestId: header('Names the request in the log of the gateway.', { type: 'string' }, true),
  Revision: header(
    'The revision of the database that holds the write.',
    { type: 'string', pattern: '^[0-9]+$' },
    true,
  ),
  Applied: header(
    'Whether this gateway obeys the write already; waited for up to two seconds.',
    { type: 'string', enum: ['true', 'false'] },
    true,
  ),
  Location: header('The path of the record.', { type: 'string' }, true),
  Link: header('The next page: `<path>; rel="next"`. Missing on the last one.', { type: 'string' }),
  RetryAfter: header(
    'Seconds after which it is worth trying again.',
    { type: 'string', pattern: '^[0-9]+$' },
    true,
  ),
  Challenge: header('How to authenticate.', { type: 'string' }, true),
};

/** Answers to requests that fail, by status. */
export const errorAnswers: Json = {
  400: answer('The body is no JSON, or its wrapper is missing.', 'Error'),
  401: answer('No token, or one that is unknown, revoked or expired.', 'Error', {
    'WWW-Authenticate': 'Challenge',
  }),
  403: answer('The token is that of a user who is no administrator, or lacks the scope.', 'Error'),
  404: answer('There is no such record.', 'Error'),
  408: answer('The body did not come in time.', 'Error'),
  413: answer('The body is too large.', 'Error'),
  415: answer('The body is declared as something else than JSON.', 'Error'),
  422: answer(
    'What was sent is not acceptable; the answer names every error of every field.',
    'Error',
  ),
  429: answer('Too many requests.', 'Error', { 'Retry-After': 'RetryAfter' }),
  500: answer('A fault of the gateway; its log has more under the request id.', 'Error'),
  503: answer('The database is out of reach, or a later version migrated it.', 'Error', {
    'Retry-After': 'RetryAfter',
  }),
};

/** References to headers, by their names on the wire; every answer has its request id. */
export function headerRefs(names: Readonly<Record<string, string>> = {}): Json {
  const all = { 'x-request-id': 'RequestId', ...names };
  return Object.fromEntries(
    Object.entries(all).map(([name, component]) => [
      name,
      { $ref: `#/components/headers/${component}` },
    ]),
  );
}

/** A body of JSON. */
export function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } };
}

/** A reference to a schema among the components. */
export function schemaRef(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function header(description: string, schema: Json, required = false): Json {
  return { description, ...(required ? { required } : {}), schema };
}

function answer(description: string, schema: string, names: Record<string, string> = {}): Json {
  return { description, headers: headerRefs(names), content: jsonContent(schemaRef(schema)) };
}
