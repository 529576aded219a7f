// The seed of what is random in simulated worlds: the same in every run, unless SEED chooses one.

import process from 'node:process';

const chosen = process.env['SEED'];

/** Whether SEED was given. */
export const isSeedChosen = chosen !== undefined;

/** What a world begins with. */
export const SEED = Number(chosen ?? 1);

if (!Number.isInteger(SEED)) throw new TypeError(`SEED is a whole number, not ${chosen}`);
