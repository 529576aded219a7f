// A write that a form asked for: done, or refused with messages that the form shows at its fields.

import { ApiError } from '../../kit/http/errors.ts';
import type { Faults } from '../../kit/validation/judge.ts';
import { type FormFaults, isFormError, plainWords } from './plain-words.ts';

/** What became of it. */
export type Attempt<Result> =
  { readonly result: Result; readonly faults: null } | { readonly faults: Faults };

/** Runs a write; everything that is no refusal of its values is thrown on. */
export async function attempt<Result>(write: () => Promise<Result>): Promise<Attempt<Result>> {
  try {
    return { result: await write(), faults: null };
  } catch (error) {
    return { faults: refusedFaults(error) };
  }
}

/** The messages of a refusal; throws on what is none. */
export function refusedFaults(error: unknown): Faults {
  if (error instanceof ApiError && error.code === 'unprocessable' && error.faults !== null)
    return error.faults;
  throw error;
}

/**
 * All messages in one line, for a page without a field that they belong to. `about`: the field that
 * alone was asked for, which needs no name.
 */
export function faultLine(faults: FormFaults, about = 'base'): string {
  return Object.entries(faults)
    .flatMap(([name, texts]) =>
      texts
        .filter(isFormError)
        .map((text) =>
          name === 'base' || name === about ? plainWords(text) : `${name}: ${plainWords(text)}`,
        ),
    )
    .join('; ');
}
