// Which sources are under load by themselves, for how long, and that none is remembered for ever.

import test from 'ava';
import { MAX_QUEUED_INITIATIONS, MAX_WAITING_PER_SOURCE } from '../../../dataplane/constants.ts';
import { SourceLoad } from '../../../dataplane/wireguard/source-load.ts';

test('a source is under load once its share waits, and for a second after', (t) => {
  const load = new SourceLoad();
  for (let i = 1; i < MAX_WAITING_PER_SOURCE; i++) load.enter(1n, 0);
  t.false(load.isUnderLoad(1n, 0));
  load.enter(1n, 0);
  t.true(load.isUnderLoad(1n, 0));
  t.false(load.isUnderLoad(2n, 0));
  t.true(load.isUnderLoad(1n, 999));
  t.false(load.isUnderLoad(1n, 1_000));
});

test('a source of which nothing waits is forgotten, at once or once its load is over', (t) => {
  const load = new SourceLoad();
  load.enter(1n, 0);
  load.leave(1n, 0);
  t.is(load.size, 0);
  load.leave(1n, 0);
  const flood = (source: bigint): void => {
    for (let i = 0; i < MAX_WAITING_PER_SOURCE; i++) load.enter(source, 0);
    for (let i = 0; i < MAX_WAITING_PER_SOURCE; i++) load.leave(source, 1);
  };
  for (let source = 1n; source <= MAX_QUEUED_INITIATIONS; source++) flood(source);
  t.is(load.size, MAX_QUEUED_INITIATIONS);
  load.enter(0n, 1_000);
  t.is(load.size, 1);
});
