// The errors that the rules of the API find, for people who typed a command.

import type { Faults } from '../kit/validation/judge.ts';
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
export function refusalOf(faults: Faults, hints: Hints = {}, wayOut = ''): Error {
  const words = `${faultsInWords(faults, hints)}${wayOut}`;
  const isNoValue = Object.values(faults)
    .flatMap((errors) => errors.map(codeOf))
    .some((code) => UNREADABLE.has(code) || OUT_OF_RANGE.has(code));
  return isNoValue ? new UsageError(words) : new Error(words);
}

/** The errors of a refusal in one line: `name: has already been taken`. */
export function faultsInWords(faults: Faults, hints: Hints = {}): string {
  return Object.entries(faults)
    .flatMap(([field, errors]) =>
      (errors as FieldError[]).map((fault) => {
        const hint = UNREADABLE.has(codeOf(fault)) ? hints[field] : undefined;
        if (hint !== undefined) return `${field}: ${withoutWords(fault)}; give ${hint}`;
        return field === 'base' ? sentenceOf(fault) : `${field}: ${sentenceOf(fault)}`;
      }),
    )
    .join('; ');
}

/** The words that programs send are often not those that people type, which the hint names. */
function withoutWords(fault: FieldError): string {
  return sentenceOf(codeOf(fault) === 'oneOf' ? messages.invalid : fault);
}
