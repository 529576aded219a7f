// Hits by rule number, while numbers change hands.

import test from 'ava';
import { Hits } from '../../../dataplane/filter/hits.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { withoutNulls } from '../../support/filter/without-nulls.ts';

const at = (wallMs: number): Float64Array => new Float64Array([wallMs]);

test('packets, bytes and the last time are those of the rule that has the number', (t) => {
  const hits = new Hits();
  t.is(hits.rename(0, 'a'), null);
  t.is(hits.rename(1, 'b'), null);
  hits.count(1, 100, at(5));
  hits.count(1, 20, at(7));
  hits.count(0, 1, at(6));
  t.deepEqual(withoutNulls(hits.take()), [
    { id: 'a', packets: 1, bytes: 1, lastHitMs: 6 },
    { id: 'b', packets: 2, bytes: 120, lastHitMs: 7 },
  ]);
  t.deepEqual([...hits.take()], [null, null]);
});

test('a number that becomes another rule gives back what the former one was hit by', (t) => {
  const hits = new Hits();
  hits.rename(0, 'a');
  hits.count(0, 10, at(1));
  t.deepEqual(hits.rename(0, 'b'), { id: 'a', packets: 1, bytes: 10, lastHitMs: 1 });
  t.deepEqual([...hits.take()], [null]);
  hits.count(0, 30, at(2));
  t.deepEqual(hits.rename(0, null), { id: 'b', packets: 1, bytes: 30, lastHitMs: 2 });
  t.is(hits.rename(0, 'c'), null);
});

test('a number beyond all others makes room and loses nothing', (t) => {
  const hits = new Hits();
  hits.rename(0, 'a');
  hits.count(0, 1, at(1));
  hits.rename(1_000, 'z');
  hits.count(1_000, 2, at(2));
  t.deepEqual(withoutNulls(hits.take()), [
    { id: 'a', packets: 1, bytes: 1, lastHitMs: 1 },
    { id: 'z', packets: 1, bytes: 2, lastHitMs: 2 },
  ]);
});

test('counting allocates nothing', (t) => {
  const hits = new Hits();
  hits.rename(3, 'a');
  const wallMs = at(Date.now() + 0.5);
  t.true(bytesPerCall(() => hits.count(3, 1_420, wallMs)) < 1);
});
