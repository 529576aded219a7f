// The forms in which requests show a bearer token.

import test from 'ava';
import { readToken } from '../../../lib/auth/bearer-token.ts';

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
