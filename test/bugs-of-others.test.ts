// The bugs that others shipped, docs/bugs-of-others.md: every claim of the page has tests that
// show it, and the page links exactly the files in which they are.

import { readFileSync } from 'node:fs';
import test from 'ava';
import { BUGS_PAGE, filesOf, readClaims, readPointers } from '../tools/bugs.ts';

/** A test begins here, or one of its kinds: nativeTest, engineTest. */
const TEST = /^\s*\w*[tT]est(\.serial)?\(/;

const claims = readClaims(readFileSync(BUGS_PAGE, 'utf8'));
const pointers = readPointers();

test('whoever points at a bug of others is a test, and points at a claim of the page', (t) => {
  for (const { file, line, bug, claim, below } of pointers) {
    const isClaimed = claims.some((one) => one.bug === bug && one.claim === claim);
    t.true(isClaimed, `${file}:${line}: bug ${bug}: ${claim}`);
    t.regex(below, TEST, `${file}:${line}`);
  }
});

for (const one of claims)
  test(`docs/bugs-of-others.md#bug-${one.bug} is tested: ${one.claim}`, (t) => {
    const files = filesOf(pointers, one);
    t.true(files.length > 0, 'a test points at it');
    t.deepEqual([...one.files].sort(), files, 'run npm run bugs');
  });

test('the page has 25 bugs and 55 claims', (t) => {
  t.deepEqual(
    [...new Set(claims.map(({ bug }) => bug))],
    Array.from({ length: 25 }, (_, i) => i + 1),
  );
  t.is(claims.length, 55);
});
