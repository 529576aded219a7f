// Errors for people: a page with clear words and the id of the request, so that the log can be
// searched for it. Programs, and everything under /v0, get JSON. `Accept` says who asks.

import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { type ApiError, type ErrorCode, statusOf } from '../../kit/http/errors.ts';
import type { Readiness } from '../../observe/gateway-state.ts';
import { isWeb } from './headers.ts';
import { PageError, type Said } from '../../kit/http/page-error.ts';
import type { Pages } from './answers.ts';
import { say, type TextKey } from './texts.ts';

/** The title and the text of a page, by their keys. */
type Words = readonly [title: TextKey, text: TextKey];

const UNREADABLE: Words = ['error.unreadable', 'error.unreadable_more'];
const SIGN_IN: Words = ['error.sign_in', 'error.sign_in_more'];

const words: Readonly<Record<ErrorCode, Words>> = {
  malformed_body: UNREADABLE,
  missing_wrapper: UNREADABLE,
  unsupported_media_type: UNREADABLE,
  unprocessable: UNREADABLE,
  unauthenticated: SIGN_IN,
  // No page asks for a token, but every code has words.
  invalid_token: SIGN_IN,
  insufficient_scope: ['error.scope', 'error.scope_more'],
  forbidden: ['error.forbidden', 'error.forbidden_more'],
  stale_form: ['error.stale', 'error.stale_more'],
  not_found: ['error.not_found', 'error.not_found_more'],
  request_timeout: ['error.slow', 'error.slow_more'],
  payload_too_large: ['error.large', 'error.large_more'],
  too_many_requests: ['error.many', 'error.many_more'],
  too_many_captures: ['error.captures', 'error.captures_more'],
  internal_server_error: ['error.internal', 'error.internal_more'],
  bad_gateway: ['error.bad_gateway', 'error.bad_gateway_more'],
  service_unavailable: ['error.unavailable', 'error.unavailable_more'],
  schema_newer: ['error.upgrade', 'error.upgrade_more'],
};

/** What is said once DATABASE_AWAY_LIMIT has passed. */
const AWAY_FOR_LONG: Words = ['error.away', 'error.away_more'];

/** Answers a failed request of a person; null if a program sent it. */
type PersonAnswers = (
  request: Request,
  h: ResponseToolkit,
  error: ApiError,
) => Promise<ResponseObject | null>;

/** Makes the function that answers people; `readiness` says whether devices are served. */
export function personAnswers(pages: Pages, readiness: () => Readiness): PersonAnswers {
  return async (request, h, error) => {
    if (!isWeb(request) || !wantsPage(request)) return null;
    const isAwayForLong =
      error.code === 'service_unavailable' && readiness().status === 'database_away';
    return answerPage(
      pages,
      request,
      h,
      error,
      isAwayForLong ? sayBoth(AWAY_FOR_LONG) : saidOf(error),
    );
  };
}

function saidOf(error: ApiError): Said {
  return error instanceof PageError ? error.said : sayBoth(words[error.code]);
}

function sayBoth([title, text]: Words): Said {
  return { title: say(title), text: say(text) };
}

async function answerPage(
  pages: Pages,
  request: Request,
  h: ResponseToolkit,
  error: ApiError,
  said: Said,
): Promise<ResponseObject> {
  const status = statusOf(error);
  // If a form has an old token, the browser keeps what was typed (static/typed-again.js).
  const isStale = error.code === 'stale_form' && !(error instanceof PageError);
  const values = { ...said, status, isStale };
  const response = await pages.show(request, h, 'error', values).catch(() =>
    // Where the database made the request fail, the frame of the page needs it too.
    pages.showBare(request, h, 'error', values),
  );
  return response.code(status);
}

/** Whether a request asks for a page: only browsers name HTML in `Accept`. */
export function wantsPage({ headers }: Pick<Request, 'headers'>): boolean {
  const accept: unknown = headers['accept'];
  return typeof accept === 'string' && /\btext\/html\b/i.test(accept);
}
