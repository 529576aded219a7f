// A write that a form asked for: done, or refused with messages that the form shows at its fields.

import { ApiError } from '../../kit/http/errors.ts';
import type { Errors } from '../../kit/validation/validate.ts';
import { type FormErrors, isFormError, plainWords } from './plain-words.ts';

/** What became of it. */
export type Attempt<Result> =
  { readonly result: Result; readonly errors: null } | { readonly errors: Errors };

/** Runs a write; everything that is no refusal of its values is thrown on. */
export async function attempt<Result>(write: () => Promise<Result>): Promise<Attempt<Result>> {
  try {
    return { result: await write(), errors: null };
  } catch (error) {
    return { errors: refusedErrors(error) };
  }
}

/** The messages of a refusal; throws on what is none. */
export function refusedErrors(error: unknown): Errors {
  if (error instanceof ApiError && error.code === 'unprocessable' && error.errors !== null)
    return error.errors;
  throw error;
}

/**
 * All messages in one line, for a page without a field that they belong to. `about`: the field that
 * alone was asked for, which needs no name.
 */
export function errorLine(errors: FormErrors, about = 'base'): string {
  return Object.entries(errors)
    .flatMap(([name, texts]) =>
      texts
        .filter(isFormError)
        .map((text) =>
          name === 'base' || name === about ? plainWords(text) : `${name}: ${plainWords(text)}`,
        ),
    )
    .join('; ');
}
