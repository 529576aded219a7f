// Performs an operation for any caller and any door: validates what was sent, runs the operation,
// and hides secrets from callers who may not see them.

import { ApiError } from '../http/errors.ts';
import { type Errors, isObject, type Validated } from '../validation/validate.ts';
import { messages } from '../validation/messages.ts';
import type { Caller } from '../process/caller.ts';
import { withoutSecrets } from '../records/secrets.ts';
import type { Shown } from '../records/shown.ts';
import type { Body, Performed } from './operation.ts';

/** What was sent, as it came. */
export interface Sent {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** With its wrapper; ignored by an operation without a body. */
  readonly body: unknown;
  /** Errors that the door found itself; each counts where the body has none of that field. */
  readonly errors?: Errors;
}

/** Performs an operation; answers null where nothing is left to show. */
export async function perform<Rooms>(
  operation: Performed<Rooms>,
  rooms: Rooms,
  caller: Caller,
  { params, query, body, errors = {} }: Sent,
): Promise<Shown | readonly Shown[] | null> {
  const answer = await operation.run(rooms, caller, {
    params,
    body: withErrors(
      operation.body === undefined ? NOTHING : validatedBody(operation.body, body),
      errors,
    ),
    query: operation.query?.read(query) ?? {},
  });
  return caller.seesSecrets ? answer : (withoutSecrets(answer) as typeof answer);
}

const NOTHING: Validated<object> = { values: {}, errors: {} };

function withErrors<Values>(
  { values, errors }: Validated<Values>,
  found: Errors,
): Validated<Values> {
  return { values, errors: { ...found, ...errors } };
}

/** What a body holds; throws where the wrapper is missing. */
export function validatedBody<Values>(
  { wrapper, validate, mode, expected = messages.blank }: Body<Values>,
  body: unknown,
): Validated<Values> {
  const record: unknown =
    isObject(body) && Object.hasOwn(body, wrapper)
      ? (body as Record<string, unknown>)[wrapper]
      : undefined;
  if (isObject(record)) return validate(record, mode);
  const isEmpty = isObject(body) && Object.keys(body).length === 0;
  const error = isEmpty ? messages.blank : expected;
  throw new ApiError('missing_wrapper', { errors: { [wrapper]: [error] } });
}
