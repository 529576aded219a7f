// Lists through an array of records, against plain arrays.

import test from 'ava';
import fc from 'fast-check';
import { Chains } from '../../../dataplane/filter/chains.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const RECORDS = 12;
const RECORD_WORDS = 5;
const LISTS = 3;

const ascending = (a: number, b: number): number => a - b;

function contents(chains: Chains, list: number): number[] {
  const records: number[] = [];
  for (let record = chains.oldest(list); record !== 0; record = chains.after(record))
    records.push(record);
  const back: number[] = [];
  for (let record = chains.newest(list); record !== 0; record = chains.before(record))
    back.push(record);
  if (back.toReversed().join() !== records.join()) throw new Error(`back: ${back.join()}`);
  return records;
}

test('a list that nothing was put into is empty', (t) => {
  t.is(new Chains(new Int32Array(10), RECORD_WORDS, 2, LISTS).oldest(1), 0);
});

test('records stand in the order in which they came, and leave from anywhere', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: RECORDS }), fc.nat(LISTS - 1), fc.nat(9))),
      (steps) => {
        const words = new Int32Array((RECORDS + 1) * RECORD_WORDS).fill(77);
        const chains = new Chains(words, RECORD_WORDS, 2, LISTS);
        const slow: number[][] = Array.from({ length: LISTS }, () => []);
        for (const [record, list, choice] of steps) {
          const holder = slow.findIndex((records) => records.includes(record));
          if (choice === 0) {
            chains.forget(list);
            slow[list] = [];
          } else if (holder === -1) {
            chains.append(list, record);
            slow[list]!.push(record);
          } else {
            chains.remove(holder, record);
            slow[holder]!.splice(slow[holder]!.indexOf(record), 1);
          }
          for (const [i, records] of slow.entries()) t.deepEqual(contents(chains, i), records);
        }
        // Only the two words that are given to the chains are theirs.
        t.is(words.filter((word, i) => i % RECORD_WORDS === 4 && word !== 77).length, 0);
      },
    ),
    { ...SEEDED, numRuns: 100 },
  );
});

test('the record that ends first is found among the oldest eight, also when others are passed over', (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { minLength: 1, maxLength: RECORDS }), (ends) => {
      const chains = new Chains(
        new Int32Array((RECORDS + 1) * RECORD_WORDS),
        RECORD_WORDS,
        2,
        LISTS,
      );
      const deadlines = new Float64Array([0, ...ends]);
      for (const i of ends.keys()) chains.append(1, i + 1);
      const before = contents(chains, 1);
      const oldest = before.slice(0, 8);
      const soonest = oldest.reduce((a, b) => (deadlines[b]! < deadlines[a]! ? b : a));
      t.is(chains.soonest(1, deadlines), soonest);
      t.deepEqual(contents(chains, 1), before, 'finding moves nothing');
      t.is(chains.passOver(1, deadlines), soonest);
      const after = contents(chains, 1);
      t.deepEqual(after.toSorted(ascending), before.toSorted(ascending));
      if (before.length > 8)
        t.deepEqual(
          after.slice(0, 1 + before.length - 8).toSorted(ascending),
          [soonest, ...before.slice(8)].toSorted(ascending),
        );
    }),
    { ...SEEDED, numRuns: 300 },
  );
});
