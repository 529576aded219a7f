// Tables for a terminal.

import test from 'ava';
import { table } from '../../../lib/cli/text-table.ts';

test('columns stand under their labels', (t) => {
  t.is(
    table(
      ['id', 'name'],
      [
        ['1', 'laptop'],
        ['1234', 'x'],
      ],
    ),
    'ID    NAME\n1     laptop\n1234  x',
  );
  t.is(table(['id', 'name'], []), 'ID  NAME');
});

test('nothing in a cell steers the terminal or breaks a line', (t) => {
  t.is(table(['name'], [['a\u001b[2Jb\nc\u202ed']]), 'NAME\na [2Jb c d');
});
