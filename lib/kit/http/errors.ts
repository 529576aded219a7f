// Every error that the API answers, in one place: the table says which status and body a code has.
// The details of an error go to the log and nowhere else. docs/api.md#errors.

import type Boom from '@hapi/boom';
import type { Plugin, Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import {
  isDatabaseAway,
  isDatabaseDamaged,
  isDatabaseFull,
  SchemaNewerError,
} from '../../../models/index.ts';
import { fixOf } from '../database/say-error.ts';
import { isLocal } from './local-socket.ts';
import { describeError } from '../process/log.ts';
import type { Shared } from '../process/shared.ts';
import { SparseLines } from '../process/sparse-lines.ts';
import { type Errors, inSentences } from '../validation/validate.ts';
import { sentences } from '../validation/messages.ts';

/** How one kind of error is answered. */
interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Seconds after which a client may try again. */
const RETRY_AFTER = { 'retry-after': '5' };
const CHALLENGE = { 'www-authenticate': 'Bearer' };

const answers = {
  malformed_body: { status: 400, body: { errors: { body: [sentences.badJson] } } },
  missing_wrapper: { status: 400, body: {} },
  unauthenticated: {
    status: 401,
    body: { errors: { auth: 'unauthenticated' } },
    headers: CHALLENGE,
  },
  invalid_token: { status: 401, body: { errors: { auth: 'invalid_token' } }, headers: CHALLENGE },
  forbidden: { status: 403, body: { error: 'forbidden' } },
  // RFC 6750, section 3.1.
  insufficient_scope: {
    status: 403,
    body: { error: 'insufficient_scope' },
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
  },
  stale_form: { status: 403, body: { error: 'stale_form' } },
  not_found: { status: 404, body: { error: 'not_found' } },
  request_timeout: { status: 408, body: { error: 'request_timeout' } },
  payload_too_large: { status: 413, body: { error: 'payload_too_large' } },
  unsupported_media_type: { status: 415, body: { error: 'unsupported_media_type' } },
  unprocessable: { status: 422, body: {} },
  too_many_requests: {
    status: 429,
    body: { error: 'too_many_requests' },
    // Every bucket gets at least one more each second.
    headers: { 'retry-after': '1' },
  },
  too_many_captures: {
    status: 429,
    body: {
      error: 'two captures run at this gateway already; end one, or wait until one has ended',
    },
    headers: { 'retry-after': '10' },
  },
  internal_server_error: { status: 500, body: { error: 'internal_server_error' } },
  bad_gateway: { status: 502, body: { error: 'bad_gateway' } },
  service_unavailable: {
    status: 503,
    body: { error: 'service_unavailable' },
    headers: RETRY_AFTER,
  },
  // docs/state.md#a-later-schema
  schema_newer: { status: 503, body: { error: 'schema_newer' }, headers: RETRY_AFTER },
} as const satisfies Record<string, Answer>;

/** What no operation of the API answers. */
const OF_PAGES: ReadonlySet<string> = new Set(['stale_form', 'bad_gateway']);

/** A provider's error is logged where it is met, a later schema once; anybody can cause both. */
const LOGGED_ELSEWHERE: ReadonlySet<string> = new Set(['bad_gateway', 'schema_newer']);

/** The time between two lines about a full disk: a line for each refused write would fill it. */
const FULL_LINE_MS = 10_000;

/** Names an error; the table above says what clients get to see. */
export type ErrorCode = keyof typeof answers;

/** What may go with an error. */
export interface ErrorOptions {
  /** Public: the errors by field. */
  readonly errors?: Errors;
  /** Public: more than the code says, as a sentence; `detail` of the answer. */
  readonly sentence?: string;
  /**
   * The word under which the error is counted; left out: its code. The word is always ours, never
   * from a request.
   */
  readonly reason?: string;
  /** For the log alone. */
  readonly detail?: string;
  readonly cause?: unknown;
}

/** Every word that `error` of an answer may be; pages alone answer some errors. */
export function errorWords(): string[] {
  const bodies: (readonly [string, Answer['body']])[] = Object.entries(answers).map(
    ([code, { body }]) => [code, body] as const,
  );
  return bodies.flatMap(([code, body]) =>
    'error' in body && !OF_PAGES.has(code) ? [String(body.error)] : [],
  );
}

/** Whether a text names an error. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(answers, text);
}

/** An error that is answered as the table says; thrown where the error is known. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: ErrorCode;
  readonly errors: Errors | null;
  readonly sentence: string | null;
  readonly reason: string;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    super(options.detail ?? code, { cause: options.cause });
    this.code = code;
    this.errors = options.errors ?? null;
    this.sentence = options.sentence ?? null;
    this.reason = options.reason ?? code;
  }
}

/** What `errorAnswers` needs. */
export interface ErrorAnswers extends Pick<Shared, 'config' | 'log' | 'counters'> {
  /** Answers a browser with a page; null where the asker is a program. */
  readonly answerPerson: (
    request: Request,
    h: ResponseToolkit,
    error: ApiError,
  ) => Promise<ResponseObject | null>;
}

/** Turns every error into the answer of its code, and logs those that are ours. */
export const errorAnswers: Plugin<ErrorAnswers> = {
  name: 'error-answers',
  register(server, { config, log, counters, answerPerson }) {
    const full = new SparseLines(FULL_LINE_MS);
    server.ext('onPreResponse', async (request, h) => {
      const { response } = request;
      if (!(response instanceof Error)) return h.continue;
      const error = toApiError(request, response);
      counters.add('requests_refused', error.reason);
      const isOurs = answers[error.code].status >= 500 && !LOGGED_ELSEWHERE.has(error.code);
      const more = isOurs ? linesFor(full, error) : null;
      if (more !== null) logError({ config, log }, request, error, more);
      const page = await answerPerson(request, h, error).catch((failure: unknown) => {
        // For example too many open files: no page can be made.
        const fields = { request_id: request.app.id, err: describeError(failure) };
        log.error(fields, 'an error has no page');
        return null;
      });
      return withHeaders(page ?? answerTo(request, h, error), error);
    });
  },
};

/** Null: no line. A log on the disk that is full must not grow with each write that is refused. */
function linesFor(full: SparseLines, { cause }: ApiError): { left_out?: number } | null {
  if (!isDatabaseFull(cause)) return {};
  const left = full.next();
  if (left === null) return null;
  return left === 0 ? {} : { left_out: left };
}

/** The status with which an error is answered. */
export function statusOf({ code }: ApiError): number {
  return answers[code].status;
}

function answerTo(request: Request, h: ResponseToolkit, error: ApiError): ResponseObject {
  const { status, body }: Answer = answers[error.code];
  const errors = error.errors === null ? {} : { errors: inSentences(error.errors) };
  const codes = isLocal(request.raw.req) ? codesOf(error) : {};
  const sentence = error.sentence === null ? {} : { detail: error.sentence };
  const id = status === 500 ? { request_id: request.app.id } : {};
  return h.response({ ...body, ...errors, ...codes, ...sentence, ...id }).code(status);
}

/** A command of this host makes its own sentences. */
function codesOf({ code, errors }: ApiError): object {
  return { code, ...(errors === null ? {} : { error_codes: errors }) };
}

function withHeaders(response: ResponseObject, { code }: ApiError): ResponseObject {
  const { headers = {} }: Answer = answers[code];
  for (const [name, value] of Object.entries(headers)) response.header(name, value);
  return response;
}

/** Finds the code of an error that the framework, the database or a mistake of ours threw. */
function toApiError(request: Request, error: Error & Partial<Boom.Boom>): ApiError {
  if (error instanceof ApiError) return error;
  const status = error.output?.statusCode ?? 500;
  // Paths without a route, also those that are no path at all, are answered alike. What fails
  // before a route is looked for is an error of ours.
  if ((request.route.method as string) === '_special' && status < 500)
    return new ApiError('not_found', { cause: error });
  if (error instanceof SchemaNewerError) return new ApiError('schema_newer', { cause: error });
  if (isDatabaseAway(error)) return new ApiError('service_unavailable', { cause: error });
  const found = (Object.keys(answers) as ErrorCode[]).find(
    (code) => answers[code].status === status,
  );
  return new ApiError(found ?? 'internal_server_error', { cause: error });
}

function logError(
  { config, log }: Pick<Shared, 'config' | 'log'>,
  request: Request,
  error: ApiError,
  more: object,
): void {
  const cause = error.cause ?? error;
  const fix = fixOf(cause, config);
  const fields = {
    request_id: request.app.id,
    method: request.method,
    // The route, not the path: a path may hold an e-mail.
    route: request.route.path,
    ...(fix === null ? {} : { fix: fix.advice }),
    ...more,
    err: describeError(cause),
  };
  if (isDatabaseDamaged(cause)) log.error(fields, 'the database is damaged');
  else if (isDatabaseAway(cause))
    log.warn(fields, 'the database was out of reach, full or too busy');
  else if (error.code === 'service_unavailable')
    log.warn(fields, 'a part of the gateway did not answer, or is missing');
  else log.error(fields, 'a request failed');
}
