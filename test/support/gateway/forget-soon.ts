// Loaded before the program: what is done for the first time ten minutes after a start, as old rows
// are forgotten, is done after a second.

import { FIRST_MS } from '../../../lib/kit/process/forgetting.ts';

const SOON_MS = 1_000;
const real = globalThis.setTimeout;

const sooner = (call: () => void, ms?: number, ...given: []): NodeJS.Timeout =>
  real(call, ms === FIRST_MS ? SOON_MS : ms, ...given);

globalThis.setTimeout = Object.defineProperties(
  sooner,
  Object.getOwnPropertyDescriptors(real),
) as typeof real;
