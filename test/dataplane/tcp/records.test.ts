// Records of what was sent: sums of bytes and both orders hold, whatever happens.

import test from 'ava';
import {
  DEVICE,
  LOST,
  OLDEST,
  PIPE,
  RECORD_FIRST,
  SACKED,
  WORDS,
} from '../../../dataplane/tcp/columns.ts';
import {
  IN_FLIGHT,
  IS_LOST,
  IS_SACKED,
  NO_RECORD,
  Records,
} from '../../../dataplane/tcp/records.ts';
import { Dice } from '../../support/tcp/world.ts';

const SLOT = 2;
const W = SLOT * WORDS;

function listed(records: Records, words: Int32Array): number[] {
  const all: number[] = [];
  for (let at = words[W + RECORD_FIRST]!; at !== NO_RECORD; at = records.next[at]!) all.push(at);
  return all;
}

test('random sends, losses, deliveries, splits and acknowledgements', (t) => {
  for (let seed = 1; seed < 60; seed++) {
    const dice = new Dice(seed);
    const words = new Int32Array(4 * WORDS);
    const records = new Records(words, 200, 1);
    let next = 0;
    for (let now = 1; now < 200; now++) {
      const all = listed(records, words);
      const one = all.length === 0 ? NO_RECORD : dice.pick(all);
      const action = dice.below(7);
      if (action <= 1 && records.hasRoom(SLOT)) {
        const record = records.add(SLOT, next, (next += 1 + dice.below(50)));
        records.sentAt[record] = now;
      } else if (one === NO_RECORD) continue;
      else if (action === 2 && records.state[one] === IN_FLIGHT) records.lose(SLOT, one);
      else if (action === 3 && records.state[one] !== IS_SACKED) {
        records.sack(SLOT, one);
        records.join(SLOT, one);
      } else if (action === 4 && records.state[one] === IS_LOST) {
        records.resend(SLOT, one);
        records.sentAt[one] = now;
      } else if (action === 5 && records.to[one]! - records.from[one]! > 1)
        records.split(SLOT, one, records.from[one]! + 1);
      else if (action === 6) {
        const first = words[W + RECORD_FIRST]!;
        if (dice.oneIn(2) || records.to[first]! - records.from[first]! < 3) records.shift(SLOT);
        else records.trim(SLOT, records.from[first]! + 1);
      }
      check(records, words);
    }
    // A timeout finds everything lost.
    for (const one of listed(records, words))
      if (records.state[one] === IN_FLIGHT) records.lose(SLOT, one);
    records.recall(SLOT);
    check(records, words);
    records.clear(SLOT);
    t.is(records.live, 0);
    t.deepEqual([words[W + PIPE], words[W + LOST], words[W + SACKED]], [0, 0, 0]);
    t.is(words[W + OLDEST], NO_RECORD);
  }

  function check(records: Records, words: Int32Array): void {
    const all = listed(records, words);
    t.is(records.live, all.length);
    const sums = [0, 0, 0];
    for (const [i, one] of all.entries()) {
      sums[records.state[one]!]! += records.to[one]! - records.from[one]!;
      if (i > 0) t.is(records.from[one], records.to[all[i - 1]!]!, 'without holes');
    }
    t.deepEqual([words[W + PIPE], words[W + LOST], words[W + SACKED]], sums);
    const byTime: number[] = [];
    for (let at = words[W + OLDEST]!; at !== NO_RECORD; at = records.newer[at]!) byTime.push(at);
    t.deepEqual(
      byTime.toSorted((a, b) => a - b),
      all.filter((one) => records.state[one] === IN_FLIGHT).toSorted((a, b) => a - b),
    );
    const times = byTime.map((one) => records.sentAt[one]!);
    t.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
  }
});

test('what was reported and is forgotten counts as lost', (t) => {
  const words = new Int32Array(4 * WORDS);
  const records = new Records(words, 8, 1);
  const record = records.add(SLOT, 0, 10);
  records.sack(SLOT, record);
  records.forget(SLOT, record);
  t.deepEqual([words[W + PIPE], words[W + LOST], words[W + SACKED]], [0, 10, 0]);
});

test('some room is kept for splits', (t) => {
  const records = new Records(new Int32Array(4 * WORDS), 16, 1);
  let count = 0;
  for (; records.hasRoom(SLOT); count++) records.add(SLOT, 10 * count, 10 * count + 10);
  t.true(count >= 12 && count < 16);
  let record = 1;
  while (record !== NO_RECORD && count < 20) {
    record = records.split(SLOT, record, records.from[record]! + 1);
    count++;
  }
  t.is(record, NO_RECORD);
  t.is(records.live, 16);
});

test('neither a connection nor a device has so many that others have none', (t) => {
  const words = new Int32Array(8 * WORDS);
  for (let slot = 1; slot < 8; slot++) words[slot * WORDS + DEVICE] = slot < 7 ? 0 : 1;
  const records = new Records(words, 32_000, 2);
  // SACK of each second byte splits a record again and again.
  const splitAll = (slot: number): number => {
    let record = records.add(slot, 0, 60_000);
    let count = 1;
    for (; record !== NO_RECORD; count++)
      record = records.split(slot, record, records.from[record]! + 1);
    return count - 1;
  };
  t.is(splitAll(1), 2_048);
  t.false(records.hasRoom(1));
  t.deepEqual([2, 3, 4].map(splitAll), [2_048, 2_048, 1_856]);
  t.false(records.hasRoom(5));
  t.true(records.hasRoom(7));
  t.is(splitAll(7), 2_048);
  records.clear(1);
  t.true(records.hasRoom(5));
});
