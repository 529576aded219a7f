// The seed of what is random in simulated worlds: the same in every run, unless SEED chooses one; and
// how many random cases tests try.

import process from 'node:process';

const chosen = process.env['SEED'];

/** Whether SEED was given. */
export const isSeedChosen = chosen !== undefined;

/** What a world begins with. */
export const SEED = Number(chosen ?? 1);

if (!Number.isInteger(SEED)) throw new TypeError(`SEED is a whole number, not ${chosen}`);

const isWhole = process.env['TRIES'] === 'all';

/**
 * How many random cases a test tries against its twin: in every run of the suite, some times as many
 * as find the bugs that were made on purpose to choose the number; with TRIES=all, all of them.
 */
export function tries(usual: number, all: number): number {
  return isWhole ? all : usual;
}
