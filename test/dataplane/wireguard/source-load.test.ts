// Which sources are under load by themselves, for how long, and that none is remembered for ever.

import test from 'ava';
import {
  MAX_QUEUED_INITIATIONS,
  MAX_REFUSED_PER_SOURCE,
  MAX_WAITING_PER_SOURCE,
} from '../../../dataplane/constants.ts';
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

test('a source whose initiations come to nothing is under load, though none waits', (t) => {
  const load = new SourceLoad();
  const compute = (source: bigint, now: number): void => {
    load.enter(source, now);
    load.leave(source, now);
    load.refuse(source, now);
  };
  for (let i = 0; i < MAX_REFUSED_PER_SOURCE; i++) compute(1n, 0);
  t.false(load.isUnderLoad(1n, 0));
  t.is(load.size, 0, 'nothing is remembered of it by name');
  compute(1n, 0);
  t.true(load.isUnderLoad(1n, 0));
  t.false(load.isUnderLoad(2n, 0));
  t.false(load.isUnderLoad(1n, 1_000));
  for (let i = 0; i < 100; i++) compute(3n, 10 * i);
  t.false(load.isUnderLoad(3n, 1_000), 'some fail everywhere');
});

test('the load of a source goes on while it floods without a proof, and no longer', (t) => {
  const load = new SourceLoad();
  for (let i = 0; i < MAX_WAITING_PER_SOURCE; i++) load.enter(1n, 0);
  for (let now = 0; now < 10_000; now++) {
    if (!load.isUnderLoad(1n, now)) t.fail(`${now}`);
    load.turnAway(1n, now);
  }
  t.true(load.isUnderLoad(1n, 10_998));
  t.false(load.isUnderLoad(1n, 10_999));
  load.turnAway(1n, 10_999);
  load.turnAway(2n, 10_999);
  t.false(load.isUnderLoad(1n, 10_999), 'what is not under load is not turned away');
});

test('a few that have no proof do not prolong the load of their source', (t) => {
  const load = new SourceLoad();
  for (let i = 0; i < MAX_WAITING_PER_SOURCE; i++) load.enter(1n, 0);
  for (let now = 0; now < 1_000; now += 10) load.turnAway(1n, now);
  t.false(load.isUnderLoad(1n, 1_000));
});
