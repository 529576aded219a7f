// Parameters of an address: each is there once, or the validator sees a list, which it refuses.

import test from 'ava';
import { parametersOf, sentOnce } from '../../../../lib/kit/validation/query.ts';

const NAMES = ['limit', 'cursor', '__proto__'];

function of(search: string): Record<string, unknown> {
  return sentOnce(new URLSearchParams(search), NAMES);
}

test('only the parameters that are known, as texts', (t) => {
  t.deepEqual(of(''), {});
  t.deepEqual(of('?limit=5&other=1&cursor=a%20b'), { limit: '5', cursor: 'a b' });
});

test('a parameter that is empty or sent several times becomes a list', (t) => {
  t.deepEqual(of('?limit='), { limit: [''] });
  t.deepEqual(of('?limit=5&limit=5'), { limit: ['5', '5'] });
});

test('a plus sign means itself', (t) => {
  t.deepEqual(
    [...parametersOf('?a=1+2&b=%2B')],
    [
      ['a', '1+2'],
      ['b', '+'],
    ],
  );
});
