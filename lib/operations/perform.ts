// Performs an operation, whoever asks for it and by which door: validates what was sent, runs it,
// and hides secrets from who may not see them.

import { ApiError } from '../http/errors.ts';
import { isObject, type Judged } from '../judge/judge.ts';
import { messages } from '../judge/messages.ts';
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
}

/** Performs an operation; answers null where nothing is left to show. */
export async function perform<Rooms>(
  operation: Performed<Rooms>,
  rooms: Rooms,
  caller: Caller,
  { params, query, body }: Sent,
): Promise<Shown | readonly Shown[] | null> {
  const answer = await operation.run(rooms, caller, {
    params,
    body: operation.body === undefined ? NOTHING : judgedBody(operation.body, body),
    query: operation.query?.read(query) ?? {},
  });
  return caller.seesSecrets ? answer : (withoutSecrets(answer) as typeof answer);
}

const NOTHING: Judged<object> = { values: {}, faults: {} };

function judgedBody<Values>({ wrapper, judge, mode }: Body<Values>, body: unknown): Judged<Values> {
  const record: unknown =
    isObject(body) && Object.hasOwn(body, wrapper)
      ? (body as Record<string, unknown>)[wrapper]
      : undefined;
  if (isObject(record)) return judge(record, mode);
  throw new ApiError('missing_wrapper', { faults: { [wrapper]: [messages.blank] } });
}
