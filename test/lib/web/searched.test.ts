// The query of a table: what can be asked for, and the addresses of the pages around.

import test from 'ava';
import { inOrder, pagesAround, queryText, searchedIn } from '../../../lib/web/searched.ts';

test('a query that cannot be read asks for the first page of everything', (t) => {
  const first = { text: '', page: 1, wish: { text: '', offset: 0, limit: 51 } };
  for (const page of ['', '0', '-1', 'x', '1e9', '100000', ['2', '3']])
    t.deepEqual(searchedIn({ query: { page } }), first, String(page));
  t.is(searchedIn({ query: { page: '99999' } }).page, 20_000);
  t.deepEqual(searchedIn({ query: { page: '3', q: ' a ' } }).wish, {
    text: 'a',
    offset: 100,
    limit: 51,
  });
  t.is(searchedIn({ query: { q: 'x'.repeat(300) } }).text.length, 255);
});

test('text of a query is one well-formed text', (t) => {
  t.is(queryText({ query: { a: ['b', 'c'] } }, 'a'), '');
  t.is(queryText({ query: { a: 'b\0' } }, 'a'), '');
  t.is(queryText({ query: { a: '\ud800' } }, 'a'), '');
  t.is(queryText({ query: {} }, '__proto__'), '');
});

test('pages around keep the query', (t) => {
  const searched = searchedIn({ query: { page: '2', q: 'a b' } });
  t.deepEqual(pagesAround('/x', searched, 51, { kind: 'y' }), {
    previous: '/x?kind=y&q=a+b&page=1',
    next: '/x?kind=y&q=a+b&page=3',
  });
  t.deepEqual(pagesAround('/x', searchedIn({ query: {} }), 50), { previous: null, next: null });
});

test('rows follow their ids', (t) => {
  t.deepEqual(inOrder(['b', 'x', 'a'], [{ id: 'a' }, { id: 'b' }]), [{ id: 'b' }, { id: 'a' }]);
});
