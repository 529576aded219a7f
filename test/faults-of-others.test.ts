// The faults that others shipped, docs/faults-of-others.md: every claim of the page has tests that
// show it, and the page links exactly the files in which they are.

import { readFileSync } from 'node:fs';
import test from 'ava';
import { FAULTS_PAGE, filesOf, readClaims, readPointers } from '../tools/faults.ts';

/** A test begins here, or one of its kinds: nativeTest, engineTest. */
const TEST = /^\s*\w*[tT]est(\.serial)?\(/;

const claims = readClaims(readFileSync(FAULTS_PAGE, 'utf8'));
const pointers = readPointers();

test('whoever points at a fault of others is a test, and points at a claim of the page', (t) => {
  for (const { file, line, fault, claim, below } of pointers) {
    const isClaimed = claims.some((one) => one.fault === fault && one.claim === claim);
    t.true(isClaimed, `${file}:${line}: fault ${fault}: ${claim}`);
    t.regex(below, TEST, `${file}:${line}`);
  }
});

for (const one of claims)
  test(`docs/faults-of-others.md#fault-${one.fault} is tested: ${one.claim}`, (t) => {
    const files = filesOf(pointers, one);
    t.true(files.length > 0, 'a test points at it');
    t.deepEqual([...one.files].sort(), files, 'run npm run faults');
  });

test('the page has 25 faults and 55 claims', (t) => {
  t.deepEqual(
    [...new Set(claims.map(({ fault }) => fault))],
    Array.from({ length: 25 }, (_, i) => i + 1),
  );
  t.is(claims.length, 55);
});
