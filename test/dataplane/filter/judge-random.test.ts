// Random courses of packets, rules and changes, judged as by a slow twin.

import test from 'ava';
import fc from 'fast-check';
import { address } from '../../support/dataplane/packets.ts';
import { tries } from '../../support/dataplane/seed.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import { anyStep, hosts, withStaged } from '../../support/filter/courses.ts';
import { Pair } from '../../support/filter/pair.ts';
import { peerText, sideOf } from '../../support/filter/tracking.ts';

// No shrinking: a course is a history, and the difference says what was judged in the end.
for (const defaultAction of ['accept', 'drop'] as const) {
  test(`any course of events goes as with the slow twin, where the default is ${defaultAction} at first`, (t) => {
    const courses = fc.sample(fc.array(anyStep, { minLength: 300, maxLength: 300 }), {
      ...SEEDED,
      numRuns: tries(100, 400),
    });
    const met = new Map<string, number>();
    for (const [run, steps] of courses.entries()) {
      const pair = new Pair(defaultAction);
      for (const [i, step] of withStaged(steps).entries()) {
        const difference = pair.take(step);
        if (difference !== null)
          return t.fail(`seed ${SEEDED.seed}, run ${run}, step ${i}: ${difference}`);
      }
      for (const [what, count] of pair.met) met.set(what, (met.get(what) ?? 0) + count);
      met.set('doubted', (met.get('doubted') ?? 0) + pair.slow.doubted);
    }
    t.log(Object.fromEntries(met));
    // The courses lead everywhere.
    const wanted = ['none', 'rule_drop', 'freed', 'refused'];
    for (const what of [...wanted, 'doubted', 'staged', 'staged and refused'])
      t.true((met.get(what) ?? 0) > tries(12, 50), what);
  });
}

test('the addresses of this file are who they say', (t) => {
  t.deepEqual([sideOf('10.0.0.2'), sideOf('fd00::4'), sideOf(hosts[4][0]!)], [0, 2, 'tun']);
  t.is(peerText(address('fd00::3')), 'fd00::3');
});
