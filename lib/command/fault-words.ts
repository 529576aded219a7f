// The faults that the rules of the API find, for people who typed a command.

import type { Faults } from '../judge/judge.ts';
import { messages, ONE_OF } from '../judge/messages.ts';
import { UsageError } from '../process/usage-error.ts';

/** By the names of fields what can be typed. */
export type Hints = Readonly<Record<string, string>>;

/** The faults that come of a value that is none, or is missing. */
const UNREADABLE: ReadonlySet<string> = new Set([
  messages.invalid,
  messages.blank,
  messages.email,
  messages.badFormat,
  messages.badStep,
  messages.badTime,
]);

/** How the messages begin of a number that no row could make right. */
const OUT_OF_RANGE = /^must be (greater|less) than or equal to /;

/** A refusal as an error: wrong usage, where a value is none that could ever be taken. */
export function refusalOf(faults: Faults, hints: Hints = {}, wayOut = ''): Error {
  const words = `${faultsInWords(faults, hints)}${wayOut}`;
  const isNoValue = Object.values(faults)
    .flatMap((texts) => texts as string[])
    .some((text) => isUnreadable(text) || OUT_OF_RANGE.test(text));
  return isNoValue ? new UsageError(words) : new Error(words);
}

/** The messages of a refusal in one line: `name: has already been taken`. */
export function faultsInWords(faults: Faults, hints: Hints = {}): string {
  return Object.entries(faults)
    .flatMap(([field, texts]) =>
      (texts as string[]).map((text) => {
        const hint = isUnreadable(text) ? hints[field] : undefined;
        if (hint !== undefined) return `${field}: ${withoutWords(text)}; give ${hint}`;
        return field === 'base' ? text : `${field}: ${text}`;
      }),
    )
    .join('; ');
}

function isUnreadable(text: string): boolean {
  return UNREADABLE.has(text) || text.startsWith(ONE_OF);
}

/** The words that programs send are often not those that people type, which the hint names. */
function withoutWords(text: string): string {
  return text.startsWith(ONE_OF) ? messages.invalid : text;
}
