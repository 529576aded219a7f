// What tables share: texts of a query.

import test from 'ava';
import { queryText } from '../../../../lib/web/kit/searched.ts';

test('text of a query is one well-formed text', (t) => {
  t.is(queryText({ query: { a: ['b', 'c'] } }, 'a'), '');
  t.is(queryText({ query: { a: 'b\0' } }, 'a'), '');
  t.is(queryText({ query: { a: '\ud800' } }, 'a'), '');
  t.is(queryText({ query: {} }, '__proto__'), '');
});
