// A question to the person at the terminal, where there is one. It goes to standard error, so that
// standard output has nothing but the result.

import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';

/** Shows a text that ends in a question; true for yes. */
export type AskPerson = (text: string) => Promise<boolean>;

/** Where a person reads and types. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & { readonly isTTY?: boolean };
}

/** Asks the person at the terminal; null if there is none, as in a script. */
export function personAtTerminal(
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): AskPerson | null {
  if (input.isTTY !== true || output.isTTY !== true) return null;
  return async (text) => {
    const lines = createInterface({ input, output });
    try {
      const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
      const answer = await Promise.race([lines.question(`${text} [y/N] `), closed]);
      return /^\s*y(?:es)?\s*$/i.test(answer);
    } finally {
      lines.close();
    }
  };
}
