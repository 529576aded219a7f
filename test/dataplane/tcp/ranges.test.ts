// Ranges that came out of order, compared with a set of numbers.

import test from 'ava';
import { DEVICE, RANGE_COUNT, WORDS } from '../../../dataplane/tcp/columns.ts';
import { Ranges } from '../../../dataplane/tcp/ranges.ts';
import { Dice } from '../../support/tcp/world.ts';

const BLOCKS = new Int32Array(8);

test('random ranges are those of a set, and the latest is reported first', (t) => {
  for (let seed = 1; seed < 60; seed++) {
    const dice = new Dice(seed);
    const words = new Int32Array(3 * WORDS);
    const ranges = new Ranges(words, 100, 1);
    const base = dice.pick([0, -150, 0x7fff_ff80]);
    const model = new Set<number>();
    let next = 0;
    for (let i = 0; i < 100; i++) {
      const from = next + 1 + dice.below(200);
      const to = from + 1 + dice.below(20);
      const isKnown = Array.from({ length: to - from }, (_, k) => model.has(from + k));
      t.is(ranges.includes(2, (base + from) | 0, (base + to) | 0), isKnown.every(Boolean));
      ranges.add(2, (base + from) | 0, (base + to) | 0);
      for (let k = from; k < to; k++) model.add(k);
      const count = ranges.report(2, BLOCKS, 0);
      t.true(count >= 1 && count <= 4);
      const edges = [...BLOCKS.subarray(0, 2 * count)].map((edge) => (edge - base) | 0);
      t.true(edges[0]! <= from && edges[1]! >= to);
      for (let k = 0; k < count; k++) {
        t.false(model.has(edges[2 * k]! - 1) || model.has(edges[2 * k + 1]!), 'blocks are whole');
        for (let one = edges[2 * k]!; one < edges[2 * k + 1]!; one++) t.true(model.has(one));
      }
      t.is(words[2 * WORDS + RANGE_COUNT], ranges.live);
      if (!dice.oneIn(8)) continue;
      next = (ranges.advance(2, (base + next + 10) | 0) - base) | 0;
      for (const one of model) if (one < next) model.delete(one);
      t.false(model.has(next));
    }
    ranges.clear(2);
    t.is(ranges.live, 0);
    t.is(ranges.report(2, BLOCKS, 0), 0);
  }
});

test('a full pool has no room, and neither has a connection with too many', (t) => {
  const ranges = new Ranges(new Int32Array(3 * WORDS), 3, 1);
  for (const from of [10, 20, 30]) {
    t.true(ranges.hasRoom(1));
    ranges.add(1, from, from + 1);
  }
  t.false(ranges.hasRoom(2));
  ranges.add(1, 11, 20);
  t.is(ranges.live, 2);
  t.true(ranges.hasRoom(2));
  const many = new Ranges(new Int32Array(3 * WORDS), 4_000, 1);
  let count = 0;
  for (; many.hasRoom(1); count++) many.add(1, 10 * count, 10 * count + 1);
  t.is(count, 512);
  t.true(many.hasRoom(2));
});

test('no device has so many that others have none', (t) => {
  const words = new Int32Array(4 * WORDS);
  words[3 * WORDS + DEVICE] = 1;
  const ranges = new Ranges(words, 2_000, 2);
  let count = 0;
  for (; ranges.hasRoom(1); count++) ranges.add(1, 10 * count, 10 * count + 1);
  t.is(count, 500);
  t.false(ranges.hasRoom(2));
  t.true(ranges.hasRoom(3));
  ranges.clear(1);
  t.true(ranges.hasRoom(2));
});
