// Commands that are rows: each has its operation, and those that can be tried are those that the
// gateway tries.

import test from 'ava';
import { commands, type CommandName, type Entry } from '../../../lib/cli/grammar.ts';
import type { Row } from '../../../lib/cli/row.ts';
import { rowOf } from '../../../lib/cli/rows.ts';
import { allOperations, operations } from '../../../lib/rooms.ts';

const rows: Partial<Record<CommandName, Row>> = {};
for (const words of Object.keys(commands) as CommandName[]) {
  const row = await rowOf(words);
  if (row !== null) rows[words] = row;
}

test('each row performs an operation that writes', (t) => {
  t.true(Object.keys(rows).length > 20);
  for (const [words, { operation }] of Object.entries(rows)) {
    t.is(allOperations.find(({ id }) => id === operation)?.kind, 'write', words);
  }
});

test('what takes --dry-run and is a row can be tried', (t) => {
  const triable = operations.filter((one) => 'isTriable' in one && one.isTriable === true);
  const ids = new Set(triable.map(({ id }) => id));
  const tried = (Object.entries(commands) as [CommandName, Entry][])
    .filter(([words, { takes }]) => takes.includes('dry-run') && !words.startsWith('import '))
    .map(([words]) => words);
  t.true(tried.length > 10);
  for (const words of tried) t.true(ids.has(rows[words]?.operation ?? ''), words);
});

test('what takes --force says what that does', (t) => {
  for (const [words, { forced }] of Object.entries(rows) as [CommandName, { forced?: string }][]) {
    const { takes }: Entry = commands[words];
    if (takes.includes('force')) t.truthy(forced, words);
  }
});
