// A change that is only tried, in a worker that knows some of its peers.

import test from 'ava';
import type { TriedChange } from '../../../dataplane/diff.ts';
import type { FilterTrial } from '../../../dataplane/filter/trial.ts';
import { rulesUnder, trialOf } from '../../../dataplane/worker/tried.ts';

const trial = {} as FilterTrial;
const tunnel = { known: (key: string) => (key === 'b' ? { slot: 7 } : undefined) } as never;
const change = {
  peers: [
    { publicKey: 'a', isOverQuota: false },
    { publicKey: 'b', isOverQuota: true },
  ],
} as unknown as TriedChange;

test('peers of a change are those that the worker knows, by their slots', (t) => {
  const asked: unknown[] = [];
  const tracker = { tried: (tried: unknown) => (asked.push(tried), trial) };
  t.is(rulesUnder(change, tunnel, tracker), trial);
  t.deepEqual(asked, [{ peers: new Map([[7, change.peers[1]]]) }]);
  t.deepEqual(trialOf(change, tunnel, tracker), { rules: trial, overQuota: new Map([[7, true]]) });
});
