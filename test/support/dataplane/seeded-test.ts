// What tests of simulated worlds say about chance: whoever imports this file has the seed printed
// below each test that fails. `SEED=7 npx ava <file>` makes the worlds of that seed again.

import test, { type ExecutionContext } from 'ava';
import { isSeedChosen, SEED } from './seed.ts';

export { chance } from './simulation.ts';

/** What a test leaves for the line below it. */
interface Context {
  seed?: number;
}

test.afterEach.always('the seed of its world', (t) => {
  if (!t.passed) t.log(`SEED=${(t.context as Context).seed ?? SEED} makes this world again`);
});

/** A test that is tried with as many seeds, each by itself, or with the chosen one alone. */
export function seededTest(
  count: number,
  title: string,
  body: (t: ExecutionContext, seed: number) => void,
): void {
  const seeds = isSeedChosen ? [SEED] : Array.from({ length: count }, (_, i) => 1 + i);
  for (const seed of seeds)
    test(`${title} (seed ${seed})`, (t) => {
      (t.context as Context).seed = seed;
      body(t, seed);
    });
}
