// An error that says something to a person: a title and a text of its own, shown as a page with the
// request's id. Programs get the code alone.

import { ApiError, type ErrorCode, type ErrorOptions } from './errors.ts';

/** What the person reads. */
export interface Said {
  readonly title: string;
  readonly text: string;
}

/** An error with words for a person; status and log are those of its code. */
export class PageError extends ApiError {
  override name = 'PageError';
  readonly said: Said;

  constructor(code: ErrorCode, said: Said, options: ErrorOptions = {}) {
    super(code, { detail: said.text, ...options });
    this.said = said;
  }
}
