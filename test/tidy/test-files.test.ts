// Test files stay short, and those of operation belong to one row of test/all.sh.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import test from 'ava';
import { inOwnProcess } from '../support/suite/sharing.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const LINES_MAX = 600;

const files = execFileSync('git', ['ls-files', 'test'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path.endsWith('.test.ts'));

test('no test file is longer than 600 lines', (t) => {
  t.true(files.length > 400, `${files.length} files`);
  for (const file of files) {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1;
    t.true(lines <= LINES_MAX, `${file} has ${lines} lines`);
  }
});

test('a file with hooks has a process of its own', (t) => {
  const hooked = files.filter((file) =>
    /^test\.(before|after)/m.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  t.true(hooked.length > 5, `${hooked.length} files`);
  t.deepEqual(
    hooked.filter((file) => !(file in inOwnProcess)),
    [],
  );
});

test('each test of operation is in one of the two rows', (t) => {
  const ops = files.filter((path) => path.startsWith('test/ops/'));
  t.true(ops.length > 10);
  const script = readFileSync(join(ROOT, 'test/all.sh'), 'utf8');
  const rows = [...script.matchAll(/OPS_ROW=([a-z]-[a-z])/g)];
  t.is(rows.length, 2);
  for (const file of ops) {
    const held = rows.filter(([, letters]) => new RegExp(`^[${letters}]`).test(basename(file)));
    t.is(held.length, 1, file);
  }
});
