// Values beside a text: places in their order, and few texts for lists of any length.

import test from 'ava';
import { Binds } from '../../../models/storage/binds.ts';

test('a value gets the next place', (t) => {
  const binds = new Binds();
  t.is(`a = ${binds.one('x')} AND b = ${binds.one(5)}`, 'a = $1 AND b = $2');
  t.deepEqual(binds.values, ['x', 5]);
});

test('a list is filled up to a power of two with what it holds', (t) => {
  const textOf = (values: string[]): string => new Binds().list(values);
  t.throws(() => textOf([]), { instanceOf: RangeError });
  t.is(textOf(['a']), '$1');
  t.is(textOf(['a', 'b']), '$1, $2');
  t.is(textOf(['a', 'b', 'c']), '$1, $2, $3, $4');
  t.is(textOf(['a', 'b', 'c', 'd', 'e']).split(', ').length, 8);
  const binds = new Binds();
  binds.one('before');
  t.is(binds.list(['a', 'b', 'c']), '$2, $3, $4, $5');
  t.deepEqual(binds.values, ['before', 'a', 'b', 'c', 'c']);
});
