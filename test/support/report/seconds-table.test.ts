// The table of seconds: phases, the slowest files of each, and all files in the file.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { secondsTable } from './seconds-table.ts';

test('phases and their slowest files come first, and no file is left out of the whole', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-seconds-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const phases = [
    { phase: 'types', wall: 2.5, user: 1.25, sys: 0.5, status: 0 },
    { phase: 'unit', wall: 70.04, user: 100, sys: 20.5, status: 1 },
  ];
  const files = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name, i) => ({
    file: `${name}.test.ts`,
    wall: i + 0.5,
    cpu: 2,
  }));
  writeLines(join(folder, 'phases.jsonl'), phases);
  writeLines(join(folder, 'unit.jsonl'), files);
  const whole = join(folder, 'whole.txt');
  const words = secondsTable(folder, whole)
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s{2,}/));
  t.deepEqual(words.slice(0, 5), [
    ['phase', 'wall s', 'cpu s'],
    ['types', '2.5', '1.8'],
    ['unit', '70.0', '120.5'],
    ['all phases', '122.3'],
    ['unit: files', '8', '16'],
  ]);
  t.deepEqual(
    words.slice(5).map(([file]) => file),
    ['h', 'g', 'f', 'e', 'd'].map((name) => `${name}.test.ts`),
  );
  const text = readFileSync(whole, 'utf8');
  for (const { file } of files) t.true(text.includes(file), file);
});

function writeLines(path: string, lines: readonly object[]): void {
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}
