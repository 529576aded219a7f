// One account of the descriptors of a process: what all may have together is never more than there
// are.

import fc from 'fast-check';
import test from 'ava';
import { divideFiles, readFiles, relayedWithin } from '../../../dataplane/io/files.ts';
import { HOST_SOCKETS_MAX } from '../../../dataplane/socket-contract.ts';

const OTHERS = 64;

for (const [max, leaves, connections, sockets] of [
  [null, true, 2_048, HOST_SOCKETS_MAX],
  [1_048_576, true, 2_048, HOST_SOCKETS_MAX],
  [1_048_576, false, 2_048, 1_024],
  [1_024, true, 112, 564],
  [1_024, false, 225, 225],
  [256, true, 16, 84],
  [256, false, 33, 33],
  [64, true, 8, 1],
] as const)
  test(`${max} descriptors are divided, ${leaves ? 'devices leave' : 'none leave'} by sockets`, (t) => {
    const shares = divideFiles({ max, open: 60, relayed: 0, leaves, workers: 1 });
    t.deepEqual(shares, { max, connections, sockets, relayed: 0 });
  });

test('all together never have more than there are', (t) => {
  const numbers = {
    max: fc.integer({ min: 200, max: 200_000 }),
    open: fc.integer({ min: 3, max: 60 }),
    leaves: fc.boolean(),
    workers: fc.integer({ min: 1, max: 4 }),
  };
  fc.assert(
    fc.property(fc.record(numbers), (given) => {
      const { connections, sockets } = divideFiles({ ...given, relayed: 0 });
      const all = given.open + OTHERS + 3 * connections + given.workers * sockets;
      return all <= given.max && connections >= 8 && sockets >= 1;
    }),
  );
  t.pass();
});

test('the relay takes its part from all', (t) => {
  const all = { max: 1_024, open: 60, leaves: false, workers: 1 };
  t.is(relayedWithin(1_024), 312);
  const shares = divideFiles({ ...all, relayed: relayedWithin(1_024) });
  t.like(shares, { connections: 69, relayed: 312 });
  t.is(relayedWithin(300), 1);
  t.is(relayedWithin(null), relayedWithin(1_048_576));
});

test('this process has a limit, and files open', (t) => {
  const { max, open } = readFiles();
  t.true(open > 3);
  t.true(max === null || max > open);
});
