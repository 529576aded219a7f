// Lines that come again and again.

import test from 'ava';
import { SparseLines } from '../../../../lib/kit/process/sparse-lines.ts';

test('of lines that say one thing few are written, with how many were left out', (t) => {
  const lines = new SparseLines(10_000);
  t.is(lines.next(0), 0);
  t.is(lines.next(1), null);
  t.is(lines.next(9_999), null);
  t.is(lines.next(10_000), 2);
  t.is(lines.next(20_000), 0);
});
