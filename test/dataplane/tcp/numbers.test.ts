// Sequence numbers are compared modulo 2^32.

import test from 'ava';
import { earlier, isAfter, isBefore, later, mayHaveMore } from '../../../dataplane/tcp/numbers.ts';

test('numbers are compared across 2^32 and across 2^31', (t) => {
  for (const start of [0, 5, 0x7fff_fff0, -16, -0x8000_0000])
    for (const distance of [1, 20, 0x7fff_ffff]) {
      const end = (start + distance) | 0;
      t.true(isBefore(start, end) && isAfter(end, start));
      t.false(isBefore(end, start) || isAfter(start, end));
      t.is(later(start, end), end);
      t.is(later(end, start), end);
      t.is(earlier(start, end), start);
      t.is(earlier(end, start), start);
    }
  t.false(isBefore(7, 7) || isAfter(7, 7));
});

test('a device gets a few in any case, and then no more than it leaves to others', (t) => {
  t.true(mayHaveMore(63, 1_000, 1), 'a few');
  t.false(mayHaveMore(63, 1_000, 0), 'of nothing');
  t.true(mayHaveMore(64, 1_000, 65));
  t.false(mayHaveMore(64, 1_000, 64));
  t.false(mayHaveMore(1_000, 1_000, 9_000), 'its share');
});
