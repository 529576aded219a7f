// One word for each meaning: no file of the repository holds a word that docs/glossary.md retired.

import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import test from 'ava';
import { filesWithRetiredWords, retiredWordIn, retiredWords } from '../support/suite/words.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['config', 'dataplane', 'lib', 'models'];

test('no file holds a retired word', (t) => {
  t.deepEqual([...filesWithRetiredWords()], [], 'docs/glossary.md says what to write instead');
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
    'function addFault() {}',
    'const faultsMax = 1;',
    'FAULT_COUNT',
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
    'mail_fault: null',
    'isDefault, DEFAULT_PORT and EFAULT',
    'a page fault of the kernel',
  ])
    t.is(retiredWordIn(text), null, text);
});

test('names that say nothing of their own are those of one function at most', (t) => {
  const found = execFileSync(
    'git',
    ['grep', '-hoE', '^(export )?(async )?function (placeOf|inWords|textOf)\\b', '--', ...SOURCES],
    { cwd: ROOT, encoding: 'utf8' },
  );
  const names = found.split('\n').flatMap((line) => /\w+$/.exec(line)?.[0] ?? []);
  t.deepEqual(names, ['textOf'], 'the text of a field of a form; the others say which place it is');
});
