// The pause after a step of long work.

import test from 'ava';
import { giveWay } from '../../../models/storage/give-way.ts';

/** How long the pause is after a step of so many ms. */
async function pauseAfter(stepMs: number): Promise<number> {
  const begun = performance.now();
  await giveWay(begun - stepMs);
  return performance.now() - begun;
}

test('a pause is as long as the step was, and at least 5 ms', async (t) => {
  // A timer may ring a millisecond early.
  t.true((await pauseAfter(0)) >= 4);
  t.true((await pauseAfter(60)) >= 59);
});
