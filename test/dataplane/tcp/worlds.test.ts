// Random worlds of TCP in virtual time: two machines against each other, and one against the slow
// model (test/support/tcp/world.ts says what happens there). WORLDS=10000 tries so many seeds in place
// of a few; SEED=7 tries that world alone.

import process from 'node:process';
import { setImmediate as pause } from 'node:timers/promises';
import test from 'ava';
import { isSeedChosen, SEED } from '../../support/dataplane/seed.ts';
import { TcpWorld } from '../../support/tcp/world.ts';

const WORLDS = Number(process.env['WORLDS'] ?? 150);
const seeds = isSeedChosen ? [SEED] : Array.from({ length: WORLDS }, (_, i) => 1 + i);

/** What is kept of a world: its machines have much memory. */
type Outcome = Pick<TcpWorld, 'isClean' | 'packets' | 'bytes'>;

/** Runs each world; an error says which seed makes it again. */
async function tryAll(run: (world: TcpWorld) => void): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const seed of seeds) {
    // AVA hears of the test's timeout between two turns of the event loop.
    await pause();
    const world = new TcpWorld(seed);
    try {
      run(world);
    } catch (error) {
      throw new Error(`SEED=${seed} makes this world again`, { cause: error });
    }
    const { isClean, packets, bytes } = world;
    outcomes.push({ isClean, packets, bytes });
  }
  return outcomes;
}

test('two machines: every byte arrives, and nothing is left', async (t) => {
  t.timeout(7_200_000);
  const worlds = await tryAll((world) => world.runMachines());
  t.is(worlds.length, seeds.length);
  if (isSeedChosen) return;
  t.true(worlds.filter(({ isClean }) => isClean).length > WORLDS / 3, 'most worlds end in peace');
  t.true(worlds.filter(({ isClean }) => !isClean).length > WORLDS / 10, 'and some do not');
  t.true(worlds.reduce((sum, { bytes }) => sum + bytes, 0) > 50_000 * WORLDS);
});

test('a machine and the slow model: every byte arrives, and nothing is left', async (t) => {
  t.timeout(7_200_000);
  const worlds = await tryAll((world) => world.runSlow());
  t.is(worlds.length, seeds.length);
  if (isSeedChosen) return;
  t.true(worlds.filter(({ isClean }) => isClean).length > WORLDS / 2);
  t.true(worlds.reduce((sum, { packets }) => sum + packets, 0) > 10 * WORLDS);
});
