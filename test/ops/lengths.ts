// How long the tests of operation go on. `npm run test:all` runs each for as long as shows that it
// works; `npm run test:soak` sets SOAK_MINUTES and runs them at the length that shows that it lasts:
// in half an hour V8 still compiles, so memory grows by more than the bar of the soak allows.

import { randomInt } from 'node:crypto';
import process from 'node:process';

const SHORT_SOAK_MINUTES = 0;

/** The length of the soak in minutes; 0 where only short tests are asked for. */
export const soakMinutes = Number(process.env['SOAK_MINUTES'] ?? SHORT_SOAK_MINUTES);

/** One of two lengths: that of every run, or that of a long one; the environment may say another. */
export function length(short: number, long: number, variable = ''): number {
  return Number(process.env[variable] ?? (soakMinutes > 0 ? long : short));
}

/** The network between this machine and the gateway's host, another than that of test/e2e. */
export const API_NETWORK = '10.255.79';
export const API_ADDRESS = `${API_NETWORK}.2`;
export const MACHINE = `${API_NETWORK}.1`;

/** What random choices come from; OPS_SEED repeats those of an earlier run. */
export const seed = Number(process.env['OPS_SEED'] ?? randomInt(2 ** 31));
