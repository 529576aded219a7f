// What tables share: texts of a query, and rows in their order.

import test from 'ava';
import { inOrder, queryText } from '../../../../lib/web/kit/searched.ts';

test('text of a query is one well-formed text', (t) => {
  t.is(queryText({ query: { a: ['b', 'c'] } }, 'a'), '');
  t.is(queryText({ query: { a: 'b\0' } }, 'a'), '');
  t.is(queryText({ query: { a: '\ud800' } }, 'a'), '');
  t.is(queryText({ query: {} }, '__proto__'), '');
});

test('rows follow their ids', (t) => {
  t.deepEqual(inOrder(['b', 'x', 'a'], [{ id: 'a' }, { id: 'b' }]), [{ id: 'b' }, { id: 'a' }]);
});
