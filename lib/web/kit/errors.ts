// Errors for people: a page with clear words and the id of the request, so that the log can be
// searched for it. Programs, and everything under /v0, get JSON. `Accept` says who asks.

import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { type ApiError, type ErrorCode, statusOf } from '../../kit/http/errors.ts';
import type { Readiness } from '../../observe/gateway-state.ts';
import { isWeb } from './headers.ts';
import { PageError, type Said } from '../../kit/http/page-error.ts';
import type { Pages } from './answers.ts';

const UNREADABLE: Said = {
  title: 'This could not be read',
  text: 'What was sent could not be read. Go back, reload the page and try again.',
};

const words: Readonly<Record<ErrorCode, Said>> = {
  malformed_body: UNREADABLE,
  missing_wrapper: UNREADABLE,
  unsupported_media_type: UNREADABLE,
  unprocessable: UNREADABLE,
  unauthenticated: { title: 'Please sign in', text: 'This page is for people who are signed in.' },
  // No page asks for a token, but every code has words.
  invalid_token: { title: 'Please sign in', text: 'This page is for people who are signed in.' },
  forbidden: {
    title: 'Not for you',
    text: 'This page is for administrators. If you should see it, ask one of them.',
  },
  // No page asks for a token.
  insufficient_scope: {
    title: 'Not for this token',
    text: 'The API token was made for something else. Use one with the scope that is needed.',
  },
  stale_form: {
    title: 'This form is out of date',
    text: 'Somebody signed in or out since it was opened, or it came from another site. Go back, reload the page and try again.',
  },
  not_found: {
    title: 'Nothing here',
    text: 'There is no such page, or what it showed was removed.',
  },
  request_timeout: { title: 'Too slow', text: 'The request took too long to arrive. Try again.' },
  payload_too_large: {
    title: 'Too large',
    text: 'What was sent is larger than this page takes, and nothing of it was saved. Go back and send less at once: half of the list and then the rest, or a smaller file.',
  },
  too_many_requests: {
    title: 'Too many requests',
    text: 'Too many requests came from your address. Wait a moment and try again.',
  },
  too_many_captures: {
    title: 'Two captures run already',
    text: 'This gateway captures packets for two people at most. Wait until one capture has ended, or end one.',
  },
  internal_server_error: {
    title: 'Something went wrong',
    text: 'This is an error of the gateway. Its log says more, under the id below.',
  },
  bad_gateway: {
    title: 'The other side did not answer well',
    text: 'A service that this page needs is down, or its answer makes no sense. Try again later.',
  },
  service_unavailable: {
    title: 'Back in a moment',
    text: 'The database cannot be reached or is too busy. Your devices work meanwhile. Try again soon.',
  },
  schema_newer: {
    title: 'This gateway waits for its upgrade',
    text: 'A later version has changed the database, so nothing can be changed at this gateway until it is upgraded. Your devices work meanwhile. Try again soon: another gateway may answer.',
  },
};

/** What is said once DATABASE_AWAY_LIMIT has passed. */
const AWAY_FOR_LONG: Said = {
  title: 'No device is connected',
  text: 'The gateway cannot reach its database for longer than an administrator allows, so it lets no device through until it can. Tell an administrator.',
};

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
    return answerPage(pages, request, h, error, isAwayForLong ? AWAY_FOR_LONG : saidOf(error));
  };
}

function saidOf(error: ApiError): Said {
  return error instanceof PageError ? error.said : words[error.code];
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
