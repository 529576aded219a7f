// Validators whose errors are read as the API says them, so that tests name the texts of
// docs/api.md.

import { inSentences, type Mode, type Validator } from '../../../lib/kit/validation/validate.ts';

/** What came of validating, in the sentences of the API. */
export interface ValidatedInSentences<Values> {
  readonly values: Values;
  readonly errors: Record<string, unknown[]>;
}

/** A validator, with its errors as sentences. */
export function validateInSentences<Values>(
  validate: Validator<Values>,
): (input: object, mode: Mode) => ValidatedInSentences<Values> {
  return (input, mode) => {
    const { values, errors } = validate(input, mode);
    return { values, errors: inSentences(errors) };
  };
}
