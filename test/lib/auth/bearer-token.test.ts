// The forms in which requests show a bearer token.

import test from 'ava';
import { readToken, tokenCheck } from '../../../lib/auth/bearer-token.ts';

for (const [header, token] of [
  ['Bearer abc', 'abc'],
  ['bearer   abc ', 'abc'],
  ['BEARER a b', 'a b'],
  ['Bearer', null],
  ['Bearer  ', null],
  ['Basic abc', null],
  ['', null],
  [undefined, null],
] as const)
  test(`authorization: ${JSON.stringify(header)}`, (t) => {
    t.is(readToken({ headers: { authorization: header } }), token);
  });

test('a token is that of a setting or not; without one, none is', (t) => {
  const check = tokenCheck('the token');
  t.deepEqual(['the token', 'the tokem', 'the', '', null].map(check), [
    true,
    false,
    false,
    false,
    false,
  ]);
  t.deepEqual(['', 'null', null].map(tokenCheck(null)), [false, false, false]);
});
