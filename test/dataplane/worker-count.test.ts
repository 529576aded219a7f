// How many workers a gateway has.

import { availableParallelism } from 'node:os';
import test from 'ava';
import { MAX_WORKERS } from '../../dataplane/constants.ts';
import { shareOf, workersOf } from '../../dataplane/worker-count.ts';

test('a number is taken, and auto leaves a core to the main thread', (t) => {
  t.is(workersOf({ engine: 'auto', workers: 3 }), 3);
  const own = workersOf({ engine: 'native', workers: 'auto' });
  t.is(own, Math.min(MAX_WORKERS, Math.max(1, availableParallelism() - 1)));
});

test('the TypeScript engine has one worker', (t) => {
  t.is(workersOf({ engine: 'typescript', workers: 4 }), 1);
  t.is(workersOf({ engine: 'typescript', workers: 'auto' }), 1);
});

test('a worker has a power of two of a table, and all together no more than the whole', (t) => {
  t.deepEqual(
    [1, 2, 3, 4, 5, 8].map((workers) => shareOf(1_024, workers)),
    [1_024, 512, 256, 256, 128, 128],
  );
});
