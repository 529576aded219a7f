// The faults that the rules of the API find, for people who typed a command.

import type { Faults } from './api/judge.ts';

/** The messages of a refusal as one sentence: `name has already been taken`. */
export function faultsInWords(faults: Faults): string {
  return Object.entries(faults)
    .flatMap(([field, texts]) =>
      (texts as string[]).map((text) => (field === 'base' ? text : `${field} ${text}`)),
    )
    .join('; ');
}
