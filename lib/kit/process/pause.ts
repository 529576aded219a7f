// Long work on the main thread that lets others work from time to time.

import { setImmediate as turnOver } from 'node:timers/promises';

/** How long the main thread works before it does something else, in ms. */
const WORK_MS = 8;

/** Called after each small step of long work; it mostly resolves at once. */
export type Pause = () => Promise<void>;

/** Makes the pauses of one long work. */
export function pauser(): Pause {
  let sinceMs = performance.now();
  return async () => {
    if (performance.now() - sinceMs < WORK_MS) return;
    await turnOver();
    sinceMs = performance.now();
  };
}
