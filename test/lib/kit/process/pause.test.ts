// Long work lets others work.

import test from 'ava';
import { pauser } from '../../../../lib/kit/process/pause.ts';

/** Turns of the loop while some work runs. */
async function turnsDuring(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isDone = true;
  return turns;
}

test('others work during long work, and not at each step', async (t) => {
  const pause = pauser();
  const turns = await turnsDuring(async () => {
    for (let i = 0; i < 100; i += 1) {
      const until = performance.now() + 1;
      while (performance.now() < until);
      await pause();
    }
  });
  t.true(turns >= 5, `${turns} turns`);
  const short = await turnsDuring(async () => {
    for (let i = 0; i < 1_000; i += 1) await pause();
  });
  t.true(short < 500, `${short} turns`);
});
