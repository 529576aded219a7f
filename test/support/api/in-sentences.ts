// Judges whose errors are read as the API says them, so that tests name the texts of docs/api.md.

import { inSentences, type Mode, type Validator } from '../../../lib/kit/validation/judge.ts';

/** What came of judging, in the sentences of the API. */
export interface JudgedInSentences<Values> {
  readonly values: Values;
  readonly faults: Record<string, unknown[]>;
}

/** A judge, with its errors as sentences. */
export function judgeInSentences<Values>(
  judge: Validator<Values>,
): (input: object, mode: Mode) => JudgedInSentences<Values> {
  return (input, mode) => {
    const { values, faults } = judge(input, mode);
    return { values, faults: inSentences(faults) };
  };
}
