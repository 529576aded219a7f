// The errors that the rules of the API find, for people who typed a command.

import type { Errors } from '../kit/validation/validate.ts';
import {
  codeOf,
  type FieldError,
  type FieldErrorCode,
  messages,
  sentenceOf,
} from '../kit/validation/messages.ts';
import { UsageError } from '../kit/process/usage-error.ts';

/** By the names of fields what can be typed. */
export type Hints = Readonly<Record<string, string>>;

/** The errors of a value that is none, or is missing. */
const UNREADABLE: ReadonlySet<FieldErrorCode | null> = new Set([
  'invalid',
  'blank',
  'email',
  'badFormat',
  'badStep',
  'badTime',
  'oneOf',
]);

/** The errors of a number that no row could make right. */
const OUT_OF_RANGE: ReadonlySet<FieldErrorCode | null> = new Set(['atLeast', 'atMost']);

/** A refusal as an error: wrong usage, where a value is none that could ever be taken. */
export function refusalOf(errors: Errors, hints: Hints = {}, wayOut = ''): Error {
  const words = `${errorsInWords(errors, hints)}${wayOut}`;
  const isNoValue = Object.values(errors)
    .flatMap((ofField) => ofField.map(codeOf))
    .some((code) => UNREADABLE.has(code) || OUT_OF_RANGE.has(code));
  return isNoValue ? new UsageError(words) : new Error(words);
}

/** The errors of a refusal in one line: `name: has already been taken`. */
export function errorsInWords(errors: Errors, hints: Hints = {}): string {
  return Object.entries(errors)
    .flatMap(([field, ofField]) =>
      (ofField as FieldError[]).map((error) => {
        const hint = UNREADABLE.has(codeOf(error)) ? hints[field] : undefined;
        if (hint !== undefined) return `${field}: ${withoutWords(error)}; give ${hint}`;
        return field === 'base' ? sentenceOf(error) : `${field}: ${sentenceOf(error)}`;
      }),
    )
    .join('; ');
}

/** The words that programs send are often not those that people type, which the hint names. */
function withoutWords(error: FieldError): string {
  return sentenceOf(codeOf(error) === 'oneOf' ? messages.invalid : error);
}
