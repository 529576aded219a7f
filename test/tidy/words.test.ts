// One word for each meaning: the words that docs/glossary.md retired are in no file, but in those
// that are listed until somebody rewrites them.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import {
  filesWithRetiredWords,
  retiredWordIn,
  retiredWords,
  shortened,
  wordsLeft,
} from '../../tools/words.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('no file holds a retired word but those that are listed, and each of those does', (t) => {
  const found = filesWithRetiredWords();
  const listed = new Set(wordsLeft());
  for (const [path, word] of found)
    t.true(listed.has(path), `${path} holds “${word}”, which docs/glossary.md retired`);
  // A file that was moved or deleted since is taken off by the next run.
  for (const path of [...listed].filter((one) => existsSync(join(ROOT, one))))
    t.true(found.has(path), `${path} is clean: run npm run words`);
});

test('retired words are found in comments, texts and names, in any case and across lines', (t) => {
  t.true(retiredWords().length > 20);
  for (const text of [
    'the plane was told',
    '// Mended by the next start',
    "throw new Error('the user is shut out')",
    'It shuts the user out at once.',
    '/** It lets\n * go of the peer */',
    '  /** The same, for IPv6. */',
    '/** As `open`, but slower. */',
    'a list that is narrowed',
  ])
    t.not(retiredWordIn(text), null, text);
});

test('words that only look like retired ones are not found', (t) => {
  for (const text of [
    'a recommended setting',
    'a number stands for a name',
    'an amendment',
    'a narrow screen',
    'const toldMs = 1;',
    '// It does the same for IPv6.',
    'shutdown is outside',
  ])
    t.is(retiredWordIn(text), null, text);
});

test('the list follows files that move and takes in no other', (t) => {
  t.deepEqual(shortened(['a/x.ts', 'a/y.ts', 'a/z.ts'], ['a/x.ts', 'b/y.ts', 'c/new.ts']), [
    'a/x.ts',
    'b/y.ts',
  ]);
});
