// The replay window: the kernel's table (wireguard-linux, src/selftest/counter.c) in the shape of a
// window of exactly 8,192 counters that end below 2^53, and a slow twin.

import test from 'ava';
import fc from 'fast-check';
import { REPLAY_WINDOW_COUNTERS } from '../../../dataplane/constants.ts';
import { ReplayWindow } from '../../../dataplane/wireguard/replay.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const W = REPLAY_WINDOW_COUNTERS;
const LIMIT = 2 ** 53 - 1;

// ---- the table -------------------------------------------------------------------------------

const table: readonly [counter: number, wanted: boolean][] = [
  [0, true],
  [1, true],
  [1, false],
  [9, true],
  [8, true],
  [7, true],
  [7, false],
  [W, true],
  [W - 1, true],
  [W - 1, false],
  [W - 2, true],
  [2, true],
  [2, false],
  [W + 16, true],
  [3, false],
  [W + 16, false],
  [W * 4, true],
  [W * 4 - (W - 1), true],
  [10, false],
  [W * 4 - W, false],
  [W * 4 - (W + 1), false],
  [W * 4 - (W - 2), true],
  [W * 4 + 1 - W, false],
  [0, false],
  [LIMIT - W, true],
  [LIMIT - W - 1, true],
  [LIMIT - W, false],
  [LIMIT - W - 1, false],
  [LIMIT - W - 2, true],
  [LIMIT - W + 1, true],
  [LIMIT - W + 2, true],
  [LIMIT - W + 2, false],
  [LIMIT, true],
  [LIMIT - W + 3, true],
  [LIMIT - W, false],
  [LIMIT - (W - 1), false],
  [LIMIT - (W - 1) + 2, false],
  [LIMIT - 1, true],
  [LIMIT, false],
  [0, false],
];

test('what was seen before the 33rd counter is remembered behind it', (t) => {
  for (let last = 0; last < 70; last++) {
    const window = new ReplayWindow();
    for (let counter = 0; counter <= last; counter += 3) t.true(window.accept(counter));
    for (const next of [last + 1, 32, 33, 64, W])
      if (next > last) {
        t.true(window.accept(next), `${last} ${next}`);
        break;
      }
    for (let counter = 0; counter <= last; counter++)
      t.is(window.accept(counter), counter % 3 !== 0, `${last} ${counter}`);
  }
});

// docs/bugs-of-others.md#bug-2: window of 8,192.
test('the table of the kernel, one window through', (t) => {
  const window = new ReplayWindow();
  for (const [row, [counter, wanted]] of table.entries())
    t.is(window.accept(counter), wanted, `row ${row + 1}: ${counter}`);
});

// ---- whole windows, forwards and backwards ---------------------------------------------------

interface Run {
  title: string;
  counters: readonly number[];
  wanted: (counter: number, i: number) => boolean;
}

function upward(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

function downward(from: number, to: number): number[] {
  return upward(to, from).reverse();
}

const runs: readonly Run[] = [
  { title: 'a whole window, ascending', counters: upward(1, W), wanted: () => true },
  {
    title: 'a whole window, then counter 0, which is just too old',
    counters: [...upward(1, W), 0],
    wanted: (counter) => counter > 0,
  },
  { title: 'a whole window, descending', counters: downward(W, 1), wanted: () => true },
  {
    title: 'a whole window, descending, then counter 0',
    counters: [...downward(W, 1), 0],
    wanted: (counter) => counter > 0,
  },
  {
    title: 'from 0 to the end of the window, descending',
    counters: downward(W - 1, 0),
    wanted: () => true,
  },
  {
    title: 'one more than a window, descending',
    counters: downward(W, 0),
    wanted: (counter) => counter > 0,
  },
  {
    title: 'descending, then one beyond, then the one that it pushed out',
    counters: [...downward(W - 1, 1), W, 0],
    wanted: (counter) => counter > 0,
  },
  {
    title: 'descending, then the last one left open',
    counters: [...downward(W - 1, 1), 0, W],
    wanted: () => true,
  },
  {
    title: 'descending with a jump in between',
    counters: [...downward(W - 1, 1), 0, W + 1, W],
    wanted: () => true,
  },
  {
    title: 'every second, then the others',
    counters: [
      ...upward(0, W / 2 - 1).map((i) => 2 * i),
      ...upward(0, W / 2 - 1).map((i) => 2 * i + 1),
    ],
    wanted: () => true,
  },
];

for (const { title, counters, wanted } of runs) {
  test(`${title}`, (t) => {
    const window = new ReplayWindow();
    for (const [i, counter] of counters.entries()) {
      if (window.accept(counter) !== wanted(counter, i)) t.fail(`${counter}`);
    }
    t.pass();
  });

  test(`${title}; a second time all of it is refused`, (t) => {
    const window = new ReplayWindow();
    for (const counter of counters) window.accept(counter);
    for (const counter of counters) if (window.accept(counter)) t.fail(`${counter}`);
    t.pass();
  });
}

// ---- jumps -----------------------------------------------------------------------------------

for (const jump of [W - 1, W, W + 1, 2 * W, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 52]) {
  test(`a jump by ${jump} keeps exactly what is still inside the window`, (t) => {
    const window = new ReplayWindow();
    const greatest = 9_000;
    for (let counter = 0; counter <= greatest; counter++) window.accept(counter);
    const landed = greatest + jump;
    t.true(window.accept(landed));
    for (let counter = Math.max(0, landed - W - 2); counter <= landed; counter++) {
      const isOld = landed - counter >= W;
      const wasSeen = counter <= greatest || counter === landed;
      if (window.isFresh(counter) !== (!isOld && !wasSeen)) t.fail(`${counter}`);
    }
    t.pass();
  });
}

// docs/bugs-of-others.md#bug-1: 64-bit counters.
test('counters above 2^32 do not fall on those below', (t) => {
  const window = new ReplayWindow();
  t.true(window.accept(5));
  t.true(window.accept(2 ** 32 + 5));
  t.false(window.accept(5));
  t.true(window.accept(2 ** 32 + 4));
  t.false(window.accept(2 ** 32 + 5));
});

test('asking changes nothing', (t) => {
  const window = new ReplayWindow();
  t.true(window.isFresh(1_000_000));
  t.true(window.isFresh(0));
  t.true(window.accept(0));
  t.true(window.isFresh(1));
  t.true(window.isFresh(1));
  t.false(window.isFresh(0));
});

test('the first counter may be any', (t) => {
  for (const first of [0, 1, W - 1, W, 2 ** 40, LIMIT]) {
    const window = new ReplayWindow();
    t.true(window.accept(first));
    t.false(window.accept(first));
  }
});

// ---- a slow twin -----------------------------------------------------------------------------

/** Remembers every counter it has seen. */
class SlowWindow {
  readonly #seen = new Set<number>();
  #greatest = -1;

  accept(counter: number): boolean {
    if (this.#seen.has(counter) || this.#greatest - counter >= W) return false;
    this.#seen.add(counter);
    this.#greatest = Math.max(this.#greatest, counter);
    return true;
  }
}

test('any order of counters is judged as the slow twin judges it', (t) => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: -40, max: 40 }) },
    { weight: 2, arbitrary: fc.integer({ min: -W - 4, max: W + 4 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(-W, 1 - W, W - 1, W, W + 1, 3 * W, 2 ** 33, -(2 ** 33)),
    },
  );
  fc.assert(
    fc.property(
      fc.constantFrom(0, W - 5, 2 ** 32 - 20, LIMIT - 20_000),
      fc.array(step, { minLength: 1, maxLength: 400, size: 'max' }),
      (start, steps) => {
        const [window, twin] = [new ReplayWindow(), new SlowWindow()];
        let counter = start;
        for (const by of steps) {
          counter = Math.min(LIMIT, Math.max(0, counter + by));
          const fresh = window.isFresh(counter);
          const accepted = window.accept(counter);
          if (fresh !== accepted || accepted !== twin.accept(counter)) return false;
        }
        return true;
      },
    ),
    { ...SEEDED, numRuns: 300 },
  );
  t.pass();
});

test('moving the window allocates nothing', (t) => {
  const window = new ReplayWindow();
  let counter = 0;
  t.true(
    bytesPerCall(() => {
      counter += 3;
      window.accept(counter);
      window.accept(counter - 1);
      window.isFresh(counter - 2);
    }) < 1,
  );
});
